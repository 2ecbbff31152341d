"""Compiles a template to one anchored program whose groups become fields."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from typing import cast

import re2
import regex
from msgspec import Struct

from rebalance_forensics.catalog.field_types import FieldType, choices
from rebalance_forensics.catalog.fields import Constant, FieldValue
from rebalance_forensics.catalog.template import (
    Maybe,
    Part,
    Placeholder,
    TemplateError,
    literal_source,
    literals_of,
    placeholders_of,
    stretches_of,
    words_in,
)

# The only lookahead that a program may contain; RE2 has none (see Automaton).
BREAK_AHEAD = r"(?=\s*\n)"
_MARK = "\x0b"
# What `\s` means to `regex`; the mark is included, so that whitespace in a program skips it.
_BLANKS = r"\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_TOKEN = re.compile(r"(?P<ahead>\(\?=\\s\*\\n\))|\\(?P<escaped>.)|(?P<opens>\[\^?\]?)|(?P<closes>\])|.", re.DOTALL)
_BREAKS = regex.compile(r"(?<=\S)(?=[^\S\n]*+\n)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Automaton:
    """One anchored program run by RE2, with the same groups as the `regex` program."""

    # RE2 does not backtrack: its time grows linearly with the length of the text, whatever the text contains. It knows
    # neither Unicode whitespace nor lookaheads. The one lookahead that templates compile to, "whitespace and a line
    # break follow", becomes a mark that is inserted into the text wherever that holds; groups are taken from the text
    # without marks.
    def __init__(self, source: str) -> None:
        options = re2.Options()
        options.log_errors = False
        self._program = re2.compile(_translated(source), options)

    def fullmatch(self, text: str) -> tuple[str | None, ...] | None:
        """The groups, None for each that took no part in the match; None if the text does not match."""
        inserted = [found.start() for found in _BREAKS.finditer(text)]
        # A mark that the text already contains may become any other whitespace: groups are taken from the text itself.
        marked = _with_marks(text.replace(_MARK, "\f"), inserted)
        # JSON may escape a lone surrogate, which UTF-8 cannot encode.
        match = self._program.fullmatch(marked if marked.isascii() else _SURROGATE.sub("\ufffd", marked))
        if match is None:
            return None
        marks = [at + before for before, at in enumerate(inserted)]
        spans = (match.span(group) for group in range(1, self._program.groups + 1))
        return tuple(
            None if start < 0 else text[start - bisect_left(marks, start) : end - bisect_left(marks, end)]
            for start, end in spans
        )


def _with_marks(text: str, places: list[int]) -> str:
    if not places:
        return text
    pieces = (text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True))
    return _MARK.join(pieces)


def _translated(source: str) -> str:
    """Translate a program into RE2's dialect, token by token."""
    written: list[str] = []
    inside = False
    for token in _TOKEN.finditer(source):
        if token["ahead"]:
            written.append(_MARK)
        elif token["escaped"]:
            written.append(_escaped(token["escaped"], inside=inside))
        else:
            inside = (inside or bool(token["opens"])) and not token["closes"]
            written.append(token[0])
    return "".join(written)


def _escaped(char: str, *, inside: bool) -> str:
    if char == "s":
        return _BLANKS if inside else f"[{_BLANKS}]"
    if char == "S":
        return f"[^{_BLANKS}]"
    if char == " " and not inside:
        return f"{_MARK}? "
    return f"\\{char}" if char.isalnum() or char in r".^$*+?{}[]|()\-/" else char


Groups = Sequence[str | None]
Matching = Callable[[str], "regex.Match[str] | None"]
Types = Mapping[str, FieldType]
IGNORED = "_"
_TYPE_NAME = re.compile(r"[a-z_]+")
_SHORT = 512
# Backtracking is faster than RE2 while it cannot go far: in a short text with few ambiguous placeholders.
_FEW_CUTS = 3


class Program(Struct, dict=True, array_like=True):
    """One anchored program; `loose` is a second attempt in which ids may contain blanks, None if nothing changes.

    Every match starts with `lead` and contains `needle`, the longest literal text after that. `placeholders` are the
    names and types of the groups, in order; `constants` apply unless a placeholder sets the same field.
    """

    lead: str
    needle: str
    source: str
    loose: str | None
    placeholders: tuple[tuple[str, str], ...]
    constants: Mapping[str, Constant] = {}
    cuts: tuple[int, int] = (0, 0)
    """How many placeholders of `source` and of `loose` also match the text after them, so that a match backtracks."""
    words: tuple[str, ...] = ()
    """All literal text, stretch by stretch, optional parts included."""
    between: tuple[str, ...] = ()
    """The literal text before, between and after the placeholders; empty if any part is optional."""

    def read(self, text: str, types: Types, *, loosely: bool = False) -> dict[str, FieldValue] | None:
        """The fields that the text fills; None if it does not match."""
        groups = self.groups_of(text, loosely=loosely)
        return None if groups is None else self.filled(groups, types)

    def filled(self, groups: Groups, types: Types) -> dict[str, FieldValue] | None:
        """The fields that the groups fill; None if one of them cannot be read."""
        found = fields_in(self.placeholders, groups, types)
        return None if found is None else {**self.constants, **found}

    def groups_of(self, text: str, *, loosely: bool = False) -> Groups | None:
        """The text of each placeholder; None if the text does not match."""
        if loosely and self.loose is None:
            return None
        if len(text) > _SHORT or self.cuts[loosely] > _FEW_CUTS:
            return (self._loose_automaton if loosely else self._strict_automaton).fullmatch(text)
        match = (self._loose if loosely else self._strict)(text)
        return None if match is None else match.groups()

    @cached_property
    def _strict(self) -> Matching:
        return cast("Matching", regex.compile(self.source).fullmatch)

    @cached_property
    def _loose(self) -> Matching:
        return cast("Matching", regex.compile(self.loose or "").fullmatch)

    @cached_property
    def _strict_automaton(self) -> Automaton:
        return Automaton(self.source)

    @cached_property
    def _loose_automaton(self) -> Automaton:
        return Automaton(self.loose or "")


