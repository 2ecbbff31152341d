"""Types that all stages share: times, the origin of a line, and the log record."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct

EpochMs = int
"""Milliseconds since 1970-01-01T00:00:00Z."""
Time = Annotated[EpochMs, "time"]
"""A time in reports: ISO 8601 in JSON, a timestamp in tables."""
Amount = Annotated[int, Meta(extra_json_schema={"minimum": 0})]
"""A count or a duration in ms; the minimum is only for the JSON schema and not enforced."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

FIRST_DAY: EpochMs = 10 * 365 * DAY_MS
"""A time before this day (late in 1979) is a time of day on an unknown day; differences of such times are valid."""
ORDER_EPOCH: EpochMs = 10**15
"""Times from here on, beyond any calendar, only order lines of a log that prints no times."""

LEFT_OUT = "\u2026"
"""The ellipsis with which viewers and people mark an omission in a line."""


def is_timed(at: EpochMs | None) -> bool:
    """True if this is a point in time, not merely the position of a line without one."""
    # Shortly before ORDER_EPOCH there are no real times either: no calendar reaches half as far.
    return at is not None and at < ORDER_EPOCH // 2


def is_dated(at: EpochMs | None) -> bool:
    """True if this is a point in time on a known day."""
    return at is not None and at >= FIRST_DAY and is_timed(at)


def elapsed(begin: EpochMs | None, end: EpochMs | None) -> int | None:
    """The time from `begin` to `end` in ms; None if one of them is not a point in time."""
    if begin is None or end is None or not (is_timed(begin) and is_timed(end)):
        return None
    return end - begin


_NUMBER = re.compile(r"(\d{1,9})")


@lru_cache(maxsize=1 << 12)
def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A sort key for names that orders numbers by value: `orders-2` before `orders-10`."""
    # Every second part is a number. Cached because many incidents name the same members.
    return tuple([(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(_NUMBER.split(name))])


def input_name(path: str) -> str:
    """The name of an input for people: `stdin` for the path `-`."""
    return "stdin" if path == "-" else path


class Origin(Struct, frozen=True, kw_only=True, order=True, gc=False):
    """Where a record starts: the file as the report names it, and the position in it.

    `byte_offset` counts from 0 in the uncompressed file. `line` counts from 1; while a split is read, it counts from
    the first line of the split, and the driver adds the lines before it.
    """

    path: str
    byte_offset: int
    line: int


class LogRecord(Struct, frozen=True, kw_only=True, gc=False):
    """One log record with its continuation lines, parsed by its layout.

    `at` is the time as logged, read as UTC if the line has no zone (`zoned` is False); None if the layout has no usable
    time. `message` is the logger's own text (including the `[Consumer clientId=…]` prefix). `text` is the first line as
    in the file, without its envelope. `host` is set if the record itself names it (an envelope, a stream of several
    hosts); otherwise the host of the file applies. A `bare` record has no known layout: a line of a paste that may
    contain a message. For a line that the JVM prints without a time, `at` is that of the record above it; `uptime_ms`
    is how long the JVM had been running, if it prints that.
    """

    origin: Origin
    at: EpochMs | None
    zoned: bool
    level: str | None
    logger: str | None
    thread: str | None
    message: str
    text: str
    host: str | None = None
    bare: bool = False
    uptime_ms: int | None = None
    program: str | None = None
    """The program or unit that logged the line, as named by syslog or the journal."""
    pid: int | None = None
    """Its process id, if the layout prints it; in syslog it may be that of Docker or `logger`."""
    borrows_time: bool = False
    """True if `at` is that of the record above: the line was logged then or later."""
