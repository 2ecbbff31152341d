"""JSON other than one object per line: an array, a response, pretty-printed or concatenated objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.envelopes.kubernetes import is_state
from rebalance_forensics.sources.envelopes.thread_dumps import is_thread
from rebalance_forensics.sources.files.codecs import Damage
from rebalance_forensics.sources.layouts.json_field_names import TEXTS, is_called, pair_of
from rebalance_forensics.sources.layouts.json_fields import Fields
from rebalance_forensics.sources.lines.text import whole_characters

_DEEPEST_LIST = 8
_SHORTEST_PAIR = 2


def is_wrapping(value: object, columns: Sequence[str] = (), deep: int = _DEEPEST_LIST) -> bool:
    """True if a value is not an entry itself but contains a list of entries, at any depth."""
    if not deep:
        return False
    if isinstance(value, Mapping):
        if _has_text(value):
            return False
        own = _columns_in(value) or columns
        return any(is_wrapping(inner, own, deep - 1) for inner in value.values())
    if isinstance(value, list) and value:
        return any(_is_entry(each, columns) or is_wrapping(each, columns, deep - 1) for each in value[:3])
    return False


def _has_text(value: Mapping[str, object]) -> bool:
    """True if an object contains a log line, itself or in a nested object (`_source.message`)."""
    if pair_of(value):
        return False
    if is_state(value) or is_thread(value):
        return True
    for key, inner in value.items():
        if isinstance(inner, str) and is_called(key, TEXTS) and not key.startswith("next"):
            return True
        if isinstance(inner, Mapping) and _has_text(inner):
            return True
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], str) and is_called(key, TEXTS):
            return True
    return False


def _is_entry(value: object, columns: Sequence[str]) -> bool:
    if isinstance(value, Mapping):
        return _has_text(value)
    if not isinstance(value, list) or len(value) < _SHORTEST_PAIR:
        return False
    if all(isinstance(each, Mapping) and pair_of(each) for each in value):
        return any(is_called(pair[0], TEXTS) for each in value if (pair := pair_of(each)))
    return (len(columns) == len(value) and any(is_called(column, TEXTS) for column in columns)) or _is_line(value)


def _is_line(value: Sequence[object]) -> bool:
    """True if a list is Loki's `[time, line]`."""
    return str(value[0]).isdigit() and isinstance(value[1], str) and len(value) <= _SHORTEST_PAIR + 1


def _columns_in(value: Mapping[str, object]) -> tuple[str, ...]:
    found = value.get("columns") or value.get("fields")
    if not isinstance(found, list):
        return ()
    names = [each.get("name") if isinstance(each, Mapping) else each for each in found]
    return tuple(str(name) for name in names if isinstance(name, str))


def named_columns(context: Fields) -> tuple[str, ...]:
    """The columns of a table, as named by the objects around it."""
    columns = context.get("_columns")
    return columns if isinstance(columns, tuple) else ()


def outer_facts(value: Mapping[str, object]) -> dict[str, object]:
    """The fields that an object adds to each entry inside it: all but lists and its own texts."""
    facts: dict[str, object] = {
        key: inner
        for key, inner in value.items()
        if not (isinstance(inner, list) or (isinstance(inner, str) and is_called(key, TEXTS)))
        and not is_wrapping(inner)
    }
    return {**facts, "_columns": columns} if (columns := _columns_in(value)) else facts


def entry_of(value: object, context: Fields) -> Fields | None:
    """An entry with the fields of the outer objects; None if the value is not an entry."""
    about = {key: inner for key, inner in context.items() if key != "_columns"}
    if isinstance(value, Mapping):
        return {**about, **value} if about else dict(value)
    if not isinstance(value, list) or len(value) < _SHORTEST_PAIR:
        return None
    pairs = [pair for each in value if isinstance(each, Mapping) and (pair := pair_of(each))]
    if len(pairs) == len(value):
        return {**about, **dict(pairs)}
    columns = named_columns(context)
    if len(columns) == len(value):
        return {**about, **dict(zip(columns, value, strict=True))}
    if _is_line(value):
        labels = about.get("stream")
        return {**about, "labels": labels or {}, "timestamp": str(value[0]), "line": value[1]}
    return None


