"""What a run would do, what it is at, and what took longest: for the person who runs the job."""

from __future__ import annotations

import io
import os
import pty
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.case import GroupCase, investigate
from rebalance_forensics.events.base import Event
from rebalance_forensics.job import main
from rebalance_forensics.job.steps import investigation
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from tests.job.conftest import Run, rows
from tests.job.test_growing_logs import busy

SINCE, UNTIL = "2026-03-01", "2026-03-04"


def given(logs: Path, tmp_path: Path) -> list[str]:
    return ["--engine", "local", "--input", str(logs), "--output", str(tmp_path / "tables"), "--since", SINCE]


def test_a_dry_run_shows_what_the_next_run_reads_and_why(
    run: Run, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def dry() -> dict[str, list[str]]:
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        assert main([*given(logs, tmp_path), "--until", UNTIL, "--dry-run"]) == 0
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
        _, *lines, interval = capsys.readouterr().out.splitlines()
        assert interval.startswith("interval: 2026-03-01T00:00:00Z to 2026-03-04T00:00:00Z")
        return {re.split(":|  ", line.split(None, 2)[2])[0]: line.split()[:2] for line in lines}

    live, text = logs / "broker-1" / "server.log", busy(6)
    live.write_bytes(text[: 2 << 20])
    size = sum(path.stat().st_size for path in logs.rglob("*") if path.is_file())
    assert dry() == {"not in the tables yet": ["4", f"{size:,}"]}
    run(SINCE, UNTIL)
    live.write_bytes(text)
    (logs / "broker-1" / "server.log.2026-03-02").write_text("[2026-03-02 00:00:00,000] INFO another\n")
    planned = dry()
    assert planned["unchanged"] == ["2", "-"]
    assert int(planned["has grown"][1].replace(",", "")) < len(text) - (1 << 20) + 10_000
    assert planned["not in the tables yet"] == ["1", "39"]
    assert run(SINCE, UNTIL).summary["scanned"] == 2
    live.rename(live.with_name("server.log.2026-03-03"))
    assert dry()["was renamed"] == ["1", f"{len(text):,}"]


def test_a_run_names_its_slowest_stage_and_its_largest_group(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*given(logs, tmp_path), "--until", UNTIL, "--metrics", str(tmp_path / "prom")]) == 0
    (row,) = rows(tmp_path / "tables", ["runs"])["runs"]
    assert row["slowest_stage"] in ("scan", "explain", "write findings")
    # A date sees the failure of the day before, too.
    assert (row["largest_group"], row["largest_group_events"]) == ("payments", 14)
    assert '"largest_group": "payments"' in capsys.readouterr().out
    metrics = (tmp_path / "prom").read_text()
    assert 'rebalance_forensics_stage_seconds{stage="commit"}' in metrics
    assert f"rebalance_forensics_bytes_written {row['bytes_written']}" in metrics


def test_progress_is_shown_by_stage_on_a_terminal_and_nowhere_else(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*given(logs, tmp_path), "--until", "2026-03-02"])
    assert capsys.readouterr().err == ""
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        main([*given(logs, tmp_path), "--until", UNTIL])
    with io.FileIO(reader) as screen:
        shown = screen.read(1 << 16).decode()
    assert "explain" in shown
    assert "events a second" in shown


@pytest.mark.parametrize("foreseen", [True, False])
def test_a_group_that_cannot_fit_a_task_is_named_and_the_others_are_explained(
    *, foreseen: bool, run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limited(
        cluster: str, group: str, events: Sequence[Event], shared: UngroupedEvents, *, lanes: bool
    ) -> GroupCase:
        if group == "clicks":
            raise MemoryError
        return investigate(cluster, group, events, shared, lanes=lanes)

    if foreseen:
        monkeypatch.setattr(investigation, "spare_memory", lambda: 20 * investigation.MIN_BYTES_PER_EVENT)
    else:
        monkeypatch.setattr(investigation, "investigate", limited)
    live = logs / "broker-1" / "server.log"
    live.write_bytes(busy(3).replace(b"payments", b"clicks"))
    outcome = run(SINCE, UNTIL)
    (sentence,) = (error for error in outcome.errors if "clicks" in error)
    assert "group clicks (default) has 21 events around 2026-03-01" in sentence
    found = rows(tmp_path / "tables")
    assert {row["group"] for row in found["generations"]} == {"payments", "orders"}
    assert sum(row["group"] == "clicks" for row in found["events"]) == 21
    monkeypatch.undo()
    run(SINCE, UNTIL)
    run(SINCE, UNTIL, output=tmp_path / "at-once")
    assert rows(tmp_path / "tables") == rows(tmp_path / "at-once")
