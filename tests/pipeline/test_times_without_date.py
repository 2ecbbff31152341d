"""A log that prints only the time of day: where its day comes from, and what the report says of it."""

from __future__ import annotations

from pathlib import Path

import rebalance_forensics as rf

JOINS = """\
01:58:34.063 [main] INFO  o.a.k.c.c.i.AbstractCoordinator - [Consumer clientId=c-1, groupId=etl] (Re-)joining group
01:58:39.907 [main] INFO  o.a.k.c.c.i.AbstractCoordinator - [Consumer clientId=c-1, groupId=etl] Successfully joined \
group with generation Generation{generationId=4, memberId='c-1-55e406fa-961a-41a8-b0fe-2b2d0ac2b2d0', protocol='range'}
"""
DATED = "[2026-11-20 01:58:39,900] INFO [GroupCoordinator 1]: Stabilized group etl generation 4 (__consumer_offsets-3) \
with 1 members (kafka.coordinator.group.GroupCoordinator)\n"


def gaps(folder: Path) -> list[str]:
    return [gap.what for gap in rf.analyze(folder, engine="local").report.gaps]


def test_a_day_that_no_line_shows_is_said_to_be_unknown(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(JOINS)
    assert "The day of app.log is not known: its lines have a time of day and no date." in gaps(tmp_path)


def test_a_day_that_the_name_of_the_file_or_another_log_shows_is_known(tmp_path: Path) -> None:
    (tmp_path / "app-2026-11-20.log").write_text(JOINS)
    assert not [gap for gap in gaps(tmp_path) if gap.startswith("The day of")]
    (tmp_path / "app-2026-11-20.log").rename(tmp_path / "app.log")
    (tmp_path / "server.log").write_text(DATED)
    assert not [gap for gap in gaps(tmp_path) if gap.startswith("The day of")]
