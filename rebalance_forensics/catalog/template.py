"""Kafka's own wording with holes in it: the text of a template, taken apart and compiled to one anchored program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct


class TemplateError(ValueError):
    """What is wrong with a template's text, in one sentence."""


class Hole(Struct, frozen=True):
    """A place where Kafka prints a value: `{name:type}`, `{name:type?}` where it may be missing."""

    name: str
    type: str
    optional: bool = False


class Maybe(Struct, frozen=True):
    """`[[…]]`: words that some releases print and others leave out."""

    parts: tuple[Part, ...]


Part = str | Hole | Maybe

# The type of a broker as Java prints it: host, port, id and rack.
_ADDRESS = "node"

_TOKEN = re.compile(
    r"(?P<open>\[\[)|(?P<close>\]\])|(?P<brace>\{\{|\}\})|\{'(?P<quoted>[^']*)'\}"
    r"|\{(?P<name>\w+)(?::(?P<type>[^{}?]+)(?P<optional>\?)?)?\}|(?P<stray>[{}])"
)


@lru_cache(maxsize=8192)
def parse(text: str) -> tuple[Part, ...]:
    """Take a template's text apart into literals, holes and optional parts."""
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
            stack[-1].append(Hole(token["name"], token["type"] or "text", bool(token["optional"])))
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
    """The parts with every broker address optional: people remove addresses first before they publish a log."""
    done: list[Part] = []
    for part in parts:
        before = done[-1] if done else None
        if isinstance(part, Hole) and part.type == _ADDRESS and isinstance(before, str) and before.endswith(" "):
            done[-1] = before[:-1]
            done.append(Maybe((" ", part)))
        else:
            done.append(part)
    return done


def _trimmed(parts: list[Part]) -> tuple[Part, ...]:
    """Trailing blanks never decide: layouts and shippers cut them."""
    if parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()
    return tuple(part for part in parts if part != "")


def holes_of(parts: Sequence[Part]) -> Iterator[Hole]:
    """Every hole in reading order, those of optional parts included."""
    for part in parts:
        if isinstance(part, Hole):
            yield part
        elif isinstance(part, Maybe):
            yield from holes_of(part.parts)


def literals_of(parts: Sequence[Part]) -> tuple[str, ...]:
    """The words every message of this template contains, in order."""
    return tuple(part for part in parts if isinstance(part, str))


def words_in(parts: Sequence[Part]) -> Iterator[str]:
    """Everything a message of this template may say itself, in order, those of optional parts included."""
    for part in parts:
        if isinstance(part, str):
            yield from filter(None, stretches_of(part))
        elif isinstance(part, Maybe):
            yield from words_in(part.parts)


def weight_of(parts: Sequence[Part]) -> int:
    """How much a template says itself: the length of all its words."""
    return sum(len(part) if isinstance(part, str) else weight_of(_inner(part)) for part in parts)


def _inner(part: Part) -> Sequence[Part]:
    return part.parts if isinstance(part, Maybe) else ()


_BLANKS = re.compile(r"(?<! ) *+[\t\n]\s*")


def stretches_of(literal: str) -> tuple[str, ...]:
    """The pieces of a literal that no line break or tab cuts."""
    return tuple(_BLANKS.split(literal))


@lru_cache(maxsize=8192)
def literal_source(literal: str) -> str:
    """The program for literal words; line breaks and tabs also match the blanks they become in a flattened log."""
    return r"\s+".join(re.escape(stretch) for stretch in stretches_of(literal))
