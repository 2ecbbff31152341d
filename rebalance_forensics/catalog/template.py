"""Parses the text of a template: Kafka's own wording with placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct


class TemplateError(ValueError):
    """A template that cannot be parsed or compiled; the message says why, in one sentence."""


class Placeholder(Struct, frozen=True):
    """A value that Kafka prints: `{name:type}`, or `{name:type?}` if it may be missing."""

    name: str
    type: str
    optional: bool = False


class Maybe(Struct, frozen=True):
    """`[[…]]`: text that some releases print and others omit."""

    parts: tuple[Part, ...]


Part = str | Placeholder | Maybe

# The type of a broker as Java prints it, with host, port, id and rack.
_ADDRESS = "node"

_TOKEN = re.compile(
    r"(?P<open>\[\[)|(?P<close>\]\])|(?P<brace>\{\{|\}\})|\{'(?P<quoted>[^']*)'\}"
    r"|\{(?P<name>\w+)(?::(?P<type>[^{}?]+)(?P<optional>\?)?)?\}|(?P<stray>[{}])"
)


@lru_cache(maxsize=8192)
def parse(text: str) -> tuple[Part, ...]:
    """Split the text of a template into literals, placeholders and optional parts."""
    stack: list[list[Part]] = [[]]
    at = 0
    for token in _TOKEN.finditer(text):
        _literal(stack[-1], text[at : token.start()])
        at = token.end()
        if token["stray"]:
            raise TemplateError(f"a lone {token['stray']} at column {token.start() + 1}; write it twice for a brace")
        if token["open"]:
            stack.append([])
        elif token["close"] and len(stack) > 1:
            part = Maybe(tuple(stack.pop()))
            stack[-1].append(part)
        elif token["name"]:
            stack[-1].append(Placeholder(token["name"], token["type"] or "text", bool(token["optional"])))
        else:
            _literal(stack[-1], token["brace"][0] if token["brace"] else token["quoted"] or token["close"] or "")
    if len(stack) > 1:
        raise TemplateError("an optional part opens with [[ and never closes; write {'[['} for the two brackets")
    _literal(stack[0], text[at:])
    return _trimmed(_without_addresses(stack[0]))


def _literal(parts: list[Part], text: str) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def _without_addresses(parts: Sequence[Part]) -> list[Part]:
    """The parts with every broker address optional: addresses are the first thing that people remove from a log."""
    done: list[Part] = []
    for part in parts:
        before = done[-1] if done else None
        if isinstance(part, Placeholder) and part.type == _ADDRESS and isinstance(before, str) and before.endswith(" "):
            done[-1] = before[:-1]
            done.append(Maybe((" ", part)))
        else:
            done.append(part)
    return done


def _trimmed(parts: list[Part]) -> tuple[Part, ...]:
    """The parts without trailing blanks, which layouts and shippers trim."""
    if parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()
    return tuple(part for part in parts if part != "")


def placeholders_of(parts: Sequence[Part]) -> Iterator[Placeholder]:
    """Every placeholder in order, those of optional parts included."""
    for part in parts:
        if isinstance(part, Placeholder):
            yield part
        elif isinstance(part, Maybe):
            yield from placeholders_of(part.parts)


def literals_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """The literal text that every message of this template contains, in order."""
    return tuple(part for part in parts if isinstance(part, str))


def words_in(parts: Sequence[Part]) -> Iterator[str]:
    """All literal text that a message of this template may contain, in order, optional parts included."""
    for part in parts:
        if isinstance(part, str):
            yield from filter(None, stretches_of(part))
        elif isinstance(part, Maybe):
            yield from words_in(part.parts)


def weight_of(parts: Sequence[Part]) -> int:
    """The length of a template's literal text."""
    return sum(len(part) if isinstance(part, str) else weight_of(_inner(part)) for part in parts)


def _inner(part: Part) -> Sequence[Part]:
    return part.parts if isinstance(part, Maybe) else ()


_BLANKS = re.compile(r"(?<! ) *+[\t\n]\s*")


def stretches_of(literal: str) -> tuple[str, ...]:
    """The pieces of a literal between line breaks and tabs."""
    return tuple(_BLANKS.split(literal))


@lru_cache(maxsize=8192)
def literal_source(literal: str) -> str:
    """The program for literal text; line breaks and tabs also match the blanks that they become in a flattened log."""
    return r"\s+".join(re.escape(stretch) for stretch in stretches_of(literal))
