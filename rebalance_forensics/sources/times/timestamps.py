"""Parses times as logs print them: with or without date, year, fraction and zone."""

from __future__ import annotations

import re
from calendar import monthrange, timegm
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.records import DAY_MS
from rebalance_forensics.sources.times.zones import ZONE, offset_of

Form = Literal["full", "no-year", "time-only"]
DateOrder = Literal["ymd", "mdy", "dmy"]

_MONTHS_A_YEAR = 12
_KAFKAS_FIRST_YEAR = 2011
# Bounds of the calendar, with a margin for zones.
_YEARS = range(2, 9999)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
# Months by their first letters in German, French, Spanish, Italian, Portuguese, Dutch, Polish, Czech, Turkish, Russian
# and the Nordic languages.
_BEGINNINGS = (
    ("jan", "janv", "j\u00e4n", "ene", "gen", "sty", "led", "oca", "\u044f\u043d\u0432"),
    ("feb", "f\u00e9v", "fev", "lut", "\u00fano", "\u015fub", "\u0444\u0435\u0432"),
    ("mar", "m\u00e4r", "mrz", "maart", "mrt", "b\u0159e", "\u043c\u0430\u0440"),
    ("apr", "avr", "abr", "kwi", "dub", "nis", "\u0430\u043f\u0440"),
    ("may", "mai", "mag", "mei", "maj", "kv\u011b", "\u043c\u0430\u044f", "\u043c\u0430\u0439"),
    ("jun", "juin", "giu", "cze", "\u010dervn", "haz", "\u0438\u044e\u043d"),
    ("jul", "juil", "lug", "lip", "\u010dervc", "tem", "\u0438\u044e\u043b"),
    ("aug", "ao\u00fb", "aou", "ago", "sie", "srp", "a\u011fu", "\u0430\u0432\u0433"),
    ("sep", "set", "wrz", "z\u00e1\u0159", "eyl", "\u0441\u0435\u043d"),
    ("oct", "okt", "out", "ott", "pa\u017a", "\u0159\u00edj", "eki", "\u043e\u043a\u0442"),
    ("nov", "lis", "kas", "\u043d\u043e\u044f"),
    ("dec", "dez", "d\u00e9c", "dic", "gru", "pro", "ara", "des", "\u0434\u0435\u043a"),
)
_ZONE = rf"(?: ?(?P<zone>{ZONE}))?"
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9}))?"
    r"(?:\s?(?P<half>[AaPp])\.?[Mm]\b\.?)?"
)
_MONTH_NAME = r"(?P<name>[A-Z][a-z]{2})[a-z]*\.?"
_NTH = r"(?:st|nd|rd|th)?"  # Kibana before 7.0 printed days like this
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?"

_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rf"(?P<year>\d{{4}})[-\u2013/.](?P<month>\d\d)[-\u2013/.](?P<day>\d\d)(?:[T _]|, ?){_CLOCK}{_ZONE}",
        (
            r"(?P<first>\d{1,2})(?P<mark>[-./])(?P<second_part>\d{1,2})(?P=mark)(?P<third>\d{4}|\d\d)"
            rf"(?:[ T]|, ?){_CLOCK}{_ZONE}"
        ),
        rf"(?P<clock>){_CLOCK}{_ZONE}(?![\d/-])",
        rf"{_WEEKDAY}{_MONTH_NAME} +(?P<day>\d{{1,2}}){_NTH},? (?P<year>\d{{4}}),?(?: at| @)? {_CLOCK}{_ZONE}",
        rf"{_WEEKDAY}{_MONTH_NAME} +(?P<day>\d{{1,2}}) {_CLOCK}{_ZONE} (?P<year>\d{{4}})(?![\d-])",
        rf"{_WEEKDAY}{_MONTH_NAME} +(?P<day>\d{{1,2}}) {_CLOCK}",
        rf"{_WEEKDAY}(?P<day>\d{{1,2}})[ /-]{_MONTH_NAME}[ /-](?P<year>\d{{4}})(?:[ :]{{1,2}}|, ){_CLOCK}{_ZONE}",
        (
            r"(?P<year>20\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)[T -]?(?P<hour>[0-2]\d):?(?P<minute>[0-5]\d):?"
            rf"(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{{1,9}}))?{_ZONE}"
        ),
        rf"(?P<month>[01]\d)(?P<day>[0-3]\d) {_CLOCK}",
        r"(?P<seconds>1\d{9})(?:[.,](?P<fraction>\d{1,9}))?(?!\d)",
        r"(?P<millis>1\d{12})(?:\.\d+)?(?!\d)",
        r"(?P<micros>1\d{15})(?!\d)",
        r"(?P<nanos>1\d{18})(?!\d)",
        # journalctl prints months in the user's language.
        rf"(?P<name>[^\W\d_]{{3,5}}\.?|\d{{1,2}}\u6708) +(?P<day>\d{{1,2}}) {_CLOCK}",
        r"@(?P<tai>4[0-9a-f]{15}[0-9a-f]{8})(?![0-9a-f])",
    )
)
_WEEKDAY_FIRST = re.compile(rf"{_WEEKDAY[:-1]}(?=\d{{4}}-)")
LOG4J = len("2026-11-20 10:15:30,123")
_LOG4J_SECOND = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\Z")
_ISO_SHAPE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}Z\Z")


