"""The errors that a member logs just before it goes."""

from __future__ import annotations

from rebalance_forensics.diagnosis.absences import Absence
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.streams import ThreadFailed
from rebalance_forensics.timeline.build import Timeline

EXCEPTION_MS = 15_000


def exception_before(timeline: Timeline, away: Absence) -> list[Event]:
    """The errors that the member's own log shows just before it closed, nearest first."""
    begin = away.stop.at if away.stop is not None else away.at
    told = timeline.of(ExceptionLogged, ThreadFailed).between(begin - EXCEPTION_MS, away.at + 2_000)
    found = [e for e in told if away.actor in timeline.cast.at_place(e)]
    return sorted(found, key=lambda e: abs((e.at or 0) - begin))
