"""Offsets of local time from UTC: only those that some zone has used since Kafka exists."""

from __future__ import annotations

from rebalance_forensics.records import MINUTE_MS

QUARTER_HOUR_MS = 15 * MINUTE_MS
EASTERNMOST = 14 * 60
"""Minutes east of UTC in Kiribati; no zone is further away (IANA time zone database)."""
WESTERNMOST = -12 * 60
# Offsets between full hours, summer time included.
_NOT_FULL_HOURS = frozenset({
    *(-570, -270, -210, -150),  # the Marquesas, Venezuela until 2016, Newfoundland
    *(210, 270, 330, 345, 390, 510, 525, 570, 630, 765, 825),  # Iran to Burma, North Korea, Australia, Chatham
})  # fmt: skip
_OFFSETS: set[int] = {*range(WESTERNMOST, EASTERNMOST + 1, 60), *_NOT_FULL_HOURS}
_IN_USE: list[int] = sorted(_OFFSETS, key=lambda minutes: (abs(minutes), minutes))
SUMMER_MINUTES = 60
"""The largest change for summer time (half an hour on Lord Howe Island)."""


def name_of_offset(minutes: int) -> str:
    """An offset as shown in reports: `UTC`, `+02:00`."""
    if minutes == 0:
        return "UTC"
    return f"{'+' if minutes > 0 else '-'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def nearest_offset(difference_ms: int) -> int:
    """The offset in use, in minutes, that is closest to a difference; the rest is clock skew."""
    return min(_IN_USE, key=lambda minutes: abs(difference_ms - minutes * MINUTE_MS))


def offset_between(local_ms: int, utc_ms: int) -> int | None:
    """How far a local clock is east of UTC, in minutes; None if no zone is that far, as for lines shipped late."""
    minutes = round((local_ms - utc_ms) / QUARTER_HOUR_MS) * 15
    return minutes if minutes in _OFFSETS else None


def offset_at(local_ms: int, utc_ms: int) -> int | None:
    """How far a local clock is east of UTC, in minutes, by two times of one moment; None if they are minutes apart."""
    # An epoch value is logged within a minute of the local time at the start of its line.
    minutes = offset_between(local_ms, utc_ms)
    return minutes if minutes is not None and abs(local_ms - utc_ms - minutes * MINUTE_MS) <= MINUTE_MS else None
