"""A log that prints only the time of day: where its day comes from, and what the report says of it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import rebalance_forensics as rf
from rebalance_forensics.records import elapsed

JOINS = """\
01:58:34.063 [main] INFO  o.a.k.c.c.i.AbstractCoordinator - [Consumer clientId=c-1, groupId=etl] (Re-)joining group
01:58:39.907 [main] INFO  o.a.k.c.c.i.AbstractCoordinator - [Consumer clientId=c-1, groupId=etl] Successfully joined \
group with generation Generation{generationId=4, memberId='c-1-55e406fa-961a-41a8-b0fe-2b2d0ac2b2d0', protocol='range'}
"""
DATED = "[2026-11-20 01:58:39,900] INFO [GroupCoordinator 1]: Stabilized group etl generation 4 (__consumer_offsets-3) \
with 1 members (kafka.coordinator.group.GroupCoordinator)\n"


def gaps(folder: Path) -> list[str]:
    return [gap.what for gap in rf.analyze(folder, engine="local").report.gaps]


def test_a_day_that_no_line_shows_is_reported_as_unknown(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(JOINS)
    assert "The day of app.log is not known: its lines have a time of day and no date." in gaps(tmp_path)


def test_a_day_that_the_name_of_the_file_or_another_log_shows_is_known(tmp_path: Path) -> None:
    (tmp_path / "app-2026-11-20.log").write_text(JOINS)
    assert not [gap for gap in gaps(tmp_path) if gap.startswith("The day of")]
    (tmp_path / "app-2026-11-20.log").rename(tmp_path / "app.log")
    (tmp_path / "server.log").write_text(DATED)
    assert not [gap for gap in gaps(tmp_path) if gap.startswith("The day of")]


def test_a_copy_without_dates_has_times_of_day_and_no_date(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(JOINS)
    os.utime(tmp_path / "app.log", (1_795_000_000, 1_795_000_000))
    report = rf.analyze(tmp_path, engine="local")
    (log,) = json.loads(report.to_json())["inputs"]
    assert (log["first"], log["last"]) == (None, None)
    assert elapsed(report.report.inputs[0].first, report.report.inputs[0].last) == 5_844


def test_a_log_last_written_to_when_its_last_line_says_is_dated_by_it(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(JOINS)
    # In a zone two hours east of UTC.
    written = datetime(2026, 11, 19, 23, 58, 40, tzinfo=UTC).timestamp()
    os.utime(tmp_path / "app.log", (written, written))
    report = rf.analyze(tmp_path, engine="local")
    assert json.loads(report.to_json())["inputs"][0]["last"] == "2026-11-20T01:58:39.907Z"
    assert not [gap for gap in gaps(tmp_path) if gap.startswith("The day of")]


def test_logs_of_unknown_days_keep_the_days_between_them(tmp_path: Path) -> None:
    for days, name in enumerate(("one.log", "two.log")):
        (tmp_path / name).write_text(JOINS)
        os.utime(tmp_path / name, (1_795_000_000 + days * 86_400, 1_795_000_000 + days * 86_400))
    first, second = rf.analyze(tmp_path, engine="local").report.inputs
    assert elapsed(first.first, second.first) == 86_400_000


def test_the_day_in_one_files_name_dates_the_others(tmp_path: Path) -> None:
    for name in ("app-2026-11-20.log", "other.log"):
        (tmp_path / name).write_text(JOINS)
        os.utime(tmp_path / name, (1_795_900_000, 1_795_900_000))
    first, second = rf.analyze(tmp_path, engine="local").report.inputs
    assert first.first == second.first
    assert not [gap for gap in gaps(tmp_path) if gap.startswith("The day of")]
