"""What is an entry in a JSON document, and what only wraps entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rebalance_forensics.sources.layouts.json_field_names import TEXTS, is_called, pair_of
from rebalance_forensics.sources.layouts.json_fields import Fields

_DEEPEST = 8
_SHORTEST_PAIR = 2


def is_wrapping(value: object, columns: Sequence[str] = (), deep: int = _DEEPEST) -> bool:
    """Whether a value is no entry but contains entries in a list, at whatever depth."""
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
    """Whether an object contains a log line, itself or in a nested object (`_source.message`)."""
    if pair_of(value):
        return False
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
    """Whether a list is Loki's `[time, line]`."""
    return str(value[0]).isdigit() and isinstance(value[1], str) and len(value) <= _SHORTEST_PAIR + 1


def _columns_in(value: Mapping[str, object]) -> tuple[str, ...]:
    found = value.get("columns") or value.get("fields")
    if not isinstance(found, list):
        return ()
    names = [each.get("name") if isinstance(each, Mapping) else each for each in found]
    return tuple(str(name) for name in names if isinstance(name, str))


def named_columns(context: Fields) -> tuple[str, ...]:
    """The columns that the objects around a table name."""
    columns = context.get("_columns")
    return columns if isinstance(columns, tuple) else ()


def outer_facts(value: Mapping[str, object]) -> dict[str, object]:
    """What an object adds to each entry in it: all but lists and its own texts."""
    facts: dict[str, object] = {
        key: inner
        for key, inner in value.items()
        if not (isinstance(inner, list) or (isinstance(inner, str) and is_called(key, TEXTS)))
        and not is_wrapping(inner)
    }
    return {**facts, "_columns": columns} if (columns := _columns_in(value)) else facts


def entry_of(value: object, context: Fields) -> Fields | None:
    """An entry as one object, with what the outer objects add to it; None for any other value."""
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


def entries_in(value: object, context: Fields) -> Iterator[Fields]:
    """The entries in a value, in order, however they are wrapped."""
    if not is_wrapping(value, named_columns(context)):
        if (entry := entry_of(value, context)) is not None:
            yield entry
    elif isinstance(value, list):
        for each in value:
            yield from entries_in(each, context)
    elif isinstance(value, Mapping):
        known = {**context, **outer_facts(value)}
        for inner in value.values():
            if is_wrapping(inner, named_columns(known)):
                yield from entries_in(inner, known)
