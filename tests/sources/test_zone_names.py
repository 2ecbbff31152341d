"""The zone in a line: an offset, a short name, or a name that is spelled out."""

from __future__ import annotations

import pytest

from rebalance_forensics.sources.times.timestamps import read_stamp

LOCAL = "2026-11-20 10:15:30.123"


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [
        ("Z", 0),
        ("UTC", 0),
        ("+02:00", 120),
        ("-0330", -210),
        ("GMT+2", 120),
        ("UTC-05:30", -330),
        ("GMT+10", 600),
        ("GMT+0200", 120),
        ("+0200Z", 120),
        ("CEST", 120),
        ("MEZ", 60),
        ("Central European Summer Time", 120),
        ("Pacific Standard Time", -480),
        ("India Standard Time", 330),
        ("Greenwich Mean Time", 0),
    ],
)
def test_a_zone_after_the_time_gives_its_offset_from_utc(zone: str, minutes: int) -> None:
    stamp = read_stamp(f"{LOCAL} {zone} INFO")
    assert stamp is not None
    assert stamp.offset_minutes == minutes


@pytest.mark.parametrize("words", ["IST", "Response Time", "GMT+19", "Central Perk", "INFO"])
def test_words_that_name_no_zone_or_several_leave_it_open(words: str) -> None:
    stamp = read_stamp(f"{LOCAL} {words}")
    assert stamp is not None
    assert stamp.offset_minutes is None
