"""Twice the log is at most a little more than twice the work: calls are counted, not seconds."""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile
from pathlib import Path

import pytest

from benchmarks.growth_logs import GROWING
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

MOST = 2.3
SIZE = 100


def calls_of(work: Callable[[], object]) -> int:
    """How many functions were called, Python's and those in C."""
    profile = Profile(builtins=True)
    with profile:
        work()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("what", GROWING)
def test_twice_as_much_in_one_direction_is_twice_the_work(what: str, tmp_path: Path) -> None:
    def work(size: int) -> Callable[[], object]:
        file = tmp_path / f"{size}" / "server.log"
        file.parent.mkdir()
        file.write_text(GROWING[what](size))
        return lambda: analyze([str(file)], AnalyzeOptions(engine="local"))

    work(SIZE // 2)()  # loads what is loaded once
    once, twice, four_times = (calls_of(work(SIZE * factor)) for factor in (1, 2, 4))
    assert twice <= MOST * once
    assert four_times <= MOST * twice
