"""Facts by clients as a document: docs/clients.md shows which pattern reads each fact in each client's words.

`python -m docs.site.clients_page > docs/clients.md` writes it. Cells follow from the samples of patterns/;
what no pattern can show stands in events/dialects.yaml.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct

from rebalance_forensics.catalog.compiled_catalog import Entry, compile_catalog
from rebalance_forensics.catalog.fields import FieldValue, defaults
from rebalance_forensics.catalog.loader import load_all, pattern_files, shipped_patterns
from rebalance_forensics.catalog.matcher import Catalog, clean
from rebalance_forensics.catalog.pattern import Pattern, Sample, Template
from rebalance_forensics.catalog.prefixes import peel
from rebalance_forensics.events.dialects import Dialect, Dialects, Fact, Silence, Words, dialects


class Wording(Struct, frozen=True, kw_only=True):
    """A template that states a fact in a client's words, with the sample that shows it."""

    pattern: str
    event: str
    sample: Sample
    releases: str | None
    first: tuple[int, int] | None
    """The first release that logs it, where the template names one of Kafka's."""
    only_at_debug: bool


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
    known = dialects()
    wordings: dict[tuple[str, str], dict[str, Wording]] = defaultdict(dict)
    for line in lines():
        for client in known.clients:
            if not (sources := sources_of(client, line)):
                continue
            for fact in known.facts:
                if states(fact, line):
                    at_debug = all(source.endswith(_AT_DEBUG) for source in sources)
                    wordings[fact.name, client.name].setdefault(line.pattern.id, _wording_of(line, at_debug=at_debug))
    return {
        (fact.name, client.name): Cell(
            wordings=tuple(wordings[fact.name, client.name].values()), silences=tuple(_silences(known, fact, client))
        )
        for fact in known.facts
        for client in known.clients
    }


def _silences(known: Dialects, fact: Fact, client: Dialect) -> Iterator[Silence]:
    for silence in known.not_logged:
        if client.name in silence.clients and fact.name in silence.facts:
            yield silence


def _wording_of(line: Line, *, at_debug: bool) -> Wording:
    return Wording(
        pattern=line.pattern.id,
        event=str(line.pattern.event),
        sample=line.sample,
        releases=line.template.releases,
        first=line.entry.releases[0] if line.entry.releases else None,
        only_at_debug=at_debug,
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
    return [source for source in logged_by(line) if any(_holds(words, line.pattern, source) for words in client.words)]


def logged_by(line: Line) -> list[str]:
    """The files that log a template, or the classes where it names none."""
    return (line.template.logged_by or ", ".join(line.pattern.loggers)).split(", ")


_AT_DEBUG = " (DEBUG)"


def _holds(words: Words, pattern: Pattern, source: str) -> bool:
    if pattern.id.partition("/")[0] != words.folder.replace("_", "-"):
        return False
    file = source.removesuffix(_AT_DEBUG)
    return bool(re.fullmatch(words.sources or ".*", file)) and not (words.but and re.fullmatch(words.but, file))


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

What each client logs of what happens to it: a column for a client or an era of its wording, a row for a fact that
causes and signs rest on. A cell names the pattern that reads the fact in that client's words (*DEBUG* where only DEBUG
shows it), or says that the client does not log it; the proofs stand below, by client. Frameworks around a client pass
its lines on. This page is made from `patterns/` and `rebalance_forensics/events/dialects.yaml`
(`python -m docs.site.clients_page > docs/clients.md`); a test compares them.
"""
_TABLES = (7, 9)
"""Columns of each table: Kafka's own clients, then the others; more would not fit a page."""


def document() -> str:
    """The whole of docs/clients.md."""
    return "\n".join(_page())


def _page() -> Iterator[str]:
    known, cells = dialects(), matrix()
    read = sum(bool(cell.wordings) for cell in cells.values())
    yield _INTRODUCTION
    yield (
        f"{len(known.facts)} facts by {len(known.clients)} clients: {read} cells read by patterns,"
        f" {len(cells) - read} not logged.\n"
    )
    first = _TABLES[0]
    for title, clients in (("Kafka's own clients", known.clients[:first]), ("Other clients", known.clients[first:])):
        yield f"## {title}\n"
        yield "| fact | " + " | ".join(client.name for client in clients) + " |"
        yield "|---" * (len(clients) + 1) + "|"
        for fact in known.facts:
            yield f"| {fact.name} | " + " | ".join(_words(cells[fact.name, client.name]) for client in clients) + " |"
        yield ""
    yield "## Frameworks and programs\n"
    yield "What they say themselves; they pass the lines of their client on.\n"
    yield "| framework | says | source |\n|---|---|---|"
    for framework in known.frameworks:
        own = sorted({(line.pattern.id, str(line.pattern.event)) for line in lines() if sources_of(framework, line)})
        words = ", ".join(f"`{pattern}` ({event})" for pattern, event in own)
        yield f"| {framework.name} | {words} | {framework.source} |"
    yield ""
    yield "## What is not logged, and where that shows\n"
    for client in known.clients:
        yield f"### {client.name}\n"
        yield f"Read in {client.source}.\n"
        for silence in known.not_logged:
            if client.name in silence.clients:
                level = _LEVELS.get(silence.level, silence.level)
                until = f" before {silence.before}" if silence.before else ""
                yield f"- **{', '.join(silence.facts)}** ({level}{until}): {silence.proof}."
        yield ""


_LEVELS = {"any": "at no level", "INFO": "at DEBUG only", "no such step": "no such step"}


def _words(cell: Cell) -> str:
    """A cell of the table: the patterns, at most three, or what kind of silence it is."""
    shown = [f"`{w.pattern}`" + (" *DEBUG*" if w.only_at_debug else "") for w in cell.wordings[:3]]
    if len(cell.wordings) > len(shown):
        shown.append(f"{len(cell.wordings) - len(shown)} more")
    if not shown:
        return "; ".join(dict.fromkeys(f"*{_LEVELS.get(silence.level, silence.level)}*" for silence in cell.silences))
    return ", ".join(shown) + "".join(f"; *not before {s.before}*" for s in cell.silences if s.before)


if __name__ == "__main__":
    sys.stdout.write(document())
