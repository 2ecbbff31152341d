"""docs/events.md: every event with its fields, what each may hold, and what it is where a line does not show it."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterator
from typing import Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from rebalance_forensics.catalog.fields import declared, defaults
from rebalance_forensics.events import EVENT_TYPES, base
from rebalance_forensics.events.base import Event, Speaker

_INTRODUCTION = """\
# Events

Everything a Kafka process can say about a group, typed. A pattern turns a log line into one of these; all later stages
read nothing else. `rebalance-forensics events PATH…` prints them as lines of JSON. This page is made from the code
by `make fmt`.

A field marked *always* stands in every event of its kind; any other has the default shown where the line does not say.
"""


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
        yield f"| `{name}` | {_BASE_WORDS.get(name) or _type_words(hint)} |"


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
    fields, unsaid = _described(event), defaults(event)
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


def _described(event: str) -> dict[str, str]:
    """The event's own fields and what each may hold, in words."""
    return {name: _type_words(hint) for name, hint in declared(event).items()}


def _type_words(hint: object) -> str:
    """An annotation as a reader of JSON would put it."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _type_words(next(argument for argument in arguments if argument is not type(None)))
    if origin is Literal:
        return ", ".join(f"`{argument}`" for argument in arguments)
    if hint == base.Assignment:
        return "mapping of names to lists of text"
    if hint == base.Pairs:
        return "mapping of text to text"
    if origin is tuple:
        return f"list of {_PLURALS.get(_type_words(arguments[0]), _type_words(arguments[0]))}"
    return {str: "text", int: "integer", float: "number", bool: "true or false"}.get(hint, str(hint))  # type: ignore[call-overload,no-any-return]  # any annotation may be looked up


_PLURALS = {"text": "texts", "integer": "integers", "number": "numbers"}
