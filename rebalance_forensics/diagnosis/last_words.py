"""The errors that a member logs just before it goes."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes import Away
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.streams import ThreadFailed
from rebalance_forensics.timeline.build import Timeline

EXCEPTION_MS = 15_000


def exception_before(timeline: Timeline, away: Away) -> list[Event]:
    """The errors that the member's own log shows just before it closed, nearest first."""
    begin = away.stop.at if away.stop is not None else away.at
    found = [
        e
        for e in timeline.events
        if isinstance(e, ExceptionLogged | ThreadFailed)
        and e.at is not None
        and begin - EXCEPTION_MS <= e.at <= away.at + 2_000
        and away.actor in timeline.cast.at_place(e)
    ]
    return sorted(found, key=lambda e: abs((e.at or 0) - begin))