def fields_in(placeholders: Sequence[tuple[str, str]], groups: Groups, types: Types) -> dict[str, FieldValue] | None:
    """The fields that the texts of these placeholders (name, type) fill; None if one of them cannot be read."""
    own: dict[str, FieldValue] = {}
    inside: dict[str, FieldValue] = {}
    for (name, kind), text in zip(placeholders, groups, strict=True):
        if text is None:
            continue
        try:
            value = type_named(kind, types).read(text)
        except ValueError:
            return None
        if isinstance(value, dict):
            inside |= value
            value = value.get(name, text)
        if name != IGNORED:
            own[name] = value
    # A placeholder of its own takes precedence over a value inside another one.
    return inside | own


def compile_parts(parts: Sequence[Part], types: Types, constants: Mapping[str, Constant]) -> Program:
    """Compile a parsed template."""
    strict = _source(parts, types, loosely=False)
    loose = _source(parts, types, loosely=True)
    leads = bool(parts) and isinstance(parts[0], str)
    stretches = [stretch.rstrip() for literal in literals_of(parts) for stretch in stretches_of(literal)]
    return Program(
        lead=stretches[0] if leads else "",
        needle=max(stretches[1:] if leads else stretches, key=len, default="").strip(),
        source=strict,
        loose=loose if loose != strict else None,
        placeholders=tuple((placeholder.name, placeholder.type) for placeholder in placeholders_of(parts)),
        constants=constants,
        cuts=(_cuts(parts, types, loosely=False), _cuts(parts, types, loosely=True)),
        words=tuple(words_in(parts)),
        between=_between(parts),
    )


def _between(parts: Sequence[Part]) -> tuple[str, ...]:
    """The literal text around the placeholders; empty if any part is optional."""
    found = [""]
    for part in parts:
        if isinstance(part, str):
            found[-1] += part
        elif isinstance(part, Placeholder) and not part.optional:
            found.append("")
        else:
            return ()
    return tuple(found)


def _cuts(parts: Sequence[Part], types: Types, *, loosely: bool) -> int:
    """How many placeholders also match what follows them."""
    inner = sum(_cuts(part.parts, types, loosely=loosely) for part in parts if isinstance(part, Maybe))
    return inner + sum(
        isinstance(part, Placeholder) and _may_hold(part, following, types, loosely=loosely)
        for part, following in pairwise(parts)
    )


def _may_hold(placeholder: Placeholder, following: Part, types: Types, *, loosely: bool) -> bool:
    """True if a placeholder also matches the text that follows it; anything but literal text counts as a match."""
    kind = type_named(placeholder.type, types)
    source = kind.loose if loosely and kind.loose else kind.source
    return not isinstance(following, str) or _holds(source, following)


@cache
def _holds(source: str, words: str) -> bool:
    return any(
        regex.fullmatch(source, f"{brackets[0]}{words}{brackets[-1]}") for brackets in ("xx", "[]", "{}", "()", "00")
    )


def _source(parts: Sequence[Part], types: Types, *, loosely: bool) -> str:
    sources = [_part_source(part, types, loosely=loosely) for part in parts]
    for at, (part, following) in enumerate(pairwise(parts)):
        if isinstance(part, str) and part.endswith(" ") and _may_be_empty(following, types):
            sources[at] = _blanks_may_be_cut(part)
    return "".join(sources)


def _may_be_empty(part: Part, types: Types) -> bool:
    if isinstance(part, Placeholder):
        return part.optional or _holds_nothing(type_named(part.type, types).source)
    return isinstance(part, Maybe)


@cache
def _holds_nothing(source: str) -> bool:
    return regex.fullmatch(source, "") is not None


def _blanks_may_be_cut(literal: str) -> str:
    """The literal with optional blanks at its end: layouts and shippers trim them if nothing follows on the line."""
    words = literal.rstrip(" ")
    blanks = literal[len(words) :]
    return rf"{literal_source(words)}(?:{re.escape(blanks)}|{BREAK_AHEAD}|$)"


def _part_source(part: Part, types: Types, *, loosely: bool) -> str:
    if isinstance(part, str):
        return literal_source(part)
    if isinstance(part, Maybe):
        return f"(?:{_source(part.parts, types, loosely=loosely)})?"
    kind = type_named(part.type, types)
    source = kind.loose if loosely and kind.loose else kind.source
    return f"({source})?" if part.optional else f"({source})"


def type_named(name: str, types: Types) -> FieldType:
    """The type that a placeholder names; TemplateError if there is none."""
    if known := types.get(name):
        return known
    if "|" in name or not _TYPE_NAME.fullmatch(name):
        return choices(name)
    raise TemplateError(f"no field type is called {name!r}; there are {', '.join(sorted(types))}")
