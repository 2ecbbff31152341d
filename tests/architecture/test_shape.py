"""The shape of the code: short functions, speaking names, layers that hold, causes that are proven."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
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


@pytest.fixture(autouse=True, scope="module")
def forgetting() -> Iterator[None]:
    """The trees of all files are large, and no other test needs them."""
    yield
    nodes_of.cache_clear()


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def by_file(paths: Iterable[Path], found: Callable[[Path], object]) -> dict[str, object]:
    """What is found in each file that has any of it."""
    return {str(path.relative_to(ROOT)): names for path in paths if (names := found(path))}


def long_functions(path: Path) -> list[str]:
    functions = (n for n in nodes_of(path) if isinstance(n, ast.FunctionDef))
    return [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= LONGEST_FUNCTION]


def test_a_function_does_one_thing() -> None:
    assert by_file(SOURCES, long_functions) == {}


def names_without_content(path: Path) -> list[str]:
    classes = (n.name for n in nodes_of(path) if isinstance(n, ast.ClassDef))
    vague = [name for name in classes if name.endswith(("Manager", "Handler", "Helper", "Utils", "DTO"))]
    return [*vague, *FORBIDDEN_NAMES.intersection(path.with_suffix("").relative_to(ROOT).parts)]


def test_a_name_says_what_is_inside() -> None:
    assert by_file(SOURCES, names_without_content) == {}


def test_nothing_is_left_to_do() -> None:
    assert by_file(SOURCES, lambda path: re.findall(r"#.*\b(?:TO[D]O|FIX[M]E|XX[X])\b", path.read_text())) == {}


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


def spans_of_time(path: Path) -> list[str]:
    assigned = (n for n in nodes_of(path) if isinstance(n, ast.Assign | ast.AnnAssign))
    targets = ((t, n.value) for n in assigned for t in (n.targets if isinstance(n, ast.Assign) else [n.target]))
    return [t.id for t, value in targets if isinstance(t, ast.Name) and t.id.endswith("_MS") and _is_number(value)]


def test_every_span_of_time_is_defined_in_windows() -> None:
    assert by_file([*TIMELINE, *DIAGNOSIS], spans_of_time) == {}


def divided_windows(path: Path) -> list[str]:
    divided = (n.left for n in nodes_of(path) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv))
    return [left.id for left in divided if isinstance(left, ast.Name) and left.id.endswith("_MS")]


def test_no_window_is_cut_into_parts_where_it_is_used() -> None:
    """A part of a span is another span, with a reason of its own."""
    assert by_file([*TIMELINE, *DIAGNOSIS], divided_windows) == {}


def _is_number(value: ast.expr | None) -> bool:
    """Whether it is worked out of numbers alone."""
    return value is not None and all(isinstance(n, ast.Constant | ast.BinOp | ast.operator) for n in ast.walk(value))


def milliseconds(path: Path) -> list[object]:
    lengths = {id(n) for cut in nodes_of(path) if isinstance(cut, ast.Slice) for n in ast.walk(cut)}
    numbers = [n for n in nodes_of(path) if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    return [n.value for n in numbers if n.value >= LEAST_SPAN and id(n) not in lengths]  # type: ignore[operator]


def test_causes_signs_and_the_engine_hold_no_milliseconds() -> None:
    rules = [p for p in DIAGNOSIS if {"causes", "signs", "engine"} & set(p.relative_to(PACKAGE).parts)]
    assert by_file(rules, milliseconds) == {}


ANSWERED_ONLY_IN: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "why did this member stop sending heartbeats": ("names", (
        "reason_of_heartbeat_loss", "explain_heartbeat_loss", "reasons_of_heartbeat_loss",
    ), (
        "timeline/ownership/losses.py", "diagnosis/case.py",
    )),
    "which member did the join phase wait for": ("fields", ("join_sent_at",), ("timeline/join_barriers.py",)),
    "what is the value of a timeout": ("fields", ("session_timeout_ms", "rebalance_timeout_ms"), (
        "timeline/timeouts.py",
    )),
    "which members are in the group": ("names", ("Arrival", "Departure", "Sighting", "StaticReturn"), (
        "timeline/membership/replay.py", "timeline/membership/recording.py",
    )),
    "how many members are in the group": ("fields", ("member_count", "static_count"), (
        "timeline/membership/table.py", "timeline/membership/silent.py", "timeline/membership/namesakes.py",
        "timeline/generations.py",  # it lists the members of each generation before there is a table
        "diagnosis/causes/startup.py",  # the leader's count as well, of these generations alone
        "diagnosis/episodes/members/departures.py",  # generations with members, whatever their number
        "timeline/coordinators.py",  # whether a group was loaded without members
        "diagnosis/unexplained/rebalances.py",  # what the line says of itself
    )),
    "what does this client log": (
        "names", ("unlogged_levels", "never_happens", "logged_since", "events_at_debug"), ("timeline/clients.py",)
    ),
    "which data make up an incident": ("names", ("Incident", "RootCause", "Impact"), (
        "diagnosis/engine/incidents.py", "diagnosis/engine/impact.py", "diagnosis/cluster/incidents.py",
        "diagnosis/cluster/impacts.py",
        "diagnosis/model.py",
    )),
}  # fmt: skip
"""Question -> what its answer is made of: functions and Structs that are called, or fields that are read, and where."""


def calls_of(path: Path) -> set[str]:
    called = (n.func for n in nodes_of(path) if isinstance(n, ast.Call))
    return {f.id for f in called if isinstance(f, ast.Name)}


def fields_read_in(path: Path) -> set[str]:
    """The attributes that are read of anything but a module."""
    read = (n for n in nodes_of(path) if isinstance(n, ast.Attribute))
    return {n.attr for n in read if not (isinstance(n.value, ast.Name) and n.value.id in ("timeouts", "windows"))}


@pytest.mark.parametrize("question", ANSWERED_ONLY_IN)
def test_a_question_about_kafka_is_answered_in_one_place(question: str) -> None:
    kind, names, modules = ANSWERED_ONLY_IN[question]
    read = calls_of if kind == "names" else fields_read_in
    found = {p.relative_to(PACKAGE).as_posix() for p in (*TIMELINE, *DIAGNOSIS) if not read(p).isdisjoint(names)}
    assert found == set(modules)


def test_no_rule_asks_by_itself_which_client_wrote_a_line() -> None:
    """`role == "other"` is a client that is not Kafka's own; what that means for its lines, clients.py knows."""

    def asking(path: Path) -> bool:
        compared = (n for n in nodes_of(path) if isinstance(n, ast.Compare))
        roles = (n for n in compared if isinstance(n.left, ast.Attribute) and n.left.attr == "role")
        return any(isinstance(c, ast.Constant) and c.value == "other" for n in roles for c in n.comparators)

    assert by_file(DIAGNOSIS, asking) == {}


