"""However the same time is cut into runs, and in whatever order files arrive: the tables are the same."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from rebalance_forensics.job.lake.editions import edition_of
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.tables.schemas import EVENTS
from tests.job.conftest import TABLES, Run, rows
from tests.job.days import packed, week

DAYS = [f"2026-03-0{day}" for day in range(1, 9)]
WEEK = (DAYS[0], DAYS[7])


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    week(tmp_path / "logs" / "broker-1")
    return tmp_path / "logs"


@pytest.fixture
def expected(run: Run, tmp_path: Path) -> Path:
    run(*WEEK, output=tmp_path / "expected")
    return tmp_path / "expected"


def test_a_week_has_two_incidents_a_day(expected: Path) -> None:
    assert Counter(row["date"] for row in rows(expected)["incidents"]) == dict.fromkeys(DAYS[:7], 2)


def test_a_date_that_only_the_lookback_reaches_is_not_investigated(run: Run) -> None:
    # The day behind the last has a lookback to it.
    assert run("2026-02-20", "2026-03-20").summary["days"] == 7


def test_a_second_run_over_the_interval_leaves_the_tables(run: Run, expected: Path) -> None:
    before = rows(expected)
    files = {name: sorted((expected / name).rglob("*.parquet")) for name in TABLES}
    assert run(*WEEK, output=expected).summary["scanned"] == 0
    assert rows(expected) == before
    assert {name: sorted((expected / name).rglob("*.parquet")) for name in TABLES} == files
    assert len(rows(expected, ["runs"])["runs"]) == 2


def test_a_backfill_day_by_day(run: Run, expected: Path, tmp_path: Path) -> None:
    scanned = [run(a, b).summary["scanned"] for a, b in itertools.pairwise(DAYS)]
    assert rows(tmp_path / "tables") == rows(expected)
    assert scanned == [7, 0, 0, 0, 0, 0, 0]


def test_a_backfill_backwards(run: Run, expected: Path, tmp_path: Path) -> None:
    for a, b in reversed(list(itertools.pairwise(DAYS))):
        run(a, b)
    assert rows(tmp_path / "tables") == rows(expected)


def test_runs_of_hours(run: Run, expected: Path, tmp_path: Path) -> None:
    moments = [DAYS[0], f"{DAYS[0]}T11:59", f"{DAYS[0]}T12:01", f"{DAYS[1]}T00:00:30", f"{DAYS[3]}T12:00", DAYS[7]]
    for a, b in itertools.pairwise(moments):
        run(a, b)
    assert rows(tmp_path / "tables") == rows(expected)


def test_only_what_starts_in_the_interval_is_written(run: Run, tmp_path: Path) -> None:
    run(DAYS[1], DAYS[2])
    tables = rows(tmp_path / "tables")
    since, until = (datetime.fromisoformat(f"{day}T00:00:00+00:00") for day in DAYS[1:3])
    assert {row["started_at"].astimezone(UTC).date() for row in tables["incidents"]} == {date.fromisoformat(DAYS[1])}
    assert all(since <= row["timestamp"] < until for row in tables["events"])
    # What crosses midnight is known to its end, though the events behind midnight are not in the interval.
    crossing = next(row for row in tables["incidents"] if row["group"] == "orders")
    assert crossing["generations"] == [12, 13]
    assert crossing["ended_at"] > until


def test_files_that_arrive_late_and_out_of_order(run: Run, expected: Path, logs: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    shutil.copytree(logs, away)
    days = sorted((away / "broker-1").iterdir())
    for path in (logs / "broker-1").iterdir():
        path.unlink()
    for index, day in enumerate((3, 0, 6, 1, 5, 2, 4)):
        shutil.copy2(days[day], logs / "broker-1")
        run(DAYS[0], DAYS[min(2 * index + 1, 7)])
    assert rows(tmp_path / "tables") == rows(expected)


def test_a_late_file_reopens_only_the_dates_it_reaches(run: Run, logs: Path, tmp_path: Path) -> None:
    late = sorted((logs / "broker-1").iterdir())[3]
    away = shutil.move(late, tmp_path / late.name)
    run(*WEEK)
    before = edition_of(Store(str(tmp_path / "tables"))).files(EVENTS)
    shutil.move(away, late)
    outcome = run(*WEEK)
    after = edition_of(Store(str(tmp_path / "tables"))).files(EVENTS)
    kept = {path.split("/")[1] for path in before.keys() & after.keys()}
    assert outcome.summary["scanned"] == 1
    assert kept == {f"date={day}" for day in (*DAYS[:2], *DAYS[5:7])}


def test_a_log_that_grows_is_rolled_and_packed(run: Run, logs: Path, tmp_path: Path) -> None:
    live = sorted((logs / "broker-1").iterdir())[6]
    text = live.read_text().splitlines(keepends=True)
    for lines in (4, 9, len(text)):
        live.write_text("".join(text[:lines]))
        run(*WEEK)
    packed(live)
    run(*WEEK)
    run(*WEEK, output=tmp_path / "at-once")
    assert rows(tmp_path / "tables") == rows(tmp_path / "at-once")
