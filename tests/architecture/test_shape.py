"""The shape of the code: short functions, speaking names, layers that hold, causes that are proven."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES

LONGEST_FUNCTION = 60
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "handler", "handlers"}
PACKAGE = ROOT / "rebalance_forensics"
SOURCES = sorted(
    path for folder in ("rebalance_forensics", "tests", "benchmarks", "lab") for path in (ROOT / folder).rglob("*.py")
)
CAUSES = sorted(path.stem for path in (PACKAGE / "diagnosis" / "causes").glob("*.py") if path.stem != "__init__")
CANNOT_BE_SHOWN_ALONE = {"unexplained"}
"""A cause without evidence of its own: no log is a sample of it."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_function_does_one_thing(path: Path) -> None:
    functions = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef))
    assert [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= LONGEST_FUNCTION] == []


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_a_name_says_what_is_inside(path: Path) -> None:
    assert not FORBIDDEN_NAMES & set(path.with_suffix("").relative_to(ROOT).parts)
    classes = (n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ClassDef))
    assert [name for name in classes if name.endswith(("Manager", "Handler", "Helper", "Utils", "DTO"))] == []


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_nothing_is_left_to_do(path: Path) -> None:
    assert re.findall(r"#.*\b(?:TO[D]O|FIX[M]E|XX[X])\b", path.read_text()) == []


def test_data_flows_one_way() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_a_test(cause: str) -> None:
    assert (ROOT / "tests" / "diagnosis" / f"test_{cause}.py").is_file()


@pytest.mark.parametrize("cause", sorted(set(CAUSES) - CANNOT_BE_SHOWN_ALONE))
def test_every_cause_has_a_sample_incident(cause: str) -> None:
    assert (SAMPLES / cause.replace("_", "-") / "incident.yaml").is_file()


DIAGNOSIS = sorted((PACKAGE / "diagnosis").rglob("*.py"))
TIMELINE = sorted(path for path in (PACKAGE / "timeline").rglob("*.py") if path.name != "windows.py")
LEAST_SPAN = 50
"""No span of time that the project judges by is shorter; counts of lines and names are smaller."""


@pytest.mark.parametrize("path", [*TIMELINE, *DIAGNOSIS], ids=name_of)
def test_a_span_of_time_stands_among_the_windows(path: Path) -> None:
    assigned = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Assign | ast.AnnAssign))
    targets = ((t, n.value) for n in assigned for t in (n.targets if isinstance(n, ast.Assign) else [n.target]))
    spans = [t.id for t, value in targets if isinstance(t, ast.Name) and t.id.endswith("_MS") and _is_number(value)]
    assert spans == []


@pytest.mark.parametrize("path", [*TIMELINE, *DIAGNOSIS], ids=name_of)
def test_no_window_is_cut_into_parts_where_it_is_used(path: Path) -> None:
    """A part of a span is another span, with a reason of its own."""
    divided = (
        n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv)
    )
    assert [n.left.id for n in divided if isinstance(n.left, ast.Name) and n.left.id.endswith("_MS")] == []


def _is_number(value: ast.expr | None) -> bool:
    """Whether it is worked out of numbers alone."""
    return value is not None and all(isinstance(n, ast.Constant | ast.BinOp | ast.operator) for n in ast.walk(value))


@pytest.mark.parametrize(
    "path",
    [p for p in DIAGNOSIS if {"causes", "signs", "engine"} & set(p.relative_to(PACKAGE).parts)],
    ids=name_of,
)
def test_causes_signs_and_the_engine_hold_no_milliseconds(path: Path) -> None:
    tree = ast.parse(path.read_text())
    lengths = {id(n) for cut in ast.walk(tree) if isinstance(cut, ast.Slice) for n in ast.walk(cut)}
    numbers = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    assert [n.value for n in numbers if n.value >= LEAST_SPAN and id(n) not in lengths] == []  # type: ignore[operator]


def test_every_sample_shows_a_cause() -> None:
    samples = {path.name.replace("-", "_") for path in SAMPLES.iterdir() if path.is_dir()}
    assert samples - set(CAUSES) == set()


def commands_in(help_text: str) -> Iterator[str]:
    listed = help_text.partition("Commands:\n")[2].partition("\n\n")[0]
    return (line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " ")


def test_the_readme_shows_the_help_as_it_is() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rebalance_forensics", "--help"],
        cwd=ROOT, capture_output=True, text=True, check=True, env={"COLUMNS": "100", "PATH": "/usr/bin"},
    )  # fmt: skip
    assert done.stdout.strip() in (ROOT / "README.md").read_text()
    assert len(list(commands_in(done.stdout))) == 15
