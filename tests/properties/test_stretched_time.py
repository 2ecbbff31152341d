"""The law of stretched time: how fast an incident unfolds does not decide what it was."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import pytest

from tests.stretching import ClusterLogs, cluster_logs_in, longer_pauses, slow_motion

SAMPLES = Path(__file__).parents[2] / "sample_logs"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
FACTORS = (2, 5, 10)
HALF_AN_HOUR = 30 * 60_000
TELL_NO_TIMEOUTS = {"unexplained", "unstable-leader"}
"""Composed of single lines without a setting: what they leave to Kafka's defaults does not stretch along."""
PAUSES = [(name, factor) for name in NAMES for factor in FACTORS]
SLOW = [(name, factor) for name, factor in PAUSES if name not in TELL_NO_TIMEOUTS]


def shown(pairs: list[tuple[str, int]], law: int) -> Iterator[object]:
    """All of them in the long run; in the short one each sample is held to one law with one factor, by its hash."""
    for name, factor in pairs:
        lot = crc32(name.encode())
        short = lot % 2 == law and FACTORS[lot // 2 % 3] == factor
        marks = [] if short else [pytest.mark.long]
        yield pytest.param(name, factor, id=f"{name}-{factor}", marks=marks)


@cache
def logs_of(name: str) -> ClusterLogs:
    (only,) = cluster_logs_in(SAMPLES / name)
    return only


@cache
def as_it_was(name: str) -> dict[str, list[str]]:
    return logs_of(name).verdicts()


@pytest.mark.parametrize(("name", "factor"), [*shown(PAUSES, 0)])
def test_longer_pauses_between_the_episodes_leave_the_verdicts_as_they_are(name: str, factor: int) -> None:
    logs = logs_of(name)
    assert logs.paced(longer_pauses(logs.quiet(), factor)).verdicts() == as_it_was(name)


@pytest.mark.parametrize(("name", "factor"), [*shown(SLOW, 1)])
def test_slow_motion_with_timeouts_to_match_leaves_the_verdicts_as_they_are(name: str, factor: int) -> None:
    logs = logs_of(name)
    assert logs.paced(slow_motion(factor, logs.times()[0]), factor).verdicts() == as_it_was(name)


@pytest.mark.parametrize("name", ["rolling-restart", "static-member-restart"])
def test_a_walk_with_half_an_hour_between_its_steps_is_one_incident(name: str) -> None:
    logs = logs_of(name)
    rests = logs.rests()
    assert len(rests) > 1

    def later(at: int) -> int:
        return at + HALF_AN_HOUR * sum(rest < at for rest in rests)

    assert logs.paced(later).verdicts() == as_it_was(name)


@pytest.mark.parametrize("name", ["rolling-restart"])
def test_the_clock_of_a_stretched_log_never_runs_back(name: str) -> None:
    logs = logs_of(name)
    for clock in (longer_pauses(logs.quiet(), 5), slow_motion(5, logs.times()[0])):
        moved = [clock(at) for at in logs.times()]
        assert all(earlier <= later for earlier, later in pairwise(moved))
