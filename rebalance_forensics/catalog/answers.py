"""What the catalog answers about itself and about one message: lists and explanations."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, Union, get_args, get_origin

from msgspec import Struct

from rebalance_forensics.catalog.fields import FieldValue, declared
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.events import EVENT_TYPES, base


class ListedPattern(Struct, frozen=True):
    """One line of `patterns list`."""

    pattern: str
    event: str | None
    meaning: str


class ExplainedField(Struct, frozen=True):
    """One field of a matched line: its value and its type in the vocabulary."""

    name: str
    value: FieldValue
    type: str


class Explanation(Struct, frozen=True):
    """All we know about one line: its pattern, its event, and each field read from it."""

    pattern: str
    meaning: str
    event: str | None
    event_meaning: str | None
    group: str | None
    fields: tuple[ExplainedField, ...]
    speaker: tuple[tuple[str, FieldValue], ...]


def listed(catalog: Catalog) -> Iterator[ListedPattern]:
    """Every pattern, sorted by id."""
    events = {entry.pattern: entry.event for entry in catalog.compiled.entries}
    for pattern, event in sorted(events.items()):
        yield ListedPattern(pattern, event, catalog.compiled.meanings[pattern])


def explained(catalog: Catalog, message: str, *, logger: str | None = None) -> Explanation | None:
    """What `explain --line` shows."""
    match = catalog.match(message, logger=logger)
    if match is None:
        return None
    types: Mapping[str, str] = described(match.event) if match.event else {}
    return Explanation(
        pattern=match.pattern,
        meaning=catalog.compiled.meanings[match.pattern],
        event=match.event,
        event_meaning=(EVENT_TYPES[match.event].__doc__ or "").split("\n", 1)[0] if match.event else None,
        group=match.group,
        fields=tuple(ExplainedField(name, value, types.get(name, "text")) for name, value in match.fields.items()),
        speaker=tuple(_speaker(match)),
    )


def _speaker(match: Match) -> Iterator[tuple[str, FieldValue]]:
    for name in ("role", "broker", "client_id", "instance_id", "thread", "task", "offsets_partition"):
        value: FieldValue = getattr(match.speaker, name)
        if value is not None:
            yield name, value


@cache
def described(event: str) -> dict[str, str]:
    """The event's own fields and what each may hold, in words."""
    return {name: type_words(hint) for name, hint in declared(event).items()}


def type_words(hint: object) -> str:
    """An annotation as a reader of JSON would put it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return type_words(next(argument for argument in arguments if argument is not type(None)))
    if origin is Literal:
        return ", ".join(f"`{argument}`" for argument in arguments)
    if hint == base.Assignment:
        return "mapping of names to lists of text"
    if hint == base.Pairs:
        return "mapping of text to text"
    if origin is tuple:
        return f"list of {_PLURALS.get(type_words(arguments[0]), type_words(arguments[0]))}"
    return {str: "text", int: "integer", float: "number", bool: "true or false"}.get(hint, str(hint))  # type: ignore[call-overload,no-any-return]  # any annotation may be looked up


_PLURALS = {"text": "texts", "integer": "integers", "number": "numbers"}
