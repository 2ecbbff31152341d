"""Times and durations as readers see them; always UTC, never this machine's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.records import is_dated

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY, WEEK = 1_000, 60_000, 3_600_000, 86_400_000, 604_800_000


def moment(ms: int) -> datetime | None:
    """Turn epoch milliseconds into a moment; None where the calendar ends."""
    try:
        return EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None


@lru_cache(maxsize=1 << 12)
def iso(ms: int | None) -> str | None:
    """`2026-03-01T10:02:11.123Z`, None of an unknown day; cached, for a time stands at several places of a report."""
    if ms is None or not is_dated(ms):
        return None
    minutes, rest = divmod(ms, MINUTE)
    minute = _minute(minutes)
    return None if minute is None else f"{minute}{rest // SECOND:02d}.{rest % SECOND:03d}Z"


@lru_cache(maxsize=1 << 14)
def _minute(minutes: int) -> str | None:
    # `2026-03-01T10:02:`, for minutes since the epoch: formatting a date costs more than the rest of a document.
    at = moment(minutes * MINUTE)
    return None if at is None else at.strftime("%Y-%m-%dT%H:%M:")


def utc(ms: int | None, unknown: str = "unknown") -> str:
    """`2026-03-01 10:02:11`, for people; `10:02:11` of an unknown day."""
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
    """`2026-03-01`; None where the day is unknown."""
    at = None if ms is None or not is_dated(ms) else moment(ms)
    return None if at is None else at.strftime("%Y-%m-%d")


duration = seconds
"""The report says how long something took in the words of the diagnosis, so that both give the same figure."""
