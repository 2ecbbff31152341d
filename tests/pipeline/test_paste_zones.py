"""Lines of two zones in one paste are put on the clock of the coordinator, where their order tells both."""

from __future__ import annotations

import pytest

from rebalance_forensics.events.base import Speaker
from rebalance_forensics.events.rebalances import JoinStarted
from rebalance_forensics.pipeline.short_logs import on_the_brokers_clock
from rebalance_forensics.records import EpochMs, Origin

HOUR = 3_600_000
AT = 10_000 * HOUR


def line(number: int, who: str, at: int, *, zoned: bool = False) -> JoinStarted:
    """A line of a paste by a broker (`b`) or a client (`c`), so many ms after the first."""
    return JoinStarted(
        at=EpochMs(AT + at), zoned=zoned, origin=Origin(path="paste.txt", byte_offset=number * 100, line=number),
        speaker=Speaker(role="broker" if who == "b" else "consumer", file="paste.txt"), cluster="", group="payments",
        level="INFO", pattern="consumer/join-started", text="(Re-)joining group",
    )  # fmt: skip


def times(*lines: tuple[str, int], zoned: bool = False) -> list[int]:
    """Each line's time after the first, on one clock."""
    events = [line(number, who, at, zoned=zoned) for number, (who, at) in enumerate(lines)]
    return [(event.at or 0) - AT for event in on_the_brokers_clock(events)]


@pytest.mark.parametrize("zone", [2 * HOUR, -5 * HOUR, HOUR // 2])
def test_lines_that_go_there_and_back_by_a_zone_are_of_two_zones(zone: int) -> None:
    assert times(("c", zone), ("b", 5), ("c", zone + 300), ("b", 900)) == [0, 5, 300, 900]


@pytest.mark.parametrize(
    "lines",
    [
        [("c", 0), ("b", 5), ("c", 300)],
        [("c", 0), ("c", 300), ("b", 2 * HOUR), ("b", 2 * HOUR + 5)],
        [("c", 2 * HOUR), ("b", 5), ("c", 3 * HOUR), ("b", 900)],
        [("c", 2 * HOUR), ("b", 60_000), ("c", 2 * HOUR + 5), ("b", 70_000)],
    ],
    ids=["one zone", "one jump", "no zone fits", "out of order"],
)
def test_otherwise_times_stay_as_they_are(lines: list[tuple[str, int]]) -> None:
    assert times(*lines) == [at for _, at in lines]


def test_lines_that_name_their_zone_are_where_they_say() -> None:
    assert times(("c", 2 * HOUR), ("b", 5), ("c", 2 * HOUR + 300), zoned=True) == [2 * HOUR, 5, 2 * HOUR + 300]
