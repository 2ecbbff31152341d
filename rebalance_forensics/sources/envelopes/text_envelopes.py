"""Envelopes that precede each line, described by a regular expression."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Envelope, Line, instant
from rebalance_forensics.sources.files.hosts import host_of
from rebalance_forensics.sources.times.timestamps import read_stamp

# rsyslog escapes control characters in logs: tabs and colors ($EscapeControlCharactersOnReceive).
_OCTAL = (("#011", "\t"), ("#033[", "\x1b["))


class TextEnvelope(Envelope, frozen=True, kw_only=True):
    """An envelope described by an expression with the groups time, local, host, path, stream, partial and text.

    `host2` and `stream2` are the same in another branch. `path` is the name of the file that the line comes from. An
    `only_headers` envelope precedes only lines that start a record. `not_behind` maps the name of another envelope to a
    text that belongs to the logger if it follows that envelope.
    """

    shape: re.Pattern[str]
    only_headers: bool = False
    octal_escapes: bool = False
    not_behind: Mapping[str, re.Pattern[str]] = {}

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside; None if the line does not match."""
        match = self.shape.match(line.text) if line.fields is None else None
        if match is None or self._is_loggers(line):
            return None
        parts = match.groupdict()
        text = parts["text"] or ""
        if self.only_headers and not layouts.begins_record(text):
            return None
        path = parts.get("path")
        return (
            replace(
                line,
                text=_without_octals(text) if self.octal_escapes else text,
                at=instant(parts.get("time")) or line.at,
                local=read_stamp(parts["local"]) if parts.get("local") else line.local,
                host=parts.get("host")
                or parts.get("host2")
                or (host_of(path.lstrip("./")) if path else None)
                or line.host,
                stream=f"{line.stream}{parts.get('stream') or parts.get('stream2') or path or ''}",
                partial=bool(parts.get("partial")),
            ),
        )

    def _is_loggers(self, line: Line) -> bool:
        """True if the text after the last removed envelope belongs to the logger."""
        text = self.not_behind.get(line.envelopes[-1]) if self.not_behind and line.envelopes else None
        return text is not None and text.match(line.text) is not None


def _without_octals(text: str) -> str:
    if "#0" in text:
        for written, meant in _OCTAL:
            text = text.replace(written, meant)
    return text
