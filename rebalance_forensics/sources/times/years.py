"""Dates that logs write without a year. They are parsed as dates of 1972, a leap year."""

from __future__ import annotations

from datetime import UTC, datetime

from rebalance_forensics.sources.times.timestamps import DAY_MS


def with_year(local_ms: int, near: int | None) -> int | None:
    """A time of 1972 in the year that brings it nearest to another time."""
    found = [] if near is None else _in_the_years_around(local_ms, near)
    return min(found, key=lambda each: abs(each - (near or 0)), default=None)


def written_by(local_ms: int, written_at: int) -> int | None:
    """A time of 1972 in the last year in which a file of that age can hold it; a day more, for any zone."""
    return max((at for at in _in_the_years_around(local_ms, written_at) if at <= written_at + DAY_MS), default=None)


def _in_the_years_around(local_ms: int, near: int) -> list[int]:
    year = datetime.fromtimestamp(near / 1000, UTC).year
    return [at for each in (year - 1, year, year + 1) if (at := _in_year(local_ms, each)) is not None]


def _in_year(local_ms: int, year: int) -> int | None:
    """None for the 29th of February in most years."""
    moment = datetime.fromtimestamp(local_ms / 1000, UTC)
    try:
        return local_ms + round((moment.replace(year=year) - moment).total_seconds()) * 1000
    except ValueError:
        return None