def questions_table() -> Iterator[tuple[str, list[str], list[str]]]:
    """Question, the modules that answer it, and those that ask, as docs/architecture.md lists them."""
    text = (ROOT / "docs" / "architecture.md").read_text().partition("## Where each question is answered")[2]
    for row in text.partition("The others:")[0].splitlines():
        if row.startswith("| ") and not row.startswith("| question"):
            question, answers, asks = row.strip("| ").split(" | ")
            yield question, *(re.findall(r"`([a-z_/]+\.py)`", cell) for cell in (answers, asks))  # type: ignore[misc]


def asks_module(path: Path, answer: str) -> bool:
    """True for a module that imports the other, or asks the timeline for its table of members."""
    folder, _, name = answer.removesuffix(".py").replace("/", ".").rpartition(".")
    imports = rf"from rebalance_forensics\.(?:{folder}\.{name} import|{folder} import [^\n]*\b{name}\b)"
    table = r"|timeline\.membership\." if answer == "timeline/membership/table.py" else ""
    return re.search(imports + table, path.read_text()) is not None


def test_the_table_of_questions_names_modules_that_answer_and_modules_that_ask_them() -> None:
    listed = {module for _, answers, _ in questions_table() for module in answers}
    for question, answers, asks in questions_table():
        silent = [m for m in asks if not any(asks_module(PACKAGE / m, answer) for answer in answers)]
        assert not silent, f"{question}: {silent} do not ask {answers}"
    assert len(list(questions_table())) == 6
    assert {module for _, _, modules in ANSWERED_ONLY_IN.values() for module in modules[:1]} <= listed


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