MAX_VALUE = 512 << 20
# A longer value is not an entry but contains entries.
_LONGEST_ENTRY = 1 << 20
_DEEPEST = 12
# This much consumed text is kept: for an invalid value, json counts the lines before it (JSONDecodeError).
_PASSED = 1 << 16
_DECODER = json.JSONDecoder(strict=False)
_SEPARATORS = " \t\r\n,;\x1e\x00\ufeff"
_BETWEEN = re.compile(r"[ \t\r\n,;\x1e\x00\ufeff\[\]]*")
_INSIDE = re.compile(r"[ \t\r\n,:]*")
# Bytes that are not UTF-8 become one character each, so that positions after them stay right.
_KEPT = "surrogateescape"
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
# The start of a list within a list; a tag in two brackets (`[[payments] {}:] `, ruby-kafka) is not one.
_LIST = re.compile(r"\[\s*(?:[\"{\[\]]|-?\d+\s*[,.\]\s]|true\b|false\b|null\b|\Z)")
_NEXT_OBJECT = re.compile(r"\n[ \t]*,?\{")


def is_document(text: str) -> bool:
    """True if a text starts with a JSON value that is more than an entry on its first line."""
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
    if isinstance(value, dict) and (is_wrapping(value) or is_state(value)):
        return True
    return bool(first[end:].strip(_SEPARATORS)) and first[end:].lstrip(_SEPARATORS).startswith("{")


def _is_key(inside: str) -> bool:
    """True if an object can continue like this: Node.js and Go print keys without quotes."""
    return inside.lstrip()[:1] in ('"', "}", "")


def values(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The entries of a stream with their positions; Damage if the rest is invalid."""
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
    """Finds the entries in a value, however they are nested; ValueError if it is invalid."""

    stream: _Text

    def entries(self, context: Fields, deep: int) -> Iterator[Placed]:
        """The entries of the value that starts here; `context` holds the fields of the outer objects."""
        stream = self.stream
        found = stream.value(_LONGEST_ENTRY if deep else MAX_VALUE, take=False)
        opening = stream.buffer[stream.at]
        if found is None and (not deep or opening not in "{["):
            raise ValueError
        if found is None or (deep and is_wrapping(found[0], named_columns(context))):
            whole = found[0] if found else None
            yield from self._in_object(context, whole, deep) if opening == "{" else self._in_list(context, deep)
            return
        value, text, offset, line = found
        entry = entry_of(value, context)
        if entry is not None:
            yield offset, line, Line(text=_readable(text), fields=entry)
        stream.take(len(text))

    def _in_list(self, context: Fields, deep: int) -> Iterator[Placed]:
        self.stream.take(1)
        while self.stream.skip(_INSIDE) and self.stream.buffer[self.stream.at] != "]":
            yield from self.entries(context, deep - 1)
        self.stream.close()

    def _in_object(self, context: Fields, whole: object, deep: int) -> Iterator[Placed]:
        """The entries in an object's list, each with the object's other keys: stream, resource, columns."""
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
    """The text of a stream, read on demand, and the current position."""

    chunks: Iterator[bytes]
    buffer: str = ""
    at: int = 0
    offset: int = 0
    line: int = 1
    ended: bool = False
    _raw: bytes = b""

    def skip(self, between: re.Pattern[str]) -> bool:
        """Skip whitespace and separators; False at the end."""
        while True:
            match = between.match(self.buffer, self.at)
            self.take((match.end() if match else self.at) - self.at)
            if self.at < len(self.buffer):
                return True
            if not self._more(1):
                return False

    def close(self) -> None:
        """Skip the end of a list or an object."""
        if self.at >= len(self.buffer):
            raise ValueError
        self.take(1)

    def value(self, longest: int, *, take: bool) -> tuple[object, str, int, int] | None:
        """The value that starts here, with its text and position; None if it is too long, truncated or invalid."""
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
        """Skip to the next line that starts an object, after an invalid one."""
        match = _NEXT_OBJECT.search(self.buffer, self.at)
        if match is None:
            return False
        self.take(match.end() - 1 - self.at)
        return True

    def take(self, length: int) -> None:
        """Advance by `length` characters."""
        passed = self.buffer[self.at : self.at + length]
        self.offset += len(passed) if passed.isascii() else len(passed.encode("utf-8", _KEPT))
        self.line += passed.count("\n")
        self.at += length

    def _more(self, least: int) -> bool:
        """Read until the text has grown by `least` characters; False at the end."""
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
    """The decoded text, and the bytes of an incomplete character at the end."""
    for cut in range(min(4, len(data) + 1)):
        try:
            return data[: len(data) - cut].decode("utf-8"), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", _KEPT), b""


def _readable(text: str) -> str:
    """The text with U+FFFD in place of each byte that is not UTF-8."""
    return text if text.isascii() else _NOT_UTF_8.sub("\ufffd", text)
