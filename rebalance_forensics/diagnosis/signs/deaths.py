"""Processes of which it is logged that they died."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.deaths import death_of
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, Unobservable, sign
from rebalance_forensics.timeline.group_timeline import Timeline


@sign(present="the end of its process was logged", absent="")
def said_to_have_died(timeline: Timeline, subject: Subject) -> Answer:
    """Whether a virtual machine says that the member's process ends; most die without a word."""
    told = tuple(e for a in subject.absences if (e := death_of(timeline, a)) is not None)
    return Present(told) if told else Unobservable()
