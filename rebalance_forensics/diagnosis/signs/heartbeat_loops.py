"""Signs of a heartbeat sent from the loop that handles records, as KafkaJS, ruby-kafka, aiokafka and old Java do."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import shown_by_commits_alone
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, Unobservable, sign
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import between_records_lines, shared_loop_lines
from rebalance_forensics.timeline.group_timeline import Timeline


@sign(
    present="its client sends heartbeats from the loop that handles records, so one slow record silences it as well",
    absent="",
)
def heartbeats_in_the_loop(timeline: Timeline, subject: Subject) -> Answer:
    """The client sends heartbeats from the loop that handles records."""
    # Without a heartbeat thread a slow handler and a pause look the same.
    if any(a.back_at is None and not timeline.events_from(a.participant, Event).first(a.at) for a in subject.absences):
        return Unobservable()  # a handler that never ends and a process that died look the same, too
    if all(map(shown_by_commits_alone, subject.absences)):
        return Unobservable()  # a refused commit shows that it was running, not that its heartbeats were missing
    lines = shared_loop_lines(timeline, [a.participant for a in subject.absences])
    return Present(lines) if lines else Unobservable()


@sign(
    present="it came back, and its client sends no heartbeat while the handler of a record waits for something",
    absent="",
)
def heartbeats_between_records(timeline: Timeline, subject: Subject) -> Answer:
    """The member came back, and its client sends no heartbeat while a record's handler waits."""
    # In KafkaJS a handler that waits is silent although its process runs; a pause is the rarer of the two.
    back = bool(subject.absences) and all(a.back_at is not None for a in subject.absences)
    lines = between_records_lines(timeline, [a.participant for a in subject.absences]) if back else ()
    return Present(lines) if lines else Unobservable()
