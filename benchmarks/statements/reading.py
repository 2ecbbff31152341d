"""Log statements from a CSV file: one row per statement, with its releases and the expressions that they print."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LEVELS = frozenset({"info", "warn", "error", "fatal"})
_RANGE = re.compile(r"\s*\[((?:\d[\w.]*|trunk[\w-]*)(?:\.\.[\w.-]+)?(?:; [\w.-]+)*)\]\s*\Z")
_SNAPSHOT = (4, 0, -1)
"""The rank of a trunk snapshot: after the last 3.x, before 4.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The expressions of a statement's placeholders, and the releases that print them."""

    arguments: tuple[str, ...]
    releases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One log statement of Kafka's source."""

    component: str
    name: str
    """The class that logs it."""
    language: str
    level: str
    template: str
    built_elsewhere: str
    """How the message is built outside the statement; empty for a plain literal."""
    wordings: tuple[Wording, ...]


def read_statements(path: Path) -> tuple[list[str], list[Statement]]:
    """The releases in order, and the core statements at INFO and above."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    releases = _releases(rows)
    chosen = (row for row in rows if row["scope"] == "core" and row["level"] in LEVELS)
    return releases, [_statement(row, releases) for row in chosen]


def _releases(rows: Sequence[dict[str, str]]) -> list[str]:
    named = {end for row in rows for span in row["releases"].split("; ") for end in span.split("..")}
    return sorted(named, key=rank)


def rank(release: str) -> tuple[int, ...]:
    """The sort key of a release."""
    return tuple(map(int, release.split("."))) if release[0].isdigit() else _SNAPSHOT


def _statement(row: dict[str, str], releases: Sequence[str]) -> Statement:
    return Statement(
        component=row["component"],
        name=row["class"],
        language=row["language"],
        level=row["level"],
        template=row["template"].replace("\\n", "\n").replace("\\t", "\t"),
        built_elsewhere=row["via"],
        wordings=tuple(_wordings(row, releases)),
    )


def _wordings(row: dict[str, str], releases: Sequence[str]) -> Iterator[Wording]:
    """The variants of the arguments, `a | b [1.0.2..2.5.1]  ||  a | c [2.6.3..4.3.1]`; no range: all its releases."""
    for variant in row["args"].split("  ||  "):
        span = _RANGE.search(variant)
        text = variant[: span.start()] if span else variant
        arguments = () if text in ("", "(none)") else tuple(part.strip() for part in text.split(" | "))
        yield Wording(arguments=arguments, releases=_between(span[1] if span else row["releases"], releases))


def _between(spans: str, releases: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for span in spans.split("; "):
        first, _, last = span.partition("..")
        found += [one for one in releases if rank(first) <= rank(one) <= rank(last or first)]
    return tuple(found)
