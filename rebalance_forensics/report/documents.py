"""JSON documents: what a value may be, and the one way they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, to_builtins
from msgspec.json import Encoder
from msgspec.json import format as format_json

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Document: TypeAlias = dict[str, Json]
Fields: TypeAlias = "Iterator[tuple[str, Json | Struct | Iterator[Sequence[Json | Struct]]]]"
"""A document a field at a time, long lists in slices: the history of a busy group takes some hundred MB too."""

_ENCODER = Encoder()
_DELETE = "\x7f"
_OTHER = re.compile(r"[^ -~]+")


def written(document: Mapping[str, Json | Iterator[Json]]) -> str:
    """Write a document for programs and for grep: each field on a line, and each element of a field that is a list."""
    # ASCII only, in the order it was built.
    return "".join(pieces(document))


def pieces(document: Mapping[str, Json | Struct | Iterator[Json | Struct | Fields]]) -> Iterator[str]:
    """Pretty JSON in chunks: the report of a busy cluster takes some hundred MB, and so does each copy."""
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
    # ASCII keeps C1 controls and bidirectional marks of log lines out of a terminal that shows `--json -`.
    # Indenting would be done in Python instead of C, and take a report of a thousand incidents ten times as long.
    try:
        text = format_json(_ENCODER.encode(value), indent=0).decode()
    except UnicodeEncodeError:  # half a character, which only the slower encoder knows how to write
        return json.dumps(to_builtins(value), ensure_ascii=True, allow_nan=False)
    return text if text.isascii() and _DELETE not in text else _OTHER.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
