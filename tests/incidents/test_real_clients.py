"""Faults in groups of real clients, recorded with lab/clients: each from all logs, from clients and from one member."""

from __future__ import annotations

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lab.clients.judge import judged

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


@pytest.mark.parametrize(
    ("recording", "truth"),
    [
        pytest.param(file.name.removesuffix(".tgz"), truth, id=f"{truth['client']} {truth['cause']} {file.stem}")
        for file in sorted(RECORDINGS.glob("*.tgz"))
        for truth in truths(file.name.removesuffix(".tgz"))
    ],
)
def test_no_view_names_a_wrong_cause_and_those_that_show_it_name_the_right_one(
    unpacked: Path, recording: str, truth: dict[str, Any]
) -> None:
    verdicts = {view: verdict for view, verdict, _ in judged(unpacked / recording, truth)}
    assert [view for view, verdict in verdicts.items() if verdict.startswith("wrong")] == []
    assert [view for view, verdict in verdicts.items() if verdict == "right"] == truth["right"]
