"""Lines as people paste and ship them, each read without knowing where it comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rebalance_forensics.sources.records.record_reader import parse_line

WILD: list[dict[str, str]] = yaml.safe_load(Path(__file__).with_name("wild_lines.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("wild", WILD, ids=[wild["line"][:60] for wild in WILD])
def test_a_line_of_any_writer_is_taken_apart(wild: dict[str, str]) -> None:
    record = parse_line(wild["line"])
    read = {
        "line": wild["line"],
        "level": record.level,
        "logger": (record.logger or "").rpartition(".")[2],
        "thread": record.thread,
        "host": record.host,
        "message": record.message,
    }
    assert {key: text for key, text in read.items() if text} == wild


def test_the_time_of_a_line_is_read_with_its_zone_where_it_names_one() -> None:
    line = "{} [main] INFO  o.a.k.X - [Consumer clientId=c, groupId=g] msg"
    times = [
        "2024-01-02 03:04:05.678",
        "2024-01-02T03:04:05,678Z",
        "2024-01-02 08:34:05.678+0530",
        "02-01-2024 03:04:05.678",
    ]
    read = [parse_line(line.format(time)) for time in times]
    assert {record.at for record in read} == {1704164645678}
    assert [record.zoned for record in read] == [False, True, True, False]


@pytest.mark.parametrize("day", ["Aug 2nd 2018", "August 2nd 2018", "Aug 2, 2018", "Aug 2nd, 2018"])
@pytest.mark.parametrize("between", [" ", " | "])
def test_kibana_before_7_wrote_the_day_as_an_ordinal(day: str, between: str) -> None:
    record = parse_line(f"{day}, 17:36:24.473{between}[Consumer clientId=c, groupId=g] (Re-)joining group")
    assert record.at == 1533231384473
    assert record.message == "[Consumer clientId=c, groupId=g] (Re-)joining group"


def test_rich_writes_the_month_before_the_day_and_breaks_only_words_wider_than_its_column() -> None:
    record = parse_line(
        "[01/02/24 03:04:05] WARNING  Heartbeat failed for group base.py:1018\n"
        "                             payments-0123456789-abcdef               \n"
        "                             -0123456789 because it is                \n"
        "                             rebalancing                              "
    )
    assert record.at == 1704164645000
    assert record.message == (
        "Heartbeat failed for group payments-0123456789-abcdef-0123456789 because it is rebalancing"
    )
