"""The words every stage shares: where a line came from, and the record it starts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct

EpochMs = int
"""Milliseconds since 1970-01-01T00:00:00Z."""
Time = Annotated[EpochMs, "time"]
"""A time that reports show: JSON writes it as ISO 8601, tables as a timestamp."""
Amount = Annotated[int, Meta(extra_json_schema={"minimum": 0})]
"""A count, or a length in ms. The bound is only for the JSON schema: a report is not refused for it."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

FIRST_DAY: EpochMs = 10 * 365 * DAY_MS
"""A time before this day (late in 1979) is a time of day on an unknown day; distances between such times hold."""
ORDER_EPOCH: EpochMs = 10**15
"""From here on, beyond any calendar, a time only says which line came before which: the log printed none."""

LEFT_OUT = "\u2026"
"""What viewers and people put where they left something of a line out."""


def is_timed(at: EpochMs | None) -> bool:
    """True if this is a point in time: lines without one only have an order."""
    # What lies a while before the first of those is no time either: no calendar reaches half as far.
    return at is not None and at < ORDER_EPOCH // 2


def is_dated(at: EpochMs | None) -> bool:
    """True if this is a point in time whose day is known too."""
    return at is not None and at >= FIRST_DAY and is_timed(at)


def elapsed(begin: EpochMs | None, end: EpochMs | None) -> int | None:
    """From one time to another in ms; None where one of them is no time: places in an order have no distance."""
    if begin is None or end is None or not (is_timed(begin) and is_timed(end)):
        return None
    return end - begin


_NUMBER = re.compile(r"(\d{1,9})")


@lru_cache(maxsize=1 << 12)
def natural(name: str) -> tuple[tuple[int, str], ...]:
    """Sort names of groups, members, partitions, brokers and hosts as people count: `orders-2` before `orders-10`."""
    # Each second part is a number. Cached, for incident after incident names the same members.
    return tuple([(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(_NUMBER.split(name))])


def input_name(path: str) -> str:
    """What people call an input: `stdin` for the path `-`."""
    return "stdin" if path == "-" else path


class Origin(Struct, frozen=True, kw_only=True, order=True, gc=False):
    """Where a record starts: the file as the report names it, and the place in it.

    `byte_offset` counts from 0 in the uncompressed file. `line` counts from 1; while a split
    is read it counts from the split's own first line, and the driver adds the lines before it.
    """

    path: str
    byte_offset: int
    line: int


class LogRecord(Struct, frozen=True, kw_only=True, gc=False):
    """One record of a log, its continuation lines included, as the layout took it apart.

    `at` is the time as written, read as UTC where the line names no zone (`zoned` is False);
    None where the layout has no usable time. `message` starts where the logger's own text starts
    (the `[Consumer clientId=…]` prefix included). `text` is the record's first line as the file
    has it, its envelope peeled. `host` is set when the record itself names it (an envelope,
    a stream of several hosts), else the file's host holds. A `bare` record has no layout that we know: a line of a
    paste that may hold a message. Of a line that the JVM prints without a time, `at` is that of the record above it;
    `uptime_ms` is how long the JVM had run then, where it prints that.
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
    """The program or unit that wrote the line, as syslog or the journal names it."""
    pid: int | None = None
    """Its process id, where the layout prints it: that of syslog may be that of Docker or of `logger`."""
    borrows_time: bool = False
    """True where `at` is that of the record above: the line was written then or later."""
