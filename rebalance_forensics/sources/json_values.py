"""JSON that is not one object a line: an array, a pretty-printed response, objects glued together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from rebalance_forensics.sources.codecs import Damage
from rebalance_forensics.sources.layouts.json_fields import Fields

MAX_VALUE = 512 << 20
_DECODER = json.JSONDecoder(strict=False)
_SEPARATORS = " \t\r\n,;\x1e\x00\ufeff"
_BETWEEN = re.compile(r"[ \t\r\n,;\x1e\x00\ufeff\[\]]*")
_NEXT_OBJECT = re.compile(r"\n[ \t]*,?\{")


def is_document(text: str) -> bool:
    """Whether a text begins a JSON value that is not simply the object on its first line."""
    if text.startswith("["):
        return text[1:].lstrip()[:1] == "{"
    if not text.startswith("{"):
        return False
    first, newline, _ = text.partition("\n")
    try:
        _, end = _DECODER.raw_decode(first)
    except (ValueError, RecursionError):
        inside = first[1:].lstrip()[:1]
        return inside == "" if newline else inside == '"'
    return bool(first[end:].strip(_SEPARATORS)) and first[end:].lstrip(_SEPARATORS).startswith("{")


def values(chunks: Iterator[bytes]) -> Iterator[tuple[int, int, str, Fields | None]]:
    """The objects of a stream with their places, those of an array at the top one by one; Damage ends a broken one."""
    stream, broken = _Text(chunks), 0
    while stream.skip():
        found = stream.value()
        if found is not None:
            value, text, offset, line = found
            if isinstance(value, dict):
                yield offset, line, text, value
        else:
            broken = broken or stream.offset + 1
            if not stream.resume():
                break
    if broken:
        raise Damage(f"the JSON is cut or broken at byte {broken - 1:,}; the entries around that were read")


@dataclass(slots=True)
class _Text:
    """The text of a stream as far as it is needed, and the place in it."""

    chunks: Iterator[bytes]
    buffer: str = ""
    at: int = 0
    offset: int = 0
    line: int = 1
    ended: bool = False
    _raw: bytes = b""

    def skip(self) -> bool:
        """The value that starts here, with its text and place; None when there is none with all that follows."""
        while True:
            match = _BETWEEN.match(self.buffer, self.at)
            self._go(match.end() if match else self.at)
            if self.at < len(self.buffer):
                return True
            if not self._more(1):
                return False

    def value(self) -> tuple[object, str, int, int] | None:
        """The value that starts here, with its text and place; None when there is none, even with all that follows."""
        while True:
            with suppress(ValueError, RecursionError):
                value, end = _DECODER.raw_decode(self.buffer, self.at)
                found = value, self.buffer[self.at : end], self.offset, self.line
                self._go(end)
                return found
            if len(self.buffer) - self.at > MAX_VALUE or not self._more(len(self.buffer) - self.at):
                return None

    def resume(self) -> bool:
        """Go to the next line that begins an object, after one that cannot be read."""
        match = _NEXT_OBJECT.search(self.buffer, self.at)
        if match is None:
            return False
        self._go(match.end() - 1)
        return True

    def _go(self, to: int) -> None:
        passed = self.buffer[self.at : to]
        self.offset += len(passed) if passed.isascii() else len(passed.encode("utf-8", "surrogatepass"))
        self.line += passed.count("\n")
        self.at = to

    def _more(self, least: int) -> bool:
        """Read on until the text has grown by `least`; False when there is no more."""
        if self.ended:
            return False
        parts, grown = [self.buffer[self.at :]], 0
        while grown < max(least, 1):
            chunk = next(self.chunks, None)
            if chunk is None:
                self.ended = True
                break
            text, self._raw = _decodable(self._raw + chunk)
            parts.append(text)
            grown += len(text)
        self.buffer, self.at = "".join(parts), 0
        return grown > 0


def _decodable(data: bytes) -> tuple[str, bytes]:
    """The text of all bytes but those of a character that is not complete."""
    for cut in range(min(4, len(data) + 1)):
        try:
            return data[: len(data) - cut].decode("utf-8"), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace"), b""
