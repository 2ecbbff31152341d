"""Facts by clients as a document: docs/clients.md shows which pattern reads each fact in each client's words.

Cells follow from the samples of patterns/; what no pattern can show stands in events/dialects.yaml.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from rebalance_forensics.catalog.compiled_catalog import Entry, compile_catalog
from rebalance_forensics.catalog.fields import FieldValue, defaults
from rebalance_forensics.catalog.loader import load_all, pattern_files, shipped_patterns
from rebalance_forensics.catalog.matcher import Catalog, clean
from rebalance_forensics.catalog.pattern import Pattern, Sample, Template
from rebalance_forensics.catalog.prefixes import peel
from rebalance_forensics.events.dialects import Dialect, Fact, Silence, Words, dialects


class Wording(Struct, frozen=True, kw_only=True):
    """A template that states a fact in a client's words, with the sample that shows it."""

    pattern: str
    event: str
    sample: Sample
    releases: str | None
    first: tuple[int, int] | None
    """The first release that logs it, at INFO if any does, where the template names one of Kafka's."""
    last: tuple[int, int] | None
    """The last release that logs it, likewise."""
    debug_only: bool


class Cell(Struct, frozen=True, kw_only=True):
    """What one client writes of one fact. A release may divide it: silent before, logged since."""

    wordings: tuple[Wording, ...]
    silences: tuple[Silence, ...]


Matrix = Mapping[tuple[str, str], Cell]
"""Cells by the names of fact and client."""


class Line(Struct, frozen=True, kw_only=True):
    """One sample as one template reads it."""

    pattern: Pattern
    template: Template
    entry: Entry
    sample: Sample
    fields: Mapping[str, FieldValue]


@cache
def matrix() -> Matrix:
    """Every cell."""
    return {names: cell for columns, facts in tables() for names, cell in _cells(columns, facts)}


def tables() -> tuple[tuple[tuple[Dialect, ...], tuple[Fact, ...]], ...]:
    """Columns and rows of the matrix: clients, brokers, frameworks, each with the facts that they can log."""
    known = dialects()
    return (
        (known.clients, known.facts),
        (known.brokers, known.facts_of_brokers),
        (known.frameworks, known.facts_of_frameworks),
    )


def _cells(columns: Iterable[Dialect], facts: Iterable[Fact]) -> Iterator[tuple[tuple[str, str], Cell]]:
    for column in columns:
        own = [(line, sources) for line in lines() if (sources := sources_of(column, line))]
        for fact in facts:
            wordings: dict[str, list[Wording]] = defaultdict(list)
            for line, sources in own:
                if states(fact, line):
                    wordings[line.pattern.id].append(_wording_of(line, min(_at_info(column, s) for s in sources)))
            silences = tuple(s for s in dialects().not_logged if column.name in s.clients and fact.name in s.facts)
            # One template at INFO is enough for a pattern to show the fact there.
            first = (min(each, key=lambda wording: wording.debug_only) for each in wordings.values())
            yield (fact.name, column.name), Cell(wordings=tuple(first), silences=silences)


_NEVER = (99, 0)


def _at_info(column: Dialect, source: str) -> tuple[int, int]:
    """The first release in which a file logs a line at INFO, as the words behind its name have it; 99 for none."""
    level = _LEVEL.search(source)
    if level is None or level["since"]:
        return (0, 0)
    ends = _release(level["before"]) if level["before"] else _NEVER
    return _NEVER if column.until and _release(column.until) < ends else ends


def _wording_of(line: Line, at_info: tuple[int, int]) -> Wording:
    since = line.entry.releases[0] if line.entry.releases else None
    return Wording(
        pattern=line.pattern.id,
        event=str(line.pattern.event),
        sample=line.sample,
        releases=line.template.releases,
        first=since if since is None or at_info == _NEVER else max(since, at_info),
        last=line.entry.releases[1] if line.entry.releases else None,
        debug_only=at_info == _NEVER,
    )


@cache
def lines() -> tuple[Line, ...]:
    """The samples of every pattern that yields an event, each with the templates that read it."""
    loaded = load_all(pattern_files([shipped_patterns()]))
    catalog = Catalog(compile_catalog(loaded))
    entries: dict[str, list[Entry]] = defaultdict(list)
    for entry in catalog.compiled.entries:
        entries[entry.pattern].append(entry)
    return tuple(
        line
        for pattern in loaded.patterns
        if pattern.event
        for line in _lines_of(catalog, pattern, entries[pattern.id])
    )


def _lines_of(catalog: Catalog, pattern: Pattern, entries: Iterable[Entry]) -> Iterator[Line]:
    for sample in pattern.samples:
        stages = peel(clean(sample.message)).stages
        fields = {**defaults(str(pattern.event)), **(sample.fields or {})}
        for entry, template in zip(entries, pattern.templates, strict=True):
            if any(catalog.read(entry, stage) is not None for stage in stages):
                yield Line(pattern=pattern, template=template, entry=entry, sample=sample, fields=fields)  # type: ignore[arg-type]  # YAML's values


def sources_of(client: Dialect, line: Line) -> list[str]:
    """The client's files that log the template in a release of that era, each with its level where that is DEBUG."""
    if client.since and client.until and line.entry.releases:
        first, last = line.entry.releases
        if first > _release(client.until) or last < _release(client.since):
            return []
    return [source for source in logged_by(line) if any(_holds(words, line, source) for words in client.words)]


def logged_by(line: Line) -> list[str]:
    """The files that log a template, or the classes where it names none."""
    return (line.template.logged_by or ", ".join(line.pattern.loggers)).split(", ")


