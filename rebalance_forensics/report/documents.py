"""Writes JSON documents, whole or in pieces."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, to_builtins
from msgspec.json import Encoder
from msgspec.json import format as format_json

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Document: TypeAlias = dict[str, Json]
Fields: TypeAlias = "Iterator[tuple[str, Json | Struct | Iterator[Sequence[Json | Struct]]]]"
"""A document field by field, with long lists in slices: the history of a busy group takes hundreds of MB."""

_ENCODER = Encoder()
_DELETE = "\x7f"
# The name of an error handler of str.encode.
_ESCAPING = "rebalance-forensics.json"


def written(document: Mapping[str, Json | Iterator[Json]]) -> str:
    """Write a document for programs and grep: each field on its own line, and each element of a list."""
    # ASCII only, in the order in which it was built.
    return "".join(pieces(document))


def pieces(document: Mapping[str, Json | Struct | Iterator[Json | Struct | Fields]]) -> Iterator[str]:
    """Indented JSON in chunks: the report of a busy cluster takes hundreds of MB, and so does each copy."""
    yield "{\n"
    for place, (name, value) in enumerate(document.items()):
        if place:
            yield ",\n"
        yield f"{_line(name)}: "
        if isinstance(value, (list, Iterator)):
            yield from _elements(value)
        else:
            yield _line(value)
    yield "\n}\n"


def json_line(document: Json) -> str:
    """Write a document as one line of JSON Lines."""
    return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _elements(values: Iterable[Json | Struct | Fields]) -> Iterator[str]:
    begun = False
    for value in values:
        yield ",\n" if begun else "[\n"
        if isinstance(value, Iterator):
            yield from _fields(value)
        else:
            yield _line(value)
        begun = True
    yield "\n]" if begun else "[]"


def _fields(fields: Fields) -> Iterator[str]:
    # The same line as that of the whole document.
    before = "{"
    for name, value in fields:
        yield f"{before}{_line(name)}: "
        before = ", "
        if isinstance(value, Iterator):
            yield "["
            for place, some in enumerate(value):
                yield f"{', ' if place else ''}{_line(some)[1:-1]}"
            yield "]"
        else:
            yield _line(value)
    yield "}"


def _line(value: Json | Struct | Sequence[Json | Struct]) -> str:
    # ASCII keeps C1 controls and bidirectional marks in log lines away from a terminal that shows `--json -`.
    # Indentation would be done in Python instead of C and take ten times as long for a thousand incidents.
    try:
        text = format_json(_ENCODER.encode(value), indent=0).decode()
    except UnicodeEncodeError:  # a lone surrogate, which only the slower encoder can write
        return json.dumps(to_builtins(value), ensure_ascii=True, allow_nan=False)
    if not text.isascii():  # nearly every incident has an ellipsis somewhere; a regular expression would take 1 ms
        text = text.encode("ascii", _ESCAPING).decode()
    return text.replace(_DELETE, "\\u007f")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_ESCAPING, _escaped)
