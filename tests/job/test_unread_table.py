"""The table `unread`: the same rows whatever the runs, each counted by the incident it names."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.steps.engines import InProcess
from tests.conftest import SAMPLES
from tests.job.conftest import Rows, Run, rows

CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker"
HANDED_OVER = (
    ("2026-03-01 08:00:00", 1, "Adding newly assigned partitions: orders-0, orders-1"),
    ("2026-03-01 08:00:00", 2, "Adding newly assigned partitions: orders-2"),
    ("2026-03-01 23:59:50", 1, "Revoke previously assigned partitions orders-0, orders-1"),
    ("2026-03-02 00:00:20", 2, "Adding newly assigned partitions: orders-0"),
    ("2026-03-02 00:00:21", 1, "Adding newly assigned partitions: orders-1"),
    ("2026-03-02 12:00:00", 2, "Revoke previously assigned partitions orders-0"),
    ("2026-03-02 12:00:03", 1, "Adding newly assigned partitions: orders-0"),
)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two members that hand partitions over, once across midnight; each begins a log each day."""
    logs = tmp_path / "logs"
    for at, number, said in HANDED_OVER:
        path = logs / f"app-{number}" / f"app.log.{at[:10]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as log:
            log.write(f"[{at},000] INFO [Consumer clientId=app-{number}, groupId=app] {said} ({CONSUMER})\n")
    return logs


def spans(output: Path) -> list[tuple[str, str, str, int | None]]:
    found = sorted(rows(output, ["unread"])["unread"], key=lambda row: (row["started_at"], row["partition"]))
    return [(str(row["date"]), row["partition"], row["client_id"], row["ms"]) for row in found]


def test_a_span_belongs_to_the_date_on_which_it_began(run: Run, tmp_path: Path) -> None:
    run("2026-03-01", "2026-03-03")
    assert spans(tmp_path / "tables") == [
        ("2026-03-01", "orders-0", "app-1", 30_000),
        ("2026-03-01", "orders-1", "app-1", 31_000),
        ("2026-03-02", "orders-0", "app-2", 3_000),
    ]


def test_runs_over_parts_of_the_time_leave_the_rows_of_one_run(run: Run, tmp_path: Path) -> None:
    run("2026-03-01", "2026-03-03", output=tmp_path / "at-once")
    for since, until in (
        ("2026-03-02", "2026-03-03"),
        ("2026-03-01T12:00", "2026-03-02"),
        ("2026-03-01", "2026-03-02"),
    ):
        run(since, until)
    assert rows(tmp_path / "tables") == rows(tmp_path / "at-once")


def test_only_spans_that_began_in_the_interval_are_written(run: Run, tmp_path: Path) -> None:
    run("2026-03-02", "2026-03-03")
    assert [partition for _, partition, _, _ in spans(tmp_path / "tables")] == ["orders-0"]


def test_a_deleted_date_is_written_again(run: Run, tmp_path: Path) -> None:
    run("2026-03-01", "2026-03-03")
    before = rows(tmp_path / "tables")
    shutil.rmtree(tmp_path / "tables" / "unread" / "date=2026-03-01")
    outcome = run("2026-03-01", "2026-03-03")
    assert any("2026-03-01" in note for note in outcome.notes)
    assert rows(tmp_path / "tables") == before


def of_sample(name: str, output: Path) -> Rows:
    whenever = ["--since", "2000-01-01", "--until", "2090-01-01"]
    run_job(parse(["--input", str(SAMPLES / name), "--output", str(output), *whenever]).options, InProcess())
    return rows(output)


@pytest.mark.parametrize("sample", ["process-crash", "slow-processing", "rolling-restart", "process-pause"])
def test_the_spans_of_an_incident_add_up_to_what_it_cost(sample: str, tmp_path: Path) -> None:
    found = of_sample(sample, tmp_path / "tables")
    told: Counter[str] = Counter()
    for span in found["unread"]:
        if span["incident_id"] is not None and span["ended_at"] is not None:
            told[span["incident_id"]] += span["ms"]
    still = {span["incident_id"] for span in found["unread"] if span["ended_at"] is None}
    costs = {one["id"]: one["unread_partition_ms"] or 0 for one in found["incidents"] if one["id"] not in still}
    assert any(costs.values())
    assert {one: told[one] for one in costs} == costs
    assert {span["incident_id"] for span in found["unread"]} - {None} <= {one["id"] for one in found["incidents"]}


def test_if_the_time_of_death_is_unknown_the_row_has_its_earliest_time(tmp_path: Path) -> None:
    dead = [span for span in of_sample("process-crash", tmp_path / "tables")["unread"] if span["why"] == "dead"]
    assert dead
    assert all(span["from_earliest"] <= span["started_at"] and not span["certain"] for span in dead)
