"""The whole catalog compiled: programs with the words that find them, ready to be cached."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.catalog.errors import ErrorNames
from rebalance_forensics.catalog.field_types import ANY, TYPES, HoleType
from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.index import Index
from rebalance_forensics.catalog.literals import cover, offers, words_to_search
from rebalance_forensics.catalog.pattern import ErrorWording, Pattern, PatternError, PatternSet, Problem, Template
from rebalance_forensics.catalog.prefixes import OPENINGS
from rebalance_forensics.catalog.program import Program, Types, compile_parts
from rebalance_forensics.catalog.template import Hole, Part, TemplateError, literals_of, parse, weight_of

_CLASS = re.compile(r"\b([A-Z]\w*)\.(?:java|scala)\b")
_RELEASES = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-(\d+)\.(\d+)(?:\.\d+)?)?")
_AT_DEBUG = re.compile(r"\((?:DEBUG|TRACE)\)\Z")


_REMEMBERED = 4096
# Characters; what names no member is short and repeats.
_SHORT = 64
_MOST_LINES = 4
LEAST_OF_A_TEXT = 2
# So many letters of a text of Kafka's own tell that it is one, and which.
LEAST_TO_BE_SURE = 9

Release = tuple[int, int]
"""Major and minor number of a release of Kafka's."""
Releases = tuple[Release, Release]
"""The first and the last release that log a template."""


class Entry(Struct, array_like=True):
    """One template at work."""

    pattern: str
    event: str | None
    loggers: tuple[str, ...]
    prefixes: tuple[str, ...]
    weight: int
    dressed: bool
    """Its text spells the log prefix out, so messages are tried with theirs on."""
    search_words: str | None
    """What the prefilter looks for in the raw bytes; None where the line says nothing about groups."""
    program: Program
    sources: tuple[str, ...] = ()
    """The classes in whose source the template stands."""
    only_at_debug: bool = False
    in_doubt: str | None = None
    """The pattern that a line is read as where too little of it is left to tell the two apart."""
    releases: Releases | None = None


EntryOf = Callable[[Pattern, Template, Types], Entry]
"""What compiles one template of a pattern, or has it compiled already."""


class CompiledCatalog(Struct, frozen=True):
    """Entries, the fragments their holes refer to, and the error codes."""

    entries: tuple[Entry, ...]
    fragments: Mapping[str, tuple[Program, ...]]
    errors: Mapping[str, ErrorWording]
    meanings: Mapping[str, str]
    programs: Mapping[str, str] = {}
    """Pattern -> an expression for the programs that alone print it; it also fits no name where none is needed."""

    def types(self) -> Types:
        """Every hole type: those in Python, the error codes, the fragments."""
        table = type_names(self.fragments, self.errors)
        for name, programs in self.fragments.items():
            table[name] = HoleType(ANY, _reader(programs, table), composite=True)
        return table


def type_names(fragments: Iterable[str], errors: Mapping[str, ErrorWording]) -> dict[str, HoleType]:
    """The types a template may name, their fragments not yet readable."""
    table = dict(TYPES)
    table["error"] = HoleType(ANY, ErrorNames.of(errors).name)
    table |= {name: HoleType(ANY, str, composite=True) for name in fragments}
    return table


def _reader(programs: Sequence[Program], types: Types) -> Callable[[str], dict[str, FieldValue]]:
    index = Index((program, program) for program in programs)

    def known(text: str) -> tuple[Program, dict[str, FieldValue]] | None:
        likely = index.candidates(text)
        for loosely in (False, True):
            for program in likely:
                if (fields := program.read(text, types, loosely=loosely)) is not None:
                    return program, fields
        return None

    def looked_up(text: str) -> dict[str, FieldValue]:
        found = known(text)
        if found is None:
            raise ValueError(text)
        if "\n" in text and not found[0].words:
            # A terminal broke Kafka's words, or a person wrote below them.
            lines = [line.strip() for line in text.split("\n")][:_MOST_LINES]
            shorter = (known(" ".join(lines[:end])) for end in range(len(lines), 0, -1))
            found = next((each for each in shorter if each is not None and each[0].words), found)
        program, fields = found
        return fields if program.words else {**fields, **_begun(text, program, programs)}

    of_short = lru_cache(_REMEMBERED)(looked_up)
    return lambda text: of_short(text) if len(text) <= _SHORT else looked_up(text)


