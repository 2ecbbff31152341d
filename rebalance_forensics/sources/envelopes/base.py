"""What an envelope is: how a line travelled, around what the logger wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text, lookup, object_of
from rebalance_forensics.sources.times.timestamps import Stamp, read_stamp


class Line(Struct, frozen=True, kw_only=True, gc=False):
    """One line as far as it is peeled: what it says now, and what its envelopes said.

    `fields` is set while the content is a JSON object. `stream` tells lines apart that must not be joined
    (a container's stdout and stderr). `partial` lines continue in the next of their stream. `local` is the time
    of an envelope that names no zone. A record `begins` with a line of a paste, whether a layout knows it or not.
    """

    text: str
    fields: Fields | None = None
    at: EpochMs | None = None
    local: Stamp | None = None
    host: str | None = None
    file: str | None = None
    stream: str = ""
    partial: bool = False
    begins: bool = False
    envelopes: tuple[str, ...] = ()


class Envelope(Protocol):
    """A way of wrapping lines.

    `certain` ones are recognised by themselves; the others only when what they wrap is the start of a record,
    or when the whole file is wrapped so.
    """

    @property
    def rank(self) -> int:
        """Where it stands among all envelopes."""
        ...

    @property
    def certain(self) -> bool:
        """Whether it is recognised by itself."""
        ...

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line or lines inside; None when this is another envelope."""
        ...


def instant(text: str | None) -> EpochMs | None:
    """The time an envelope gives; envelopes tell UTC unless they name another zone."""
    stamp = read_stamp(text) if text else None
    return EpochMs(stamp.utc_ms) if stamp and stamp.form == "full" else None


class TextEnvelope(Struct, frozen=True, kw_only=True):
    """An envelope in front of each line, as an expression with the groups time, host, stream, partial and text."""

    shape: re.Pattern[str]
    rank: int = 50
    certain: bool = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        match = self.shape.match(line.text) if line.fields is None else None
        if match is None:
            return None
        parts = match.groupdict()
        return (
            replace(
                line,
                text=parts["text"] or "",
                at=instant(parts.get("time")) or line.at,
                local=read_stamp(parts["local"]) if parts.get("local") else line.local,
                host=parts.get("host") or parts.get("host2") or line.host,
                stream=f"{line.stream}{parts.get('stream') or parts.get('stream2') or ''}",
                partial=bool(parts.get("partial")),
            ),
        )


def _itself(fields: Fields) -> Sequence[Fields]:
    return (fields,)


def _whole(_: Fields) -> bool:
    return False


class JsonEnvelope(Struct, frozen=True, kw_only=True):
    """An envelope that is a JSON object. Every path of `requires` is there; `text` holds what it wraps.

    `entries` gives the objects inside one that holds many; `inner` is the path of a nested object that
    may itself be a record (Elasticsearch's `_source`).
    """

    requires: tuple[str, ...]
    text: tuple[str, ...] = ("message",)
    time: tuple[str, ...] = ("@timestamp", "timestamp", "time")
    host: tuple[str, ...] = ("host.name", "host", "hostname")
    file: tuple[str, ...] = ("log.file.path", "file", "source", "path")
    stream: tuple[str, ...] = ("stream",)
    inner: str | None = None
    entries: Callable[[Fields], Sequence[Fields]] = field(default=_itself)
    partial: Callable[[Fields], bool] = field(default=_whole)
    rank: int = 50
    certain: bool = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line or lines inside."""
        fields = object_of(line.text) if line.fields is None else line.fields
        if fields is None or any(lookup(fields, path) is None for path in self.requires):
            return None
        return tuple(self._entry(line, entry) for entry in self.entries(fields))

    def _entry(self, line: Line, fields: Fields) -> Line:
        inner = lookup(fields, self.inner) if self.inner else None
        content = inner if isinstance(inner, dict) else fields
        text = first_text(content, self.text)
        return replace(
            line,
            text=(text or "").removesuffix("\n"),
            fields=content,
            at=self._time(fields, content) or line.at,
            host=first_text(content, self.host) or first_text(fields, self.host) or line.host,
            file=first_text(content, self.file) or line.file,
            stream=f"{line.stream}{first_text(fields, self.stream) or ''}",
            partial=self.partial(fields),
        )

    def _time(self, fields: Fields, content: Fields) -> EpochMs | None:
        return instant(first_text(content, self.time)) or instant(first_text(fields, self.time))
