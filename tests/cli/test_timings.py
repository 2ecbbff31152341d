"""`--timings`: what each stage of a run took, on standard error; the result stays as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rebalance_forensics.cli import program
from rebalance_forensics.cli.parts import Parts
from rebalance_forensics.job import main as job
from rebalance_forensics.job.fleet_tables import fleet_tables
from rebalance_forensics.process.timings import stage, taken


def stages_in(text: str) -> list[str]:
    """The stages of a table, in order, without the seconds in the two columns behind them."""
    _, table = text.split("where the time went\n")
    head, *rows = table.splitlines()
    assert head.split() == ["stage", "seconds", "CPU", "s"]
    assert all(float(number) >= 0 for row in rows for number in row.split()[-2:])
    return [row.rsplit(maxsplit=2)[0] for row in rows]


def test_analyze_prints_each_stage_and_the_whole_run(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A command that Spark's modules are loaded in ends its process at once.
    monkeypatch.delitem(sys.modules, "py4j", raising=False)

    parts = Parts(job=job, fleet_tables=fleet_tables)

    def printed(*more: str) -> tuple[str, str]:
        with pytest.raises(SystemExit):
            program.main(["analyze", str(logs), "--engine", "local", "--json", str(tmp_path / "r.json"), *more], parts)
        return capsys.readouterr()

    result, _ = printed()
    out, err = printed("--timings")
    assert out == result
    stages = ["find the logs", "read", "explain", "put the report together", "write --json", "print", "total"]
    assert stages_in(err) == stages


def test_the_job_prints_each_stage(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--engine", "local", "--input", str(logs), "--output", str(tmp_path), "--since", "2026-03-01", "--timings"]
    assert job(given) == 0
    stages = ["scan", "explain", "write findings", "commit", "publish", "total"]
    assert stages_in(capsys.readouterr().err) == stages


def test_the_whole_run_counts_what_other_processes_took() -> None:
    with taken() as spent:
        with stage("read") as spent_elsewhere:
            spent_elsewhere(5.0)
        with stage("read") as spent_elsewhere:
            spent_elsewhere(7.0)
    assert spent is not None
    *_, read, total = spent.table().splitlines()
    assert all(12 <= float(row.split()[-1]) < 13 for row in (read, total))


def test_no_timings_are_measured_unless_requested() -> None:
    with taken(wanted=False) as spent, stage("read"):
        pass
    assert spent is None