class Stamp(Struct, frozen=True, gc=False):
    """A time as printed: milliseconds since the epoch as if it were UTC, and its zone if it has one.

    `form` says what is missing: for a "time-only" stamp `local_ms` counts from midnight, for a "no-year" one from
    January 1, 1972, a leap year. `readings` are all meanings of a numeric date by the order of its parts; `local_ms` is
    then the usual one.
    """

    local_ms: int
    offset_minutes: int | None
    form: Form = "full"
    readings: tuple[tuple[DateOrder, int], ...] = ()

    @property
    def utc_ms(self) -> int:
        """The instant; read as UTC if the zone is unknown."""
        return self.local_ms - 60_000 * (self.offset_minutes or 0)

    def in_order(self, order: DateOrder | None) -> Stamp:
        """The stamp with its date read in this order, if possible."""
        if not self.readings:
            return self
        local_ms = next((found for name, found in self.readings if name == order), self.local_ms)
        return self if local_ms == self.local_ms else replace(self, local_ms=local_ms)


_EARLIEST_MS, _LATEST_MS = (timegm((year, 1, 1, 0, 0, 0)) * 1000 for year in (_YEARS.start, _YEARS.stop))


@lru_cache(maxsize=4096)
def _midnight_ms(year: int, month: int, day: int) -> int | None:
    """Midnight of a date; None for an invalid date and outside the supported years."""
    if year not in _YEARS or not (1 <= month <= _MONTHS_A_YEAR and 1 <= day <= monthrange(year, month)[1]):
        return None
    return timegm((year, month, day, 0, 0, 0)) * 1000


def stamp_at(seconds: int, nanos: int) -> Stamp | None:
    """The time of an epoch value in two parts; None outside the supported years."""
    at_ms = seconds * 1000 + nanos // 1_000_000
    return Stamp(at_ms, 0) if _EARLIEST_MS <= at_ms < _LATEST_MS else None


def _milliseconds(fraction: str | None) -> int:
    return int((fraction + "00")[:3]) if fraction else 0


def _epoch(parts: dict[str, str | None]) -> Stamp | None:
    """An epoch number, by its length."""
    if label := parts.get("tai"):
        # TAI64N of svlogd, multilog and s6-log: epoch seconds plus 2^62 and 10, then nanoseconds.
        return stamp_at(int(label[:16], 16) - (1 << 62) - 10, int(label[16:], 16))
    if seconds := parts.get("seconds"):
        return Stamp(int(seconds) * 1000 + _milliseconds(parts["fraction"]), 0)
    for unit, divisor in (("millis", 1), ("micros", 1000), ("nanos", 1_000_000)):
        if digits := parts.get(unit):
            return Stamp(int(digits) // divisor, 0)
    return None


def _time_of_day_ms(parts: dict[str, str | None]) -> int:
    hour = int(parts["hour"] or 0)
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half in "pP" else 0)
    return ((hour * 60 + int(parts["minute"] or 0)) * 60 + int(parts["second"] or 0)) * 1000 + _milliseconds(
        parts["fraction"]
    )


def _readings(parts: dict[str, str | None]) -> tuple[tuple[DateOrder, int], ...]:
    """All meanings of a numeric date, the usual one first: 11/20/2026, 20.11.2026, 26/11/20 (Spark's)."""
    first, second, third = (parts[name] or "" for name in ("first", "second_part", "third"))
    orders: dict[DateOrder, tuple[str, str, str]] = {"mdy": (third, first, second), "dmy": (third, second, first)}
    if parts["mark"] != "/":
        orders = dict(reversed(orders.items()))
    if len(first) == len(second) == len(third) == 2 and parts["mark"] != ".":
        orders = {"ymd": (first, second, third), **orders}
    found: list[tuple[DateOrder, int]] = []
    for order, (year, month, day) in orders.items():
        full_year = int(year) if len(year) == 4 else 2000 + int(year)
        midnight = _midnight_ms(full_year, int(month), int(day))
        if midnight is not None and (len(year) == 4 or full_year >= _KAFKAS_FIRST_YEAR):
            found.append((order, midnight))
    return tuple(found)


