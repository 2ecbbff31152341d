from __future__ import annotations

from tests.diagnosis.test_coordinator_failover import GC
from tests.story import Story


def test_logs_that_begin_with_a_coordinator_that_lets_go_show_a_move() -> None:
    old, new = "c-1-0000c1b2-1111-4c22-9d3a-aabbccddeeff", "c-2-0000c1b2-2222-4c22-9d3a-aabbccddeeff"
    story = Story()
    story.broker("01:10:00.000", "[GroupCoordinator 2]: Unloading group metadata for payments with generation 5", 2, GC)
    story.broker("01:13:29.000", "[GroupCoordinator 2]: Loading group metadata for payments with generation 5", 2, GC)
    story.broker(
        "01:13:30.000",
        "[GroupCoordinator 2]: Preparing to rebalance group payments in state PreparingRebalance with old generation 5 "
        f"(__consumer_offsets-13) (reason: Adding new member {new} with group instance id None)",
        2,
        GC,
    )
    gone = f"[GroupCoordinator 2]: Member {old} in group payments has failed, removing it from the group"
    story.broker("01:13:59.000", gone, 2, GC)
    failover = next(one for one in story.incidents() if one.root_causes[0].cause == "coordinator-failover")
    assert [culprit.name for culprit in failover.root_causes[0].culprits] == ["broker-2"]
