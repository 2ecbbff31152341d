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
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from lab.clients.judge import SURE, judged
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import analyze
from tests.outer_loggers import OUTER, lines_of

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


TWO_LIBRARIES = [
    pytest.param("process-crash", "kafka-python-2.0", "streams-4.1", id="a client without a line for its start"),
    pytest.param(
        "slow-processing", "java-1.1", "java-2.8", id="a release without a line for a poll timeout beside one"
    ),
    *(
        pytest.param(fault, *pair, marks=pytest.mark.long, id=" ".join((fault, *pair)))
        for fault in ("coordinator-failover", "process-crash", "slow-processing")
        for pair in pairwise(sorted(t["client"] for t in truths("info-3.9.1") if t["cause"] == fault))
        if pair != ("java-1.1", "java-2.8") or fault != "slow-processing"
    ),
]


@pytest.mark.parametrize(("fault", "one", "other"), TWO_LIBRARIES)
def test_two_client_libraries_in_one_file_make_no_other_cause_sure(
    unpacked: Path, tmp_path: Path, fault: str, one: str, other: str
) -> None:
    logs = unpacked / "info-3.9.1" / fault
    for node in ("node-1", "node-2"):
        texts = [(logs / client / node / "app.log").read_text(encoding="utf-8") for client in (one, other)]
        lines = sorted((line for text in texts for line in lines_of(text)), key=attrgetter("at"))
        (tmp_path / node).mkdir()
        (tmp_path / node / "app.log").write_text("".join(f"{line.whole}\n" for line in lines), encoding="utf-8")
    apart = sure_causes(logs / one) | sure_causes(logs / other)
    assert sure_causes(tmp_path) <= apart


def sure_causes(folder: Path) -> set[str]:
    """The first causes that the logs of both nodes make sure, without what is no fault."""
    try:
        report = analyze([str(folder / "node-1"), str(folder / "node-2")], AnalyzeOptions(engine="local"))
    except InputError:  # no line that anybody reads
        return set()
    first = (incident.root_causes[0] for incident in report.incidents if incident.severity != "info")
    return {cause.cause for cause in first if cause.confidence >= SURE}


def clients_causes(folder: Path, truth: dict[str, Any]) -> dict[str, float]:
    """The first causes that the clients' logs alone show, with how sure each is."""
    incidents = next(found for view, _, found in judged(folder, truth, ("clients",)) if view == "clients")
    return {i.root_causes[0].cause: i.root_causes[0].confidence for i in reversed(incidents)}
