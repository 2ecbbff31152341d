"""Formats times and durations for people, always in UTC, never by the local clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.records import is_dated

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY, WEEK = 1_000, 60_000, 3_600_000, 86_400_000, 604_800_000


def moment(ms: int) -> datetime | None:
    """The datetime of epoch milliseconds; None outside the supported years."""
    try:
        return EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None


@lru_cache(maxsize=1 << 12)
def iso(ms: int | None) -> str | None:
    """`2026-03-01T10:02:11.123Z`; None on an unknown day. Cached, since a time appears several times in a report."""
    if ms is None or not is_dated(ms):
        return None
    minutes, rest = divmod(ms, MINUTE)
    minute = _minute(minutes)
    return None if minute is None else f"{minute}{rest // SECOND:02d}.{rest % SECOND:03d}Z"


@lru_cache(maxsize=1 << 14)
def _minute(minutes: int) -> str | None:
    # `2026-03-01T10:02:` by minutes since the epoch: formatting a date takes more time than the rest of a document.
    at = moment(minutes * MINUTE)
    return None if at is None else at.strftime("%Y-%m-%dT%H:%M:")


def utc(ms: int | None, unknown: str = "unknown") -> str:
    """`2026-03-01 10:02:11`; `10:02:11` on an unknown day."""
    at = None if ms is None else moment(ms)
    return unknown if at is None else at.strftime("%Y-%m-%d %H:%M:%S" if is_dated(ms) else "%H:%M:%S")


def time_of_day(ms: int | None, unknown: str = "--:--:--.---") -> str:
    """`10:02:11.123`."""
    at = None if ms is None else moment(ms)
    return unknown if at is None else at.strftime("%H:%M:%S.") + f"{at.microsecond // 1000:03d}"


def time_to_second(ms: int | None) -> str:
    """`10:02:11`."""
    return time_of_day(ms).partition(".")[0]


def day(ms: int | None) -> str | None:
    """`2026-03-01`; None if the day is unknown."""
    at = None if ms is None or not is_dated(ms) else moment(ms)
    return None if at is None else at.strftime("%Y-%m-%d")


duration = seconds
"""Durations are formatted like those of the diagnosis, so that both show the same figure."""
