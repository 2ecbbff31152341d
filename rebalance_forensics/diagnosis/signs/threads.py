"""Threads of a Streams process that live on while one of them is away."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.members.surviving_threads import process_survived
from rebalance_forensics.diagnosis.sign import Absent, Answer, Present, Subject, Unobservable, sign
from rebalance_forensics.timeline.group_timeline import Timeline


@sign(
    present="other threads of the same process stayed in the group, so the process was running",
    absent="all threads of the process left",
)
def other_threads_stayed(timeline: Timeline, subject: Subject) -> Answer:
    """Only some threads of an instance fell silent, and came back under the same names."""
    if not subject.absences or any(a.participant.kind != "instance" for a in subject.absences):
        return Unobservable()
    lived = [a for a in subject.absences if process_survived(timeline, a)]
    return Present(distinct_events(e for a in lived for e in a.events)) if lived else Absent()
