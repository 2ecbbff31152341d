"""What the catalog answers about itself and about one message: lists, explanations, docs/events.md."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from rebalance_forensics.catalog.fields import FieldValue, declared, defaults
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.events import EVENT_TYPES, base
from rebalance_forensics.events.base import Event, Speaker


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


_INTRODUCTION = """\
# Events

Everything a Kafka process can say about a group, typed. A pattern turns a log line into one of these; all later stages
read nothing else. `rebalance-forensics events PATH…` prints them as lines of JSON. This page is made from the code
(`python -m rebalance_forensics.catalog.answers > docs/events.md`); a test compares the two.

A field marked *always* stands in every event of its kind; any other has the default shown where the line does not say.
"""


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


def document() -> str:
    """The whole of docs/events.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    yield "## What every event carries\n"
    yield from _base_table(Event)
    yield "\n## The speaker\n"
    yield from _base_table(Speaker)
    for module, events in _by_module().items():
        yield f"\n## {module.rpartition('.')[2].capitalize()}\n"
        yield f"{_prose(inspect.getdoc(sys.modules[module]))}"
        for event in events:
            yield from _section(event)
    yield ""


def _base_table(cls: type[Struct]) -> Iterator[str]:
    yield _prose(inspect.getdoc(cls))
    yield "\n| field | holds |\n|---|---|"
    for name, hint in get_type_hints(cls).items():
        if name not in cls.__struct_fields__:
            continue
        yield f"| `{name}` | {_BASE_WORDS.get(name) or type_words(hint)} |"


_BASE_WORDS = {"at": "epoch milliseconds, UTC", "origin": "path, byte_offset, line", "speaker": "see below"}


def _by_module() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, cls in sorted(EVENT_TYPES.items(), key=lambda item: (item[1].__module__, _position(item[1]))):
        found.setdefault(cls.__module__, []).append(name)
    return found


def _position(cls: type) -> int:
    return inspect.getsourcelines(cls)[1]


def _section(event: str) -> Iterator[str]:
    yield f"\n### {event}\n"
    yield _prose(inspect.getdoc(EVENT_TYPES[event]))
    fields, unsaid = described(event), defaults(event)
    if not fields:
        return
    yield "\n| field | holds | where the line does not say |\n|---|---|---|"
    for name, words in fields.items():
        yield f"| `{name}` | {words} | {_default(unsaid[name]) if name in unsaid else '*always*'} |"


def _default(value: object) -> str:
    if value == ():
        return "empty"
    return {None: "null", False: "false", True: "true"}.get(value, f"`{value}`")  # type: ignore[call-overload,no-any-return]  # any default may be looked up


def _prose(doc: str | None) -> str:
    return (doc or "").strip()


if __name__ == "__main__":
    sys.stdout.write(document())
