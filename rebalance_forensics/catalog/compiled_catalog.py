"""The compiled catalog: programs with the words that find them, ready to be cached."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.catalog.errors import ErrorNames
from rebalance_forensics.catalog.field_types import ANY, TYPES, FieldType
from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.index import Index
from rebalance_forensics.catalog.literals import cover, offers, words_to_search
from rebalance_forensics.catalog.pattern import ErrorWording, Pattern, PatternError, PatternSet, Problem, Template
from rebalance_forensics.catalog.prefixes import OPENINGS
from rebalance_forensics.catalog.program import Program, Types, compile_parts
from rebalance_forensics.catalog.template import Part, Placeholder, TemplateError, literals_of, parse, weight_of

_CLASS = re.compile(r"\b([A-Z]\w*)\.(?:java|scala)\b")
_RELEASES = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-(\d+)\.(\d+)(?:\.\d+)?)?")
_AT_DEBUG = re.compile(r"\((?:DEBUG|TRACE)\)\Z")


_REMEMBERED = 4096
# Characters; texts that name no member are short and repeat, so only those are cached.
_SHORT = 64
_MOST_LINES = 4
MIN_START = 2
# This many characters identify a text of Kafka's.
UNAMBIGUOUS_START = 9
_SEPARATORS = (",", ";", "|", '"', "\t")

Release = tuple[int, int]
"""Major and minor version of a Kafka release."""
Releases = tuple[Release, Release]
"""The first and the last release that log a template."""


class Entry(Struct, array_like=True):
    """One compiled template."""

    pattern: str
    event: str | None
    loggers: tuple[str, ...]
    prefixes: tuple[str, ...]
    weight: int
    spells_prefix: bool
    """Its text spells out the log prefix, so messages are matched with theirs."""
    search_words: str | None
    """What the prefilter searches for in the raw bytes; None if the line says nothing about groups."""
    program: Program
    sources: tuple[str, ...] = ()
    """The classes whose source contains the template."""
    debug_only: bool = False
    in_doubt: str | None = None
    """The pattern that a truncated line is read as if too little is left to distinguish the two."""
    releases: Releases | None = None


EntryOf = Callable[[Pattern, Template, Types], Entry]
"""Compiles one template of a pattern, or returns it from a cache."""


class CompiledCatalog(Struct, frozen=True):
    """Entries, the fragments their placeholders refer to, and the error codes."""

    entries: tuple[Entry, ...]
    fragments: Mapping[str, tuple[Program, ...]]
    errors: Mapping[str, ErrorWording]
    meanings: Mapping[str, str]
    programs: Mapping[str, str] = {}
    """Pattern -> a regex of the only programs that log it; it also matches an empty name unless one is required."""

    def types(self) -> Types:
        """Every field type: those defined in Python, the error codes, the fragments."""
        table = type_names(self.fragments, self.errors)
        for name, programs in self.fragments.items():
            table[name] = FieldType(ANY, _reader(programs, table), composite=True)
        return table


def type_names(fragments: Iterable[str], errors: Mapping[str, ErrorWording]) -> dict[str, FieldType]:
    """The types that a template may name; fragments cannot be read yet."""
    table = dict(TYPES)
    table["error"] = FieldType(ANY, ErrorNames.of(errors).name)
    table |= {name: FieldType(ANY, str, composite=True) for name in fragments}
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
            # A terminal wrapped the line, or a person added text below it.
            lines = [line.strip() for line in text.split("\n")][:_MOST_LINES]
            shorter = (known(" ".join(lines[:end])) for end in range(len(lines), 0, -1))
            found = next((each for each in shorter if each is not None and each[0].words), found)
        program, fields = found
        return fields if program.words else {**fields, **_begun(text, program, programs)}

    of_short = lru_cache(_REMEMBERED)(looked_up)
    return lambda text: of_short(text) if len(text) <= _SHORT else looked_up(text)


def _begun(text: str, anything: Program, programs: Sequence[Program]) -> dict[str, FieldValue]:
    """The fields of a text that only the catch-all matches because Kafka's text breaks off or other text follows it."""
    # Which of Kafka's texts it was is unknown if several start alike or too little is left.
    begun = [program.constants for program in programs if _begins(text, program)]
    if not begun:
        return {}
    common = set.intersection(*({*constants.items()} for constants in begun))
    sure = dict(common) if len(text) >= UNAMBIGUOUS_START else {}
    return {**dict.fromkeys(anything.constants, "unknown"), **sure}


def _begins(text: str, program: Program) -> bool:
    """True if a text breaks off within the first literal text of a program, or a value or another column follows it."""
    if program.lead.startswith(text):
        return not text or len(text) >= MIN_START
    if len(program.lead) < UNAMBIGUOUS_START or not text.startswith(program.lead):
        return False
    # Words that go on after all of Kafka's text are somebody else's sentence; a separator begins the next column.
    return bool(program.placeholders) or text[len(program.lead) :].lstrip(" ")[:1] in _SEPARATORS


def compile_catalog(loaded: PatternSet, entry_of: EntryOf | None = None) -> CompiledCatalog:
    """Compile every template; PatternError names one that cannot be compiled. `entry_of` may cache some of them."""
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
    # Most tools print messages of a kernel or a JVM without its name.
    return "|".join([*map(fnmatch.translate, pattern.programs), *([] if pattern.beside else [r"\Z"])])


def _entries(loaded: PatternSet, types: Types, entry_of: EntryOf) -> Iterator[Entry]:
    """Every compiled template, with search words shared by as many templates as possible."""
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
        spells_prefix=_opening_of(parts).startswith(OPENINGS),
        search_words=(pattern.beside or words_to_search(literals_of(parts))) if pattern.event else None,
        program=program,
        sources=tuple(_CLASS.findall(template.logged_by or "")),
        debug_only=bool(_AT_DEBUG.search(template.logged_by or "")),
        in_doubt=pattern.in_doubt,
        releases=_releases_of(template),
    )


def _releases_of(template: Template) -> Releases | None:
    """The releases of a template, if the file names a Kafka class and a single span of releases."""
    releases = _RELEASES.fullmatch(template.releases or "")
    if releases is None or not _CLASS.search(template.logged_by or ""):
        return None
    first = int(releases[1]), int(releases[2])
    return first, (int(releases[3]), int(releases[4])) if releases[3] else first


def _opening_of(parts: Sequence[Part]) -> str:
    """The start of a template: literal text or a choice of words."""
    first = parts[0] if parts else ""
    if isinstance(first, Placeholder) and "|" in first.type:
        return first.type
    return first if isinstance(first, str) else ""


def _program(pattern: Pattern, template: Template, types: Types) -> tuple[tuple[Part, ...], Program]:
    try:
        parts = parse(template.text)
        return parts, compile_parts(parts, types, template.constants)
    except TemplateError as error:
        raise PatternError(Problem(pattern.path, template.line, f"{error}.")) from error
