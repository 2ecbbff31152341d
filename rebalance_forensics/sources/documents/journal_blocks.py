"""journalctl entries as blocks of fields: `-o export`, and `-o verbose` with a time before each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.sources.envelopes.base import Line, Placed

_EXPORT = re.compile(r"(?:_[A-Z_]+=[^\n]*\n)*__REALTIME_TIMESTAMP=\d+\n")
_VERBOSE = re.compile(r"(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\[\n]*\[s=[0-9a-f]+;[^\n]*\n +[A-Z_]+=")
_FIELD = re.compile(rb"(?P<blanks> *)(?P<key>_*[A-Z][A-Z0-9_]*)=(?P<value>.*)", re.DOTALL)
_KEY = re.compile(rb"_*[A-Z][A-Z0-9_]*\Z")
_LENGTH = 8
_LONGEST = 8 << 20


def is_document(text: str) -> bool:
    """True if a text starts with such a block."""
    return _EXPORT.match(text) is not None or _VERBOSE.match(text) is not None


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The blocks with their positions."""
    reader = _Reader(chunks)
    fields: dict[str, str] = {}
    start, first, last = 0, 1, ""
    while (raw := reader.line()) is not None:
        text = raw.rstrip(b"\r\n")
        begins = not text.startswith(b" ") and b" [s=" in text
        if (not text.strip() or begins) and fields:
            yield start, first, Line(text="", fields=fields)
            fields = {}
        if not fields:
            start, first = reader.at - len(raw), reader.number
        if begins:
            fields = {"timestamp": text.partition(b" [s=")[0].decode("utf-8", "replace")}
        elif match := _FIELD.match(text):
            last = match["key"].decode()
            fields[last] = match["value"].decode("utf-8", "replace")
        elif _KEY.match(text):
            fields[text.decode()] = reader.binary()
        elif last in fields and text:
            fields[last] += "\n" + text.strip(b" ").decode("utf-8", "replace")
    if fields:
        yield start, first, Line(text="", fields=fields)


class _Reader:
    """Reads lines of a stream and, between them, values preceded by their length."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._held = chunks, b""
        self.at = 0
        self.number = 0

    def line(self) -> bytes | None:
        """The next line with its line end; None after the last."""
        while b"\n" not in self._held and len(self._held) < _LONGEST and self._more():
            pass
        end = self._held.find(b"\n") + 1 or len(self._held)
        self.number += 1
        return self._taken(end) if end else None

    def binary(self) -> str:
        """A binary value, whose length is in the eight bytes before it."""
        while len(self._held) < _LENGTH and self._more():
            pass
        size = min(int.from_bytes(self._taken(_LENGTH), "little"), _LONGEST)
        while len(self._held) < size and self._more():
            pass
        value = self._taken(size)
        self.number += value.count(b"\n")
        return value.decode("utf-8", "replace")

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        self._held += chunk
        return bool(chunk)

    def _taken(self, size: int) -> bytes:
        taken, self._held = self._held[:size], self._held[size:]
        self.at += len(taken)
        return taken