_LEVEL = re.compile(r" \(DEBUG(?: before (?P<before>[\d.]+)|(?P<since> [^)]*since )[^)]*)?\)$")
"""Behind a file: ` (DEBUG)`, or the releases for which it is that, as in ` (DEBUG before 3.0)`."""


def _holds(words: Words, line: Line, source: str) -> bool:
    if line.pattern.id.partition("/")[0] != words.folder.replace("_", "-"):
        return False
    file = _LEVEL.sub("", source)
    if not re.fullmatch(words.sources or ".*", file) or (words.but and re.fullmatch(words.but, file)):
        return False
    return not words.messages or bool(re.search(words.messages, line.sample.message))


def _release(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def states(fact: Fact, line: Line) -> bool:
    """The sample's event and fields say the fact."""
    return states_in(fact, str(line.pattern.event), line.fields)


def states_in(fact: Fact, event: str, fields: Mapping[str, object]) -> bool:
    """An event of this type with these fields says the fact."""
    return any(
        event == own and all(_holds_value(fields.get(name), wanted[name]) for name in wanted)
        for way in fact.shown_by
        for own, wanted in way.items()
    )


def _holds_value(value: object, wanted: object) -> bool:
    if isinstance(wanted, list):
        return any(_holds_value(value, option) for option in wanted)
    if wanted == "*":
        return value is not None
    if isinstance(wanted, str) and wanted.startswith("~"):
        return isinstance(value, str) and wanted[1:].casefold() in value.casefold()
    return value == wanted


_INTRODUCTION = """\
# Facts in each client's words

What clients, group coordinators and frameworks log of a group: a column for each of them, or for an era of its
wording, a row for a fact that causes and signs rest on. A cell names the pattern that reads the fact in those words
(*DEBUG* where only DEBUG shows it), or says that it is not logged there; the proofs stand below, by column. This page
is made from `patterns/` and `rebalance_forensics/events/dialects.yaml` by `make fmt`.
"""
_OF_KAFKA = 7
"""How many of the clients are Kafka's own; more columns would not fit a page."""


def document() -> str:
    """The whole of docs/clients.md."""
    return "\n".join(_page())


def _page() -> Iterator[str]:
    known, cells = dialects(), matrix()
    yield _INTRODUCTION
    for kind, (columns, facts) in zip(("clients", "group coordinators"), tables(), strict=False):
        own = [cells[fact.name, column.name] for fact in facts for column in columns]
        read = sum(bool(cell.wordings) for cell in own)
        yield (
            f"{len(facts)} facts by {len(columns)} {kind}: {read} cells read by patterns,"
            f" {len(own) - read} not logged.\n"
        )
    yield "## Kafka's own clients\n"
    yield from _table(known.clients[:_OF_KAFKA], known.facts, cells)
    yield "## Other clients\n"
    yield from _table(known.clients[_OF_KAFKA:], known.facts, cells)
    yield "## Group coordinators\n"
    yield from _table(known.brokers, known.facts_of_brokers, cells)
    yield "## Frameworks and programs\n"
    yield "What they log themselves. An empty cell is left to the client in them, whose lines they pass on.\n"
    yield "| framework | client in it | " + " | ".join(fact.name for fact in known.facts_of_frameworks) + " |"
    yield "|---" * (len(known.facts_of_frameworks) + 2) + "|"
    for framework in known.frameworks:
        own_words = [_words(cells[fact.name, framework.name]) for fact in known.facts_of_frameworks]
        yield f"| {framework.name} | {framework.embeds} | " + " | ".join(own_words) + " |"
    yield ""
    yield "## What is not logged, and where that shows\n"
    for column in (*known.clients, *known.brokers):
        yield f"### {column.name}\n"
        yield f"Read in {column.source}.\n"
        for silence in known.not_logged:
            if column.name in silence.clients:
                level = _LEVELS.get(silence.level, silence.level)
                until = (
                    f" before {silence.before}" if silence.before else f" since {silence.since}" * bool(silence.since)
                )
                yield f"- **{', '.join(silence.facts)}** ({level}{until}): {silence.proof}."
        yield ""
    yield "### Frameworks and programs\n"
    for framework in known.frameworks:
        yield f"- **{framework.name}** ({framework.source}): {framework.silent}."
    yield ""


def _table(columns: Sequence[Dialect], facts: Sequence[Fact], cells: Matrix) -> Iterator[str]:
    """One table, a row for each fact."""
    yield "| fact | " + " | ".join(column.name for column in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for fact in facts:
        yield f"| {fact.name} | " + " | ".join(_words(cells[fact.name, column.name]) for column in columns) + " |"
    yield ""


_LEVELS = {"any": "at no level", "INFO": "not at INFO", "DEBUG": "not at DEBUG", "no such step": "no such step"}


def _words(cell: Cell) -> str:
    """A cell of the table: the patterns, at most three, or what kind of silence it is."""
    shown = [f"`{w.pattern}`" + (" *DEBUG*" if w.debug_only else "") for w in cell.wordings[:3]]
    if len(cell.wordings) > len(shown):
        shown.append(f"{len(cell.wordings) - len(shown)} more")
    if not shown:
        return "; ".join(dict.fromkeys(f"*{_LEVELS.get(silence.level, silence.level)}*" for silence in cell.silences))
    ends = [f"; *not before {s.before}*" for s in cell.silences if s.before]
    begins = [f"; *not since {s.since}*" for s in cell.silences if s.since]
    return ", ".join(shown) + "".join([*ends, *begins])