def _begun(text: str, anything: Program, programs: Sequence[Program]) -> dict[str, FieldValue]:
    """The fields of a text that only the catch-all program matches, although it begins one of Kafka's own."""
    # The person or collector that passed the line on left the rest off. Which of Kafka's texts it was is unknown
    # where several begin alike or too little is left.
    begun = [program.constants for program in programs if _begins(text, program)]
    if not begun:
        return {}
    common = set.intersection(*({*constants.items()} for constants in begun))
    sure = dict(common) if len(text) >= LEAST_TO_BE_SURE else {}
    return {**dict.fromkeys(anything.constants, "unknown"), **sure}


def _begins(text: str, program: Program) -> bool:
    """True if a text breaks off in the first words of a program, or in a value behind them."""
    if program.lead.startswith(text):
        return len(text) >= LEAST_OF_A_TEXT
    return bool(program.holes) and len(program.lead) >= LEAST_TO_BE_SURE and text.startswith(program.lead)


def compile_catalog(loaded: PatternSet, entry_of: EntryOf | None = None) -> CompiledCatalog:
    """Compile every template; PatternError says which one cannot be. `entry_of` may know some of them already."""
    entry_of = entry_of or compile_entry
    fragments = [pattern for pattern in loaded.patterns if pattern.fragment]
    types = type_names((str(pattern.fragment) for pattern in fragments), loaded.errors)
    return CompiledCatalog(
        entries=tuple(_entries(loaded, types, entry_of)),
        fragments={
            str(pattern.fragment): tuple(entry_of(pattern, template, types).program for template in pattern.templates)
            for pattern in fragments
        },
        errors=loaded.errors,
        meanings={pattern.id: pattern.meaning for pattern in loaded.patterns},
        programs={p.id: _programs_of(p) for p in loaded.patterns if p.programs},
    )


def _programs_of(pattern: Pattern) -> str:
    # Most tools print the words of a kernel or a JVM without its name.
    return "|".join([*map(fnmatch.translate, pattern.programs), *([] if pattern.beside else [r"\Z"])])


def _entries(loaded: PatternSet, types: Types, entry_of: EntryOf) -> Iterator[Entry]:
    """Every template at work; what is looked for to find one also finds as many others as possible."""
    templates = [(p, template) for p in loaded.patterns if not p.fragment for template in p.templates]
    entries = [entry_of(pattern, template, types) for pattern, template in templates]
    offered = [
        offers(literals_of(parse(template.text))) if entry.search_words and not pattern.beside else frozenset[str]()
        for entry, (pattern, template) in zip(entries, templates, strict=True)
    ]
    for entry, word in zip(entries, cover(offered), strict=True):
        yield replace(entry, search_words=word or entry.search_words)


def compile_entry(pattern: Pattern, template: Template, types: Types) -> Entry:
    """Compile one template of a pattern."""
    parts, program = _program(pattern, template, types)
    return Entry(
        pattern=pattern.id,
        event=pattern.event,
        loggers=pattern.loggers,
        prefixes=pattern.prefixes,
        weight=weight_of(parts),
        dressed=_opening_of(parts).startswith(OPENINGS),
        search_words=(pattern.beside or words_to_search(literals_of(parts))) if pattern.event else None,
        program=program,
        sources=tuple(_CLASS.findall(template.logged_by or "")),
        only_at_debug=bool(_AT_DEBUG.search(template.logged_by or "")),
        in_doubt=pattern.in_doubt,
        releases=_releases_of(template),
    )


def _releases_of(template: Template) -> Releases | None:
    """As the file says them, if it says Kafka's own and one span of them."""
    releases = _RELEASES.fullmatch(template.releases or "")
    if releases is None or not _CLASS.search(template.logged_by or ""):
        return None
    first = int(releases[1]), int(releases[2])
    return first, (int(releases[3]), int(releases[4])) if releases[3] else first


def _opening_of(parts: Sequence[Part]) -> str:
    """How the template begins, be it with words or with a choice of words."""
    first = parts[0] if parts else ""
    if isinstance(first, Hole) and "|" in first.type:
        return first.type
    return first if isinstance(first, str) else ""


def _program(pattern: Pattern, template: Template, types: Types) -> tuple[tuple[Part, ...], Program]:
    try:
        parts = parse(template.text)
        return parts, compile_parts(parts, types, template.constants)
    except TemplateError as error:
        raise PatternError(Problem(pattern.path, template.line, f"{error}.")) from error
