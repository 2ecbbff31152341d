"""Envelopes, which collectors and log stores wrap around the lines of a logger."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources.layouts.json_fields import Fields
from rebalance_forensics.sources.times.timestamps import Stamp, read_stamp


class Line(Struct, frozen=True, kw_only=True, gc=False):
    """A line and the values from the envelopes that have been removed from it.

    `fields` is set if the content is a JSON object. Lines of different `stream`s (a container's stdout and stderr) are
    never joined. A `partial` line continues in the next line of its stream. `local` is the time of an envelope without
    a zone. If a line of a paste `begins`, it starts a record, whether its layout is known or not.
    """

    text: str
    fields: Fields | None = None
    at: EpochMs | None = None
    local: Stamp | None = None
    host: str | None = None
    stream: str = ""
    partial: bool = False
    begins: bool = False
    envelopes: tuple[str, ...] = ()


Placed = tuple[int, int, Line]
"""A line or an entry with the byte offset and the line number at which it starts."""


class Envelope(Struct, frozen=True, kw_only=True):
    """A way of wrapping lines; envelopes of lower `rank` are tried first.

    A `certain` envelope is recognized by itself; others only if they wrap the start of a record, or if they wrap every
    line of the file.
    """

    rank: int
    certain: bool = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line or lines inside; None if the line does not have this envelope."""
        raise NotImplementedError


class CodedEnvelope(Envelope, frozen=True, kw_only=True):
    """An envelope that a function removes."""

    opened: Callable[[Line], Sequence[Line] | None]

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line or lines that the function finds."""
        return self.opened(line)


def instant(text: str | None) -> EpochMs | None:
    """The time of an envelope, which is in UTC unless it names another zone."""
    stamp = read_stamp(text) if text else None
    return EpochMs(stamp.utc_ms) if stamp and stamp.form == "full" else None
