"""JSON documents: what a value may be, and the one way they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Document: TypeAlias = dict[str, Json]


def written(document: Document) -> str:
    """Write a document for programs and for grep: each field on a line, and each element of a field that is a list.

    ASCII only, in the order it was built.
    """
    fields = ",\n".join(f"{_line(name)}: {_field(value)}" for name, value in document.items())
    return f"{{\n{fields}\n}}\n"


def written_on_one_line(document: Json) -> str:
    """Write a document as one line of JSON Lines."""
    return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _field(value: Json) -> str:
    if not value or not isinstance(value, list):
        return _line(value)
    return "[\n" + ",\n".join(map(_line, value)) + "\n]"


def _line(value: Json) -> str:
    # ASCII keeps C1 controls and bidirectional marks of log lines out of a terminal that shows `--json -`.
    # Indenting would be done in Python instead of C, and take a report of a thousand incidents ten times as long.
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
