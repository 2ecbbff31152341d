"""Every type of event and every error code that the catalog can yield has a reader, or a reason why none reads it.

A reader is a module of the timeline or the diagnosis that names the type outside its imports, or a step of a known
bug's signature. A fatal answer needs no reader of its own code: `fatal_answers` reports whatever error it carries.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.diagnosis.reference import known_bugs
from rebalance_forensics.events import EVENT_TYPES
from tests.shipped import document

PACKAGE = Path(known_bugs.__file__).parents[2]
PATTERNS = PACKAGE.parent / "patterns"
NO_JUDGES = frozenset(
    {
        "timeline/history.py",  # draws
        "timeline/group_attribution.py",  # whose line it is
        "timeline/unnamed_groups.py",
    }
)
READS_ANY_ERROR = {
    "AssignmentFailed": "diagnosis/causes/assignment_failure.py",
    "AssignmentNotStored": "diagnosis/episodes/coordinator/offsets_outages.py",
    "ShutdownRequested": "diagnosis/causes/streams_shutdown.py",
}
"""Where what failed is told by the type, whatever the code."""


@cache
def readers() -> Mapping[str, frozenset[str]]:
    """By name of an event or text of a constant the modules that hold it."""
    found: dict[str, set[str]] = defaultdict(set)
    for layer in ("timeline", "diagnosis"):
        for path in sorted((PACKAGE / layer).rglob("*.py")):
            module = path.relative_to(PACKAGE).as_posix()
            if module in NO_JUDGES or "/wording/" in module:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Name):
                    found[node.id].add(module)
                elif isinstance(node, ast.Attribute):
                    found[node.attr].add(module)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found[node.value].add(module)
    for bug in document(known_bugs.FILE):
        for step in (bug.get("signature") or {}).get("steps", ()):
            for event in (*step["events"], *step.get("without", ())):
                found[event].add(bug["jira"])
    return {name: frozenset(modules) for name, modules in found.items()}


@cache
def patterns() -> tuple[dict[str, Any], ...]:
    """The files of all patterns that yield an event."""
    return tuple(pattern for path in sorted(PATTERNS.rglob("*.yaml")) if (pattern := document(path)).get("event"))


@cache
def error_codes() -> Mapping[str, frozenset[str]]:
    """By event the error codes of its patterns that are not always fatal; what applications throw has none."""
    codes = document(PATTERNS / "fragments" / "errors.yaml")["errors"]
    found: dict[str, set[str]] = defaultdict(set)
    for pattern in patterns():
        told = [sample.get("fields") or {} for sample in pattern.get("samples", ())]
        told += [template.get("set") or {} for template in pattern.get("templates", ())]
        found[pattern["event"]] |= {
            fields["error"] for fields in told if fields.get("error") in codes and not fields.get("fatal")
        }
    return {event: frozenset(errors) for event, errors in found.items()}


@pytest.mark.parametrize("event", sorted(EVENT_TYPES))
def test_an_event_has_a_reader_or_a_reason_and_never_both(event: str) -> None:
    reason = EVENT_TYPES[event].unread
    read = readers().get(event, frozenset())
    assert bool(read) != bool(reason), f"{event}: read by {sorted(read) or 'nobody'}, unread because {reason}"


@pytest.mark.parametrize("event", sorted(EVENT_TYPES))
def test_an_error_code_has_a_reader_or_a_reason_and_never_both(event: str) -> None:
    reading, reasons = readers().get(event, frozenset()), EVENT_TYPES[event].errors_unread
    if event in READS_ANY_ERROR:
        assert READS_ANY_ERROR[event] in reading
        return
    read = {code for code in error_codes().get(event, ()) if readers().get(code, frozenset())}
    assert error_codes().get(event, frozenset()) - read == reasons.keys()


def test_every_event_is_one_that_some_pattern_or_rule_yields() -> None:
    yielded = {pattern["event"] for pattern in patterns()}
    made = {name for name in EVENT_TYPES if any(f"{name}(" in text or f'"{name}"' in text for text in _sources())}
    assert set(EVENT_TYPES) - yielded - made == set()


@cache
def _sources() -> tuple[str, ...]:
    layers = ("catalog", "timeline", "pipeline")
    return tuple(p.read_text(encoding="utf-8") for layer in layers for p in (PACKAGE / layer).rglob("*.py"))
