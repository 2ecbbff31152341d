"""JSON objects as log lines: parsing, and access to values by path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from rebalance_forensics.sources.lines.text import whole_characters

Fields = Mapping[str, object]
_DECODER = json.JSONDecoder(strict=False)


@lru_cache(maxsize=16)
def object_of(text: str) -> Fields | None:
    """The JSON object in a line; None for any other text."""
    if not text.startswith("{") or not text.rstrip().endswith("}"):
        return None
    whole = whole_characters(text)
    try:
        value, end = _DECODER.raw_decode(whole)
    except (ValueError, RecursionError):
        return None
    # A line copied from a document may include the bracket that closes the document.
    return value if isinstance(value, dict) and not whole[end:].strip(" \t\r\n}],") else None


def lookup(fields: Fields, path: str) -> object:
    """The value at a dotted path: a dotted key, or a key of a nested object."""
    if path in fields:
        return fields[path]
    head, dot, rest = path.partition(".")
    while dot:
        inner = fields.get(head)
        if isinstance(inner, Mapping) and (found := lookup(inner, rest)) is not None:
            return found
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def first_text(fields: Fields, paths: tuple[str, ...]) -> str | None:
    """The first of these values that is a text or a number, as text."""
    for path in paths:
        value = lookup(fields, path)
        if isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return repr(value)
    return None
