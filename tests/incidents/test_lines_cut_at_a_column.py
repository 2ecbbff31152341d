"""Logs whose lines were all cut at one column: what is left is read, what was cut off is not missed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.sources.lines.cut_lines import cut_column
from tests.incidents.sample import LOCAL, Sample, all_samples

SAMPLES = {sample.folder.name: sample for sample in all_samples()}
LIKELY = 0.75
BEHIND_THE_COLUMN = {"offsets-topic-unavailable"}
"""Of this one, every line that says why the members could neither sync nor find their coordinator says it there."""
NARROW = 140
"""Here the coordinator's `Assignment received from leader` ends before the group, so that nobody knows whose it was."""


def cut(sample: Sample, columns: int, directory: Path) -> Path:
    """The logs of a sample, each line no longer than so many characters."""
    logs = directory / "logs"
    shutil.copytree(sample.folder, logs, ignore=shutil.ignore_patterns("incident.yaml"))
    for log in logs.rglob("*.log"):
        lines = log.read_text(encoding="utf-8").splitlines()
        log.write_text("".join(f"{line[:columns]}\n" for line in lines), encoding="utf-8")
    return logs


def likely_faults(incidents: Iterable[Incident]) -> set[str]:
    """The first causes of faults that are reported as likely."""
    return {
        incident.root_causes[0].cause
        for incident in incidents
        if incident.severity != "info" and incident.root_causes[0].confidence >= LIKELY
    }


def names_in(incidents: Iterable[Incident]) -> set[str]:
    """All causes that are named, rivals included."""
    return {cause.cause for incident in incidents for cause in incident.root_causes}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_lines_cut_at_a_column_show_no_fault_that_whole_lines_do_not_show(name: str, tmp_path: Path) -> None:
    whole = SAMPLES[name].found()
    found = analyze([str(cut(SAMPLES[name], NARROW, tmp_path))], LOCAL).incidents
    assert name in BEHIND_THE_COLUMN or likely_faults(found) <= names_in(whole)


def with_starts(texts: Sequence[str]) -> list[tuple[str, bool]]:
    """Lines, each of which a record starts with if it begins with a time."""
    return [(text, text.startswith("[20")) for text in texts]


MESSAGES = (
    "Preparing to rebalance group orders in state PreparingRebalance with old generation 7 (reason: removing c-1)",
    "Assignment received from leader c-2-0b6f4ee4-88a9-4c1e-a1a4-f1f1dd19b0c6 for group orders for generation 8.",
    "Member c-1-b95f8df7-c642-4431-87da-0934f46676eb in group orders has failed, removing it from the group",
    "Dynamic member with unknown member id joins group orders in Stable state. Created a new member id c-1-63c1e1ab",
    "Stabilized group orders generation 8 (__consumer_offsets-4) with 2 members",
)
LINES = [f"[2026-03-01 10:00:0{at},123] INFO [GroupCoordinator 1]: {each}" for at, each in enumerate(MESSAGES)]


def test_lines_that_end_anywhere_at_one_column_were_cut_there() -> None:
    assert cut_column(with_starts([line[:110] for line in LINES])) == 110


def test_lines_of_many_lengths_were_not_cut() -> None:
    assert cut_column(with_starts(LINES)) is None


def test_lines_that_a_terminal_wrapped_at_a_column_continue_below() -> None:
    broken = [part for line in LINES for part in (line[:110], line[110:]) if part]
    assert cut_column(with_starts(broken)) is None


def test_one_message_that_repeats_is_as_long_as_itself() -> None:
    same = [f"[2026-03-01 10:00:0{at},123] INFO [GroupCoordinator 1]: {MESSAGES[1]}" for at in range(5)]
    assert cut_column(with_starts(same)) is None


def test_lines_that_show_what_was_left_out_need_no_column() -> None:
    elided = [f"{line[:60]} \u2026 {line[-40:]}" for line in LINES]
    assert cut_column(with_starts(elided)) is None
