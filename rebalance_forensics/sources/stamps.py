"""Times as logs write them: with or without date, year, fraction and zone."""

from __future__ import annotations

import re
from calendar import timegm
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Form = Literal["full", "no-year", "time-only"]

DAY_MS = 86_400_000
_MONTHS_A_YEAR = 12
_LONGEST_MONTH = 31
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)(?![\w:]))?"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9}))?"
_MONTH_NAME = r"(?P<name>[A-Z][a-z]{2})[a-z]*\.?"

_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rf"(?P<year>\d{{4}})[-\u2013/.](?P<month>\d\d)[-\u2013/.](?P<day>\d\d)[T _]{_CLOCK}{_ZONE}",
        rf"(?P<day>\d\d)(?:[-.]|(?P<slash>/))(?P<month>\d\d)[-./](?P<year>\d{{4}}),? {_CLOCK}{_ZONE}",
        rf"(?P<clock>){_CLOCK}{_ZONE}(?![\d/-])",
        (
            rf"{_MONTH_NAME} +(?P<day>\d{{1,2}}),? (?P<year>\d{{4}}),?(?: at| @)? {_CLOCK}(?:\s?"
            rf"(?P<half>[AaPp][Mm]))?{_ZONE}"
        ),
        rf"{_MONTH_NAME} +(?P<day>\d{{1,2}}) {_CLOCK}",
        rf"(?P<day>\d{{1,2}})[ /-]{_MONTH_NAME}[ /-](?P<year>\d{{4}})[ :]{{1,2}}{_CLOCK}{_ZONE}",
        rf"(?P<short_year>\d\d)/(?P<month>\d\d)/(?P<day>\d\d) {_CLOCK}{_ZONE}",
        r"(?P<seconds>1\d{9})(?:[.,](?P<fraction>\d{1,9}))?(?!\d)",
        r"(?P<millis>1\d{12})(?!\d)",
        r"(?P<micros>1\d{15})(?!\d)",
        r"(?P<nanos>1\d{18})(?!\d)",
    )
)
_LOG4J = len("2026-11-20 10:15:30,123")
_LOG4J_SHAPE = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,.]\d{3}\Z")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time as written: milliseconds since the epoch as if the text were UTC, and the zone it names.

    `form` says what the text leaves out: of a "time-only" stamp `local_ms` counts from midnight,
    of a "no-year" one from the first of January 1972, a leap year.
    """

    local_ms: int
    offset_minutes: int | None
    form: Form = "full"

    @property
    def utc_ms(self) -> int:
        """The instant, where no zone is known read as UTC."""
        return self.local_ms - 60_000 * (self.offset_minutes or 0)


@lru_cache(maxsize=4096)
def _midnight_ms(year: int, month: int, day: int) -> int | None:
    """Midnight of a date; None for the 31st of February."""
    if not (1 <= month <= _MONTHS_A_YEAR and 1 <= day <= _LONGEST_MONTH):
        return None
    return timegm((year, month, day, 0, 0, 0)) * 1000


def _milliseconds(fraction: str | None) -> int:
    return int((fraction + "00")[:3]) if fraction else 0


def offset_of(zone: str | None) -> int | None:
    """Minutes east of UTC of `Z`, `UTC`, `+02:00`, `+0200` or `+02`; None when nothing is named."""
    if not zone:
        return None
    if zone in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return -minutes if zone[0] == "-" else minutes


def _epoch(parts: dict[str, str | None]) -> Stamp | None:
    """An epoch number, by its length."""
    if seconds := parts.get("seconds"):
        return Stamp(int(seconds) * 1000 + _milliseconds(parts["fraction"]), 0)
    for unit, divisor in (("millis", 1), ("micros", 1000), ("nanos", 1_000_000)):
        if digits := parts.get(unit):
            return Stamp(int(digits) // divisor, 0)
    return None


def _time_of_day_ms(parts: dict[str, str | None]) -> int:
    hour = int(parts["hour"] or 0)
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    return ((hour * 60 + int(parts["minute"] or 0)) * 60 + int(parts["second"] or 0)) * 1000 + _milliseconds(
        parts["fraction"]
    )


def _read(match: re.Match[str]) -> Stamp | None:
    parts = match.groupdict()
    if "hour" not in parts:
        return _epoch(parts)
    time_ms, offset = _time_of_day_ms(parts), offset_of(parts.get("zone"))
    if "clock" in parts:
        return Stamp(time_ms, offset, "time-only")
    month = _MONTHS.get((parts.get("name") or "").lower()) or int(parts.get("month") or 0)
    short = parts.get("short_year")
    year = int(parts.get("year") or (2000 + int(short) if short else 1972))
    day = int(parts["day"] or 0)
    if parts.get("slash") and day <= _MONTHS_A_YEAR:  # 11/20/2026: with slashes the month usually stands first
        month, day = day, month
    midnight = _midnight_ms(year, month, day)
    if midnight is None:
        return None
    dated = "year" in parts or short
    return Stamp(midnight + time_ms, offset, "full") if dated else Stamp(midnight + time_ms, offset, "no-year")


@lru_cache(maxsize=512)
def _day_ms(day: str) -> int | None:
    """Midnight of `2026-11-20`."""
    return _midnight_ms(int(day[:4]), int(day[5:7]), int(day[8:]))


@lru_cache(maxsize=4096)
def _clock_ms(clock: str) -> int:
    """Milliseconds from midnight to `10:15:30`."""
    return ((int(clock[:2]) * 60 + int(clock[3:5])) * 60 + int(clock[6:])) * 1000


def read_stamp(text: str) -> Stamp | None:
    """Read the time at the start of a text; None where there is none."""
    if len(text) == _LOG4J and _LOG4J_SHAPE.match(text):  # by far the commonest, and worth a shortcut
        day = _day_ms(text[:10])
        return None if day is None else Stamp(day + _clock_ms(text[11:19]) + int(text[20:]), None)
    for shape in _SHAPES:
        if match := shape.match(text):
            return _read(match)
    return None


def days_on(before: int, time_of_day: int, days: int) -> int:
    """How many midnights have passed with this time of day, after `days` of them at the time before it."""
    if before - time_of_day > DAY_MS // 2:
        return days + 1
    if time_of_day - before > DAY_MS // 2 and days > 0:
        return days - 1  # a line of before midnight that was written late
    return days
