"""What the silence of a log is worth depends on how far it reaches; one odd line must not change that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rebalance_forensics as rf
from tests.conftest import SHORT_LOG

LATER = (
    "[2026-03-01 11:00:00,000] INFO [GroupCoordinator 1]: Group shipping with generation 1 is now empty (x-1) (kafka)\n"
)
ODD = {
    "a time in another century": LATER.replace("2026", "2135"),
    "a time years ago": LATER.replace("2026", "2001"),
    "a word before the header, like a host": f"at {LATER}",
    "the rest of a line, whose beginning looks like a host": LATER.partition(" IN")[2],
}


@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_an_odd_line_of_another_group_does_not_change_how_far_a_log_reaches(tmp_path: Path, line: str) -> None:
    lines = SHORT_LOG.splitlines(keepends=True)
    assert _payments(tmp_path / "odd", [*lines, line, LATER]) == _payments(tmp_path, [*lines, LATER])


def test_one_line_without_its_end_does_not_make_a_whole_log_an_excerpt(tmp_path: Path) -> None:
    lines = SHORT_LOG.splitlines(keepends=True)
    others = [LATER.replace(":00,000", f":0{second},000") for second in range(8)]
    torn = [*others[:3], others[3].rstrip("\n"), *others[4:]]
    assert _payments(tmp_path / "torn", [*lines, *torn]) == _payments(tmp_path, [*lines, *others])


def test_a_dump_of_bytes_does_not_make_a_log_an_excerpt(tmp_path: Path) -> None:
    """Its lines are all of one length, as those that a terminal broke; but no record was broken."""
    lines = SHORT_LOG.splitlines(keepends=True)
    dump = ["f3a9" * (max(map(len, lines)) // 3) + "\n"] * 12
    assert _payments(tmp_path / "dump", [*lines, LATER, *dump, LATER]) == _payments(tmp_path, [*lines, LATER, LATER])


def test_a_whole_log_between_fences_is_no_excerpt(tmp_path: Path) -> None:
    """Somebody who picks lines does not pick hundreds that tell of no group."""
    chatter = (
        f"[2026-03-01 10:0{at // 60}:{at % 60:02},500] INFO Rolled segment {at} (kafka.log)\n" for at in range(400)
    )
    whole = sorted([*SHORT_LOG.splitlines(keepends=True), *chatter, LATER])
    assert _payments(tmp_path / "fenced", ["```\n", *whole, "```\n"]) == _payments(tmp_path, whole)


def _payments(folder: Path, lines: list[str]) -> list[object]:
    (folder / "broker-1").mkdir(parents=True)
    (folder / "broker-1" / "server.log").write_text("".join(lines))
    report = json.loads(rf.analyze(folder / "broker-1", engine="local").to_json())
    rows = [one for one in report["incidents"] if one["group"] == "payments"]
    return [(one["severity"], _ruled_out(one), [cause["confidence"] for cause in one["root_causes"]]) for one in rows]


def _ruled_out(incident: dict[str, Any]) -> list[object]:
    """The causes, and until when a sign of them was looked for."""
    return [(one["cause"], [(at["from"], at["to"]) for at in one["looked_in"]]) for one in incident["ruled_out"]]
