"""What an envelope is: what collectors and stores put around the line that a logger wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources.layouts.json_fields import Fields
from rebalance_forensics.sources.times.timestamps import Stamp, read_stamp


class Line(Struct, frozen=True, kw_only=True, gc=False):
    """One line as far as it is peeled: its text by now, and what its envelopes gave.

    `fields` is set while the content is a JSON object. Lines of different `stream` are never joined (a container's
    stdout and stderr). `partial` lines continue in the next of their stream. `local` is the time of an envelope that
    names no zone. A record `begins` with a line of a paste, whether a layout knows it or not.
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
"""Where a line or an entry starts, by byte offset and line number, and what it is."""


class Envelope(Struct, frozen=True, kw_only=True):
    """A way of wrapping lines; of lower `rank` are those that are asked first.

    `certain` ones are recognised by themselves; the others only when what they wrap is the start of a record,
    or when the whole file is wrapped so.
    """

    rank: int
    certain: bool = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line or lines inside; None when this is another envelope."""
        raise NotImplementedError


class CodedEnvelope(Envelope, frozen=True, kw_only=True):
    """An envelope that a function opens."""

    opened: Callable[[Line], Sequence[Line] | None]

    def peel(self, line: Line) -> Sequence[Line] | None:
        """What the function finds."""
        return self.opened(line)


def instant(text: str | None) -> EpochMs | None:
    """The time an envelope gives; envelopes are in UTC unless they name another zone."""
    stamp = read_stamp(text) if text else None
    return EpochMs(stamp.utc_ms) if stamp and stamp.form == "full" else None
