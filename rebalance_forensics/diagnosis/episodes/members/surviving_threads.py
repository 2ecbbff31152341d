"""Threads of a Streams process that stay members while one of them is away."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.streams import ThreadRemoved
from rebalance_forensics.timeline.facts import Arrival, Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.timeouts import together_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS


def process_survived(timeline: Timeline, absence: Absence) -> bool:
    """True if only some threads fell silent while others of their process stayed members."""
    # The threads came back under their names, or stayed away as a thread does that an exception ended.
    if absence.participant.kind != "instance":
        return False
    departed, back = _threads(absence.departures), _threads(absence.arrivals)
    if not departed or not back <= departed:
        return False
    came = timeline.arrivals.of(absence.participant).between(0, absence.at)
    if not back:
        reach = together_ms(timeline)
        initial = max((a.at for a in came if _threads([a]) & departed), default=absence.at)
        came = [a for a in came if a.at <= initial + reach] if timeline.coverage.end >= absence.at + reach else []
    known = _threads(came)
    lost = timeline.departures.of(absence.participant).between(
        absence.at - together_ms(timeline), (absence.back_at or absence.at) + together_ms(timeline)
    )
    return bool(known - departed - _threads(lost))


def removed_by_application(timeline: Timeline, absence: Absence) -> list[ThreadRemoved]:
    """The lines of KafkaStreams.removeStreamThread (KIP-663) that removed these threads; their process stays."""
    if absence.participant.kind != "instance" or absence.start is not None:
        return []
    removals = timeline.events_from(absence.participant, ThreadRemoved).between(absence.at - AT_ONCE_MS, absence.at)
    removed = {e.thread: e for e in removals if isinstance(e, ThreadRemoved) and e.phase == "removing"}
    departed = _threads(absence.departures)
    return [removed[thread] for thread in sorted(departed)] if departed and departed <= set(removed) else []


def _threads(moves: Iterable[Arrival | Departure]) -> set[str]:
    return {thread for m in moves if m.member and (thread := streams_thread(m.member))}