def _dated(parts: dict[str, str | None], time_ms: int, offset: int | None) -> Stamp | None:
    """The stamp of a numeric date."""
    found = _readings(parts)
    if not found:
        return None
    return Stamp(found[0][1] + time_ms, offset, readings=tuple((order, day + time_ms) for order, day in found))


def _read(match: re.Match[str]) -> Stamp | None:
    parts = match.groupdict()
    if "hour" not in parts:
        return _epoch(parts)
    time_ms, offset = _time_of_day_ms(parts), offset_of(parts.get("zone"))
    if "clock" in parts:
        return Stamp(time_ms, offset, "time-only")
    if "mark" in parts:
        return _dated(parts, time_ms, offset)
    name = parts.get("name") or ""
    month = _MONTHS.get(name.lower()) or (month_named(name) if name else int(parts.get("month") or 0)) or 0
    midnight = _midnight_ms(int(parts.get("year") or 1972), month, int(parts["day"] or 0))
    if midnight is None:
        return None
    return Stamp(midnight + time_ms, offset, "full" if "year" in parts else "no-year")


@lru_cache(maxsize=64)
def month_named(name: str) -> int | None:
    """The number of a month by its name in any of these languages, whole or cut; `12\u6708` as well."""
    if name.endswith("\u6708"):
        return int(name[:-1])
    low = name.lower()
    found = [(len(each), number) for number, all_ in enumerate(_BEGINNINGS, 1) for each in all_ if low.startswith(each)]
    return max(found)[1] if found else None


@lru_cache(maxsize=512)
def _day_ms(day: str) -> int | None:
    """Midnight of `2026-11-20`."""
    return _midnight_ms(int(day[:4]), int(day[5:7]), int(day[8:]))


@lru_cache(maxsize=4096)
def _clock_ms(clock: str) -> int:
    """Milliseconds from midnight to `10:15:30`."""
    return ((int(clock[:2]) * 60 + int(clock[3:5])) * 60 + int(clock[6:])) * 1000


@lru_cache(maxsize=4096)
def _second_ms(text: str) -> int | None:
    """The epoch ms of `2026-11-20 10:15:30` or `2026-11-20T10:15:30`; None for any other format."""
    day = _day_ms(text[:10]) if _LOG4J_SECOND.match(text) else None
    return None if day is None else day + _clock_ms(text[11:])


def log4j_stamp(text: str) -> Stamp | None:
    """Parse a text that is a time in Log4j's format, with a blank or a T; None for any other text."""
    if text[19:20] in (",", ".") and text[20:].isdecimal() and len(text) == LOG4J:
        second = _second_ms(text[:19])
        return None if second is None else Stamp(second + int(text[20:]), None)
    return None


def read_stamp(text: str) -> Stamp | None:
    """Parse the time at the start of a text; None if there is none."""
    # A shortcut for the most common formats: Log4j's, and that of log stores.
    if len(text) == LOG4J and (stamp := log4j_stamp(text)) is not None:
        return stamp
    if _ISO_SHAPE.match(text):
        day = _day_ms(text[:10])
        return None if day is None else Stamp(day + _clock_ms(text[11:19]) + _milliseconds(text[20:-1]), 0)
    if weekday := _WEEKDAY_FIRST.match(text):
        text = text[weekday.end() :]
    for shape in _SHAPES:
        if match := shape.match(text):
            return _read(match)
    return None


def days_on(before: int, time_of_day: int, days: int) -> int:
    """The number of midnights up to this time of day, given `days` up to the time before it."""
    if before - time_of_day > DAY_MS // 2:
        return days + 1
    if time_of_day - before > DAY_MS // 2 and days > 0:
        return days - 1  # a line from before midnight that was logged late
    return days


def with_year(local_ms: int, near: int | None) -> int | None:
    """The time of a "no-year" stamp in the year that brings it closest to another time."""
    found = [] if near is None else _in_years_near(local_ms, near)
    return min(found, key=lambda each: abs(each - (near or 0)), default=None)


def written_by(local_ms: int, written_at: int) -> int | None:
    """The time of a "no-year" stamp in the last year possible for a file of that age, with a day's margin for zones."""
    return max((at for at in _in_years_near(local_ms, written_at) if at <= written_at + DAY_MS), default=None)


def _in_years_near(local_ms: int, near: int) -> list[int]:
    year = datetime.fromtimestamp(near / 1000, UTC).year
    return [at for each in (year - 1, year, year + 1) if (at := _in_year(local_ms, each)) is not None]


def _in_year(local_ms: int, year: int) -> int | None:
    """The date in another year; None for February 29 if that is not a leap year."""
    moment = datetime.fromtimestamp(local_ms / 1000, UTC)
    try:
        return local_ms + round((moment.replace(year=year) - moment).total_seconds()) * 1000
    except ValueError:
        return None
