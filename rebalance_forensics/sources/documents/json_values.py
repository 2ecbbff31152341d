"""JSON that is not one object a line: an array, a response, pretty-printed or glued objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rebalance_forensics.sources.documents.json_entries import (
    entries_in,
    entry_of,
    is_wrapping,
    named_columns,
    outer_facts,
)
from rebalance_forensics.sources.files.codecs import Damage
from rebalance_forensics.sources.layouts.json_fields import Fields
from rebalance_forensics.sources.lines.text import whole_characters

MAX_VALUE = 512 << 20
# A value longer than this holds entries rather than being one.
_LONGEST_ENTRY = 1 << 20
_DEEPEST = 12
# So much of what was read may be held: where a value is broken, json counts the lines before it (JSONDecodeError).
_PASSED = 1 << 16
_DECODER = json.JSONDecoder(strict=False)
_SEPARATORS = " \t\r\n,;\x1e\x00\ufeff"
_BETWEEN = re.compile(r"[ \t\r\n,;\x1e\x00\ufeff\[\]]*")
_INSIDE = re.compile(r"[ \t\r\n,:]*")
# How bytes that are not UTF-8 are held: each as one character, so that what stands behind them keeps its place.
_KEPT = "surrogateescape"
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
# How a list within a list begins; a tag in two brackets (`[[payments] {}:] `, ruby-kafka) is none.
_LIST = re.compile(r"\[\s*(?:[\"{\[\]]|-?\d+\s*[,.\]\s]|true\b|false\b|null\b|\Z)")
_NEXT_OBJECT = re.compile(r"\n[ \t]*,?\{")

Entry = tuple[int, int, str, Fields | None]
"""Where an entry starts: byte and line; its text, and what it is."""


def is_document(text: str) -> bool:
    """Whether a text begins a JSON value that is not simply an entry on its first line."""
    if text.startswith("["):
        inside = text[1:].lstrip()
        return _LIST.match(inside) is not None or (inside.startswith("{") and _is_key(inside[1:]))
    if not text.startswith("{"):
        return False
    first, newline, _ = text.partition("\n")
    try:
        value, end = _DECODER.raw_decode(first)
    except (ValueError, RecursionError):
        inside = first[1:].lstrip()[:1]
        return inside == "" and _is_key(text[1:]) if newline else inside == '"'
    if isinstance(value, dict) and is_wrapping(value):
        return True
    return bool(first[end:].strip(_SEPARATORS)) and first[end:].lstrip(_SEPARATORS).startswith("{")


def _is_key(inside: str) -> bool:
    """Whether an object may go on so: what Node.js and Go print of one has no quotes outer_facts its keys."""
    return inside.lstrip()[:1] in ('"', "}", "")


def values(chunks: Iterator[bytes]) -> Iterator[Entry]:
    """The entries of a stream with their places; Damage ends a broken one."""
    stream, broken = _Text(chunks), 0
    while stream.skip(_BETWEEN):
        at = stream.offset
        try:
            yield from _Document(stream).entries({}, _DEEPEST)
        except ValueError:
            broken = broken or at + 1
            if not stream.resume():
                break
    if broken:
        raise Damage(f"the JSON is cut or broken at byte {broken - 1:,}; the entries around that were read")


@dataclass(slots=True)
class _Document:
    """Walks down a value to the entries in it, however they are wrapped; raises ValueError where it is broken."""

    stream: _Text

    def entries(self, context: Fields, deep: int) -> Iterator[Entry]:
        """The entries of the value that starts here; `context` is what the outer objects add to them."""
        stream = self.stream
        found = stream.value(_LONGEST_ENTRY if deep else MAX_VALUE, take=False)
        opening = stream.buffer[stream.at]
        if found is None and (not deep or opening not in "{["):
            raise ValueError
        if found is None or (deep and is_wrapping(found[0], named_columns(context))):
            whole = found[0] if found else None
            if found and "\n" not in found[1]:
                yield from self._at_once(found, context)
                return
            yield from self._in_object(context, whole, deep) if opening == "{" else self._in_list(context, deep)
            return
        value, text, offset, line = found
        entry = entry_of(value, context)
        if entry is not None:
            yield offset, line, _readable(text), entry
        stream.take(len(text))

    def _at_once(self, found: tuple[object, str, int, int], context: Fields) -> Iterator[Entry]:
        """The entries of a wrapping on one line: they follow each other, and where exactly makes no difference."""
        value, text, offset, line = found
        for number, entry in enumerate(entries_in(value, context)):
            yield offset + min(number, len(text) - 1), line, "", entry
        self.stream.take(len(text))

    def _in_list(self, context: Fields, deep: int) -> Iterator[Entry]:
        self.stream.take(1)
        while self.stream.skip(_INSIDE) and self.stream.buffer[self.stream.at] != "]":
            yield from self.entries(context, deep - 1)
        self.stream.close()

    def _in_object(self, context: Fields, whole: object, deep: int) -> Iterator[Entry]:
        """The other keys of an object with a list of entries belong to each: its stream, its resource, its columns."""
        known = {**context, **(outer_facts(whole) if isinstance(whole, Mapping) else {})}
        stream = self.stream
        stream.take(1)
        while stream.skip(_INSIDE) and stream.buffer[stream.at] != "}":
            key = stream.value(_LONGEST_ENTRY, take=True)
            if key is None or not stream.skip(_INSIDE):
                raise ValueError
            member = stream.value(_LONGEST_ENTRY, take=False)
            if member is not None and not is_wrapping(member[0], named_columns(known)):
                known |= outer_facts({str(key[0]): member[0]})
                stream.take(len(member[1]))
            else:
                yield from self.entries(known, deep - 1)
        stream.close()


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

    def skip(self, between: re.Pattern[str]) -> bool:
        """Go to what stands behind blanks and separators; False at the end."""
        while True:
            match = between.match(self.buffer, self.at)
            self.take((match.end() if match else self.at) - self.at)
            if self.at < len(self.buffer):
                return True
            if not self._more(1):
                return False

    def close(self) -> None:
        """Go past the end of a list or an object."""
        if self.at >= len(self.buffer):
            raise ValueError
        self.take(1)

    def value(self, longest: int, *, take: bool) -> tuple[object, str, int, int] | None:
        """The value that starts here, with its text and place; None when it is longer, or cut, or none at all."""
        if self.at > _PASSED:
            self.buffer, self.at = self.buffer[self.at :], 0
        while True:
            with suppress(ValueError, RecursionError):
                value, end = _DECODER.raw_decode(self.buffer, self.at)
                text = self.buffer[self.at : end]
                if (whole := whole_characters(_readable(text))) is not text:
                    value = _DECODER.decode(whole)
                found = value, text, self.offset, self.line
                if take:
                    self.take(end - self.at)
                return found
            unread = len(self.buffer) - self.at
            if unread > longest or not self._more(max(unread, 1)):
                return None

    def resume(self) -> bool:
        """Go to the next line that begins an object, after one that cannot be read."""
        match = _NEXT_OBJECT.search(self.buffer, self.at)
        if match is None:
            return False
        self.take(match.end() - 1 - self.at)
        return True

    def take(self, length: int) -> None:
        """Go on by so many characters."""
        passed = self.buffer[self.at : self.at + length]
        self.offset += len(passed) if passed.isascii() else len(passed.encode("utf-8", _KEPT))
        self.line += passed.count("\n")
        self.at += length

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
    return data.decode("utf-8", _KEPT), b""


def _readable(text: str) -> str:
    """The text with U+FFFD for each byte that is not UTF-8."""
    return text if text.isascii() else _NOT_UTF_8.sub("\ufffd", text)
