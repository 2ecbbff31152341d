"""Faults in groups of real clients, recorded with lab/clients: each from all logs, from clients and from one member.

And through other loggers, which print the clients' lines inside their own, cut them or change their levels: never is
another cause 75 % sure then.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lab.clients.judge import SURE, judged
from tests.outer_loggers import OUTER

RECORDINGS = Path(__file__).parent / "clients"


@cache
def truths(recording: str) -> list[dict[str, Any]]:
    """What was done to which client, and the views from which its log is enough to see that."""
    with tarfile.open(RECORDINGS / f"{recording}.tgz") as archive:
        found = archive.extractfile("truth.json")
        assert found is not None
        rows: list[dict[str, Any]] = json.load(found)
        return rows


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each recording."""
    folder = tmp_path_factory.mktemp("clients")
    for file in RECORDINGS.glob("*.tgz"):
        with tarfile.open(file) as archive:
            archive.extractall(folder / file.stem.removesuffix(".tgz"))  # noqa: S202 (our own)
    return folder


CASES = [
    pytest.param(file.name.removesuffix(".tgz"), truth, id=f"{truth['client']} {truth['cause']} {file.stem}")
    for file in sorted(RECORDINGS.glob("*.tgz"))
    for truth in truths(file.name.removesuffix(".tgz"))
]


@pytest.mark.parametrize(("recording", "truth"), CASES)
def test_no_view_names_a_wrong_cause_and_those_that_show_it_name_the_right_one(
    unpacked: Path, recording: str, truth: dict[str, Any]
) -> None:
    verdicts = {view: verdict for view, verdict, _ in judged(unpacked / recording, truth)}
    assert [view for view, verdict in verdicts.items() if verdict.startswith("wrong")] == []
    assert [view for view, verdict in verdicts.items() if verdict == "right"] == truth["right"]


def through_other_loggers() -> Iterator[object]:
    """Every client with every logger in the long run; in the short one every third client, the loggers in turn."""
    for number, case in enumerate(CASES):
        for turn, outer in enumerate(OUTER):
            marks = [] if number % 3 == 0 and number // 3 % len(OUTER) == turn else [pytest.mark.long]
            yield pytest.param(*case.values, outer, id=f"{case.id} {outer}", marks=marks)


@pytest.mark.parametrize(("recording", "truth", "outer"), [*through_other_loggers()])
def test_another_logger_around_a_clients_lines_makes_no_other_cause_sure(
    unpacked: Path, tmp_path: Path, recording: str, truth: dict[str, Any], outer: str
) -> None:
    logs = unpacked / recording / truth["cause"] / truth["client"]
    for member in ("node-1", "node-2"):
        shutil.copytree(logs / member, tmp_path / truth["cause"] / truth["client"] / member)
    for log in tmp_path.rglob("*.log"):
        log.write_text(OUTER[outer](log.read_text(encoding="utf-8")), encoding="utf-8")
    plain, around = (clients_causes(folder, truth) for folder in (unpacked / recording, tmp_path))
    sure = {cause for cause, confidence in around.items() if confidence >= SURE and cause != "unexplained"}
    assert sure <= {*plain}, around


def clients_causes(folder: Path, truth: dict[str, Any]) -> dict[str, float]:
    """The first causes that the clients' logs alone show, with how sure each is."""
    incidents = next(found for view, _, found in judged(folder, truth, ("clients",)) if view == "clients")
    return {i.root_causes[0].cause: i.root_causes[0].confidence for i in reversed(incidents)}
