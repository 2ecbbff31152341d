"""Each protocol costs what its rules say; ranges are those of forty simulations."""

from __future__ import annotations

from rebalance_forensics.diagnosis.what_if.faults import (
    Fault,
    FaultSequence,
    Pace,
    ProcessEnded,
    ProcessStalled,
    ProcessStarted,
)
from rebalance_forensics.diagnosis.what_if.simulations import Protocol, Simulated, simulate

PACE = Pace(between_polls=(2_000, 2_000), heartbeat=3_000, session=10_000, poll_interval=30_000)


def under(protocol: Protocol, *faults: Fault, pace: Pace = PACE) -> Simulated:
    """Four members with two partitions each, and 100 s of time."""
    sequence = FaultSequence(
        members=("c-1", "c-2", "c-3", "c-4"),
        partitions=tuple(f"orders-{number}" for number in range(8)),
        faults=faults,
        begin=0,
        until=100_000,
        steady_for=600_000,
    )
    return simulate(sequence, pace, protocol)


def others(found: Simulated, *, own: set[str]) -> float:
    """The longest time that a partition of somebody else was unread."""
    return max(ms for run in found.runs for p, ms in run.by_partition().items() if p not in own)


def test_a_dead_member_is_missed_for_a_session_less_up_to_a_heartbeat() -> None:
    for protocol in ("eager", "cooperative", "KIP-848"):
        longest = [
            max(r.by_partition().values())
            for r in under(protocol, ProcessEnded(member="c-2", at=9_000, how="died")).runs
        ]
        assert min(longest) >= 10_000 - 3_000


def test_a_static_member_back_within_its_session_causes_no_rebalance() -> None:
    restart = ProcessEnded(member="c-2", at=9_000, how="closed"), ProcessStarted(member="c-2", at=14_000)
    found = under("eager, static", *restart)
    assert others(found, own={"orders-2", "orders-3"}) == 0
    assert 2 * 5_000 <= found.partition_ms.low <= found.partition_ms.high <= 2 * 5_200


def test_a_dynamic_member_that_restarts_stops_everybody_twice_under_eager() -> None:
    restart = ProcessEnded(member="c-2", at=9_000, how="closed"), ProcessStarted(member="c-2", at=24_000)
    found = under("eager", *restart)
    assert all(sum(1 for spans in run.spans.values() if len(spans) == 2) == 8 for run in found.runs)
    assert found.stopped_ms.low > 0


def test_cooperative_members_keep_what_does_not_move() -> None:
    crash = ProcessEnded(member="c-2", at=9_000, how="died")
    found = under("cooperative", crash)
    assert sum(ms > 0 for run in found.runs for ms in run.by_partition().values()) == 2 * len(found.runs)
    assert found.stopped_ms.high == 0
    # Commit, join, answer, assignment: each waits for a poll of its own.
    assert found.partition_ms.middle > under("eager", crash).partition_ms.middle


def test_a_stuck_member_holds_up_the_barrier_of_an_eager_group_alone() -> None:
    story = ProcessStalled(member="c-2", begin=9_000, end=29_000, how="stuck"), ProcessStarted(member="c-5", at=10_000)
    eager, cooperative = under("eager", *story), under("cooperative", *story)
    assert eager.stopped_ms.low > 14_000
    assert cooperative.stopped_ms.high == 0
    assert cooperative.partition_ms.high < eager.partition_ms.low


def test_a_member_stuck_beyond_max_poll_interval_leaves_at_once_unless_it_is_static() -> None:
    stuck = ProcessStalled(member="c-2", begin=9_000, end=80_000, how="stuck")
    dynamic, static = under("eager", stuck), under("eager, static", stuck)
    assert dynamic.partition_ms.high < 2 * (30_000 + 10_000)
    assert static.partition_ms.low >= 2 * (30_000 + 10_000)


def test_a_freeze_shorter_than_the_session_costs_the_freeze_alone() -> None:
    frozen = ProcessStalled(member="c-2", begin=9_000, end=15_000, how="frozen")
    for protocol in ("eager", "cooperative", "KIP-848"):
        found = under(protocol, frozen)
        assert found.partition_ms.low == found.partition_ms.high == 2 * 6_000


def test_faster_batches_cost_less_where_members_wait_for_polls() -> None:
    crash = ProcessEnded(member="c-2", at=9_000, how="died", last_heartbeat=7_000)
    fast = Pace(between_polls=(20, 20), heartbeat=3_000, session=10_000, poll_interval=30_000)
    for protocol in ("cooperative", "KIP-848"):
        assert under(protocol, crash, pace=fast).partition_ms.high < under(protocol, crash).partition_ms.low


def test_a_large_group_is_simulated_less_often() -> None:
    crowd = tuple(f"c-{number}" for number in range(30))
    sequence = FaultSequence(
        members=crowd,
        partitions=tuple(f"orders-{number}" for number in range(90)),
        faults=tuple(ProcessEnded(member=name, at=9_000, how="died") for name in crowd[:25]),
        begin=0,
        until=100_000,
        steady_for=600_000,
    )
    assert len(simulate(sequence, PACE, "eager").runs) == 48_000 // sequence.work == 16
