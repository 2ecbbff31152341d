"""Envelopes in front of each line that an expression describes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Envelope, Line, instant
from rebalance_forensics.sources.files.hosts import host_of
from rebalance_forensics.sources.times.timestamps import read_stamp

# How rsyslog writes the control characters that logs contain: tabs and colours ($EscapeControlCharactersOnReceive).
_OCTAL = (("#011", "\t"), ("#033[", "\x1b["))


class TextEnvelope(Envelope, frozen=True, kw_only=True):
    """An envelope written as an expression with the groups time, local, host, path, stream, partial and text.

    `host2` and `stream2` are the same in another branch. `path` is the name of the file that the line comes from. An
    envelope that stands `only_headers` is none in front of a line that continues a record. `not_behind` is what text
    belongs to the logger where another envelope, by its name, was peeled before.
    """

    shape: re.Pattern[str]
    only_headers: bool = False
    octal_escapes: bool = False
    not_behind: Mapping[str, re.Pattern[str]] = {}

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
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
        """True if the text behind the envelope that was peeled last belongs to the logger."""
        text = self.not_behind.get(line.envelopes[-1]) if self.not_behind and line.envelopes else None
        return text is not None and text.match(line.text) is not None


def _without_octals(text: str) -> str:
    if "#0" in text:
        for written, meant in _OCTAL:
            text = text.replace(written, meant)
    return text
