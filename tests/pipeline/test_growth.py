"""Twice the log is at most a little more than twice the work: calls are counted, not seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.cluster_logs import write_coordinator, write_node
from benchmarks.growth_logs import GROWING, write_growing
from benchmarks.measuring import calls_of
from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.cluster.host_index import index_hosts
from rebalance_forensics.diagnosis.cluster.shared_faults import Part, shared_faults
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.records import HOUR_MS
from tests.diagnosis.test_cluster_incidents import losing, losing_its_coordinator

MOST = 2.3
SIZE = 100
SMALLER = {"members with a log each": 30, "files of a rolled log": 40, "groups": 50}
"""What takes a file or a case for each."""


@pytest.mark.parametrize("what", GROWING)
def test_twice_as_much_in_one_direction_is_twice_the_work(what: str, tmp_path: Path) -> None:
    def work(size: int) -> Callable[[], object]:
        logs = write_growing(tmp_path, what, size)
        return lambda: analyze([str(logs)], AnalyzeOptions(engine="local"))

    size = SMALLER.get(what, SIZE)
    work(size // 4)()  # loads what is loaded once
    # Smaller logs show less: what grows with the square is a smaller part of their work.
    twice, four_times = (calls_of(work(size * factor)) for factor in (2, 4))
    assert four_times <= MOST * twice


CALLS_A_PAIR = 0.1
"""Of a group and a line without one: 190 where each group goes through the lines of its members' processes."""
_WRITERS = {
    "a node": write_node,
    "a node that subscribed before": partial(write_node, subscribed=False),
    "a coordinator": write_coordinator,
}


@pytest.mark.parametrize("write", _WRITERS.values(), ids=_WRITERS)
def test_no_group_goes_through_lines_that_name_none(write: Callable[[Path, int, int], Path], tmp_path: Path) -> None:
    # What groups cost by themselves, and lines by themselves, is the same on both sides: so are the samples that are
    # taken of each log, and none is as short as those that people put together (`MOST_BYTES`).
    groups, lines = (25, 100), (4_000, 8_000)

    def calls(of_groups: int, others: int) -> int:
        log = write(tmp_path / f"{of_groups}-{others}.log", of_groups, others)
        return calls_of(lambda: analyze([str(log)], AnalyzeOptions(engine="local")))

    calls(groups[1], lines[1])  # loads what is loaded once, and what is remembered of lines
    few, many = ([calls(number, others) for others in lines] for number in groups)
    pairs = (groups[1] - groups[0]) * (lines[1] - lines[0])
    assert (many[1] - many[0]) - (few[1] - few[0]) < CALLS_A_PAIR * pairs


@pytest.mark.parametrize("lose", [lambda group: losing(group, f"{group}-1", "01:10:00.000"), losing_its_coordinator])
def test_incidents_of_several_groups_are_compared_with_those_near_them_alone(lose: Callable[[str], GroupCase]) -> None:
    cases = [lose(group) for group in ("a", "b", "c")]
    histories = [case.history for case in cases]
    headlines = [(case, headline) for case, each in enumerate(cases) for headline in each.incidents]

    def calls(hours: int) -> int:
        # Hour after hour these groups lose a member each, or their coordinator.
        parts = [
            Part(replace(headline, started_at=headline.started_at + hour * HOUR_MS, ended_at=None), case, hour)
            for hour in range(hours)
            for case, headline in headlines
        ]
        return calls_of(lambda: [*shared_faults(histories, parts, index_hosts(histories), lambda _: ())])

    assert calls(200) <= MOST * calls(100)
