"""Intervals of time, the dates they touch, and their coverage. Times are epoch ms, dates are days since 1970."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from rebalance_forensics.records import DAY_MS
from rebalance_forensics.timeline.time_index import united

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """From `since` (inclusive) to `until` (exclusive)."""

    since: int
    until: int

    def __contains__(self, at: int) -> bool:
        """True if a time is within the interval."""
        return self.since <= at < self.until


@dataclass(frozen=True, slots=True)
class Coverage:
    """Disjoint, non-adjacent intervals in order."""

    intervals: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, intervals: Iterable[Interval]) -> Coverage:
        """The coverage of these intervals, with adjacent ones merged."""
        joined = united((interval.since, interval.until) for interval in intervals)
        return cls(tuple(Interval(*span) for span in joined))

    def __contains__(self, at: int) -> bool:
        """True if a time is covered."""
        return any(at in interval for interval in self.intervals)

    def touches(self, day: int) -> bool:
        """True if any part of a date is covered."""
        return bool(self.within(whole(day)))

    @property
    def end(self) -> int | None:
        """The end of the last interval."""
        return self.intervals[-1].until if self.intervals else None

    def with_(self, added: Interval) -> Coverage:
        """The coverage with one more interval."""
        return Coverage.of([*self.intervals, added])

    def within(self, bounds: Interval) -> tuple[Interval, ...]:
        """The parts of the coverage within bounds."""
        cut = (Interval(max(i.since, bounds.since), min(i.until, bounds.until)) for i in self.intervals)
        return tuple(interval for interval in cut if interval.since < interval.until)

    def gains(self, later: Coverage, day: int) -> bool:
        """True if a later coverage covers more of a date."""
        return self.within(whole(day)) != later.within(whole(day))


def whole(day: int) -> Interval:
    """A date from midnight to midnight."""
    return Interval(day * DAY_MS, (day + 1) * DAY_MS)


def date_text(day: int) -> str:
    """2026-11-20."""
    return (_EPOCH + timedelta(days=day)).isoformat()


def day_of(text: str) -> int:
    """The date back from its text."""
    return (date.fromisoformat(text) - _EPOCH).days


def time_text(at: int) -> str:
    """A time for people."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
