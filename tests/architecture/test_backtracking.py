"""No expression of ours backtracks without bound: a line that nearly matches costs its length, not its square.

Templates of the catalog are no part of this: whatever a pattern file says, RE2 runs it in linear time (test_automaton).
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import regex

import rebalance_forensics
from rebalance_forensics.sources import envelopes, layouts
from tests.architecture.backtracking import ambiguity

PACKAGE = Path(rebalance_forensics.__file__).parent
WAYS = {"match": "match", "fullmatch": "fullmatch"} | dict.fromkeys(
    ("search", "sub", "subn", "split", "findall", "finditer"), "search"
)
MATCHED = (
    "catalog.prefixes._OPENINGS",
    "envelopes.json_envelopes._TAGGED",
    "sources.stamps",
    "pipeline.names_in_events",
)
"""Those that are kept in lists and fields and asked for the beginning of a text."""
HARMLESS = {
    "timeline.identity.log_writers._ENDING": "is asked of a file's name",
    "sources.files.hosts._SUFFIX": "is asked of a file's name",
    "pipeline.options._PART": "is asked of an option that somebody typed",
    "sources.layouts.json_field_names._WORD": "cannot fail once it has begun: one character less always does",
    "sources.layouts.message_trailer._STRUCTLOG": "cannot fail behind the logger: rest of the line, rest of the record",
    **dict.fromkeys(
        (
            f"catalog.prefixes._OPENINGS[{opening}"
            for opening in (
                "[Share][1][1]",
                "[Consu][0][1]",
                "[Worke][0][1]",
                "[Schem][0][1]",
                "[Produ][0][1]",
            )
        ),
        "takes the first `groupId=` or `transactionalId=` for good: an atomic group, a place that it may not pass",
    ),
    "sources.files.contents._BEGINNINGS": "is asked of a file's first bytes",
}


def _expressions(
    value: object, place: str, depth: int = 0
) -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    if isinstance(value, re.Pattern):
        yield place, value
    elif isinstance(value, regex.Pattern):
        # Python's parser knows neither the same name twice nor what else only `regex` takes: names say nothing here.
        yield place, re.compile(re.sub(r"\(\?P<\w+>", "(", value.pattern), value.flags & (re.DOTALL | re.IGNORECASE))
    elif depth < 4 and isinstance(value, dict):
        for key, one in value.items():
            yield from _expressions(one, f"{place}[{key}]", depth + 1)
    elif depth < 4 and isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _expressions(one, f"{place}[{number}]", depth + 1)
    elif not isinstance(value, type):
        for name in getattr(value, "__dataclass_fields__", ()) or getattr(value, "__struct_fields__", ()):
            yield from _expressions(getattr(value, name, None), f"{place}.{name}", depth + 1)


@cache
def _uses() -> dict[tuple[str, str], set[str]]:
    """How each module-level expression is asked, by its module and name."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for file in PACKAGE.rglob("*.py"):
        module = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(file.read_text())
        home = {name.asname or name.name: (node.module or "", name.name)
                for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in WAYS:
                asked = node.value
                while isinstance(asked, ast.Subscript):
                    asked = asked.value
                if isinstance(asked, ast.Name):
                    found[home.get(asked.id, (module, asked.id))].add(WAYS[node.attr])
    return found


def every_expression() -> Iterator[tuple[str, str, re.Pattern[str] | re.Pattern[bytes]]]:
    """Each expression, where it stands and how it is asked."""
    met = set()
    for info in pkgutil.walk_packages(rebalance_forensics.__path__, "rebalance_forensics."):
        if not info.name.endswith("__main__"):
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                place = f"{info.name.removeprefix('rebalance_forensics.')}.{name}"
                for where, expression in _expressions(value, place):
                    listed = any(known in where for known in MATCHED)
                    for way in {"match"} if listed else _uses().get((info.name, name), {"search"}):
                        if (key := (expression.pattern, expression.flags, way)) not in met:
                            met.add(key)
                            yield where, way, expression
    for formats in (layouts, envelopes):
        for name, file in formats.by_name().items():
            for where, expression in _expressions(
                file, f"{formats.__name__.removeprefix('rebalance_forensics.')}.{name}"
            ):
                yield where, "search" if where.endswith("trailer") else "match", expression


def test_no_expression_backtracks_without_bound() -> None:
    looked_at, guilty = 0, []
    for where, way, expression in every_expression():
        looked_at += 1
        if where not in HARMLESS and (told := ambiguity(expression, way)):
            guilty.append(f"{where}, {way}: {told}: {expression.pattern!r}")
    assert not guilty, "\n".join(guilty)
    assert looked_at > 250


def test_what_is_called_harmless_still_has_to_be() -> None:
    told = {where for where, way, expression in every_expression() if where in HARMLESS and ambiguity(expression, way)}
    assert told == HARMLESS.keys()


@pytest.mark.parametrize(
    ("expression", "way"),
    [
        (r"(a*)*b", "match"),
        (r"(a|a)*b", "match"),
        (r"(?:__?[A-Z_]+=\n)*_END", "match"),
        (r"(.+) in (.+) x", "match"),
        (r"(\d+)?(\d+)x", "match"),
        (r"\s+$", "search"),
        (r"\w++-x", "search"),
        (r'"(?:[^"\\]|\\.)*"', "search"),
        (r"(?:k=\S*[ ]*)+$", "match"),
    ],
)
def test_an_expression_that_reads_one_text_in_many_ways_is_refused(expression: str, way: str) -> None:
    assert ambiguity(re.compile(expression), way)


@pytest.mark.parametrize(
    ("expression", "way"),
    [
        (r"a*", "fullmatch"),
        (r"(\S+) in (\S+) x", "match"),
        (r"(?<!\s)\s+$", "search"),
        (r"(?<!\w)\w++-x", "search"),
        (r"x(?P<text>.*)", "match"),
        (r"(?:[a-z]+\.)+[A-Z]", "match"),
        (r"\bfoo\w*\b bar", "search"),
        (r"^\s*a", "search"),
        (r"(?:\s*+\])?\s++x", "match"),
    ],
)
def test_an_expression_that_reads_each_text_in_few_ways_is_not(expression: str, way: str) -> None:
    assert ambiguity(re.compile(expression), way) is None
