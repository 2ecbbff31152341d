"""Shorter timeouts: offered for the faults that waited for them, and worth what they are shorter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from rebalance_forensics.diagnosis.what_if.alternatives import KnownTimeouts, OtherTimeout, PollGap, other_timeouts
from rebalance_forensics.diagnosis.what_if.faults import (
    Fault,
    FaultSequence,
    Pace,
    ProcessEnded,
    ProcessStalled,
    ProcessStarted,
)
from rebalance_forensics.diagnosis.what_if.simulations import Protocol, simulate

TICK_MS = 300_000
KNOWN = KnownTimeouts(least_session=6_000, heartbeat=True, poll_interval=True)
PACE = Pace(between_polls=(500.0, 700.0), heartbeat=3_000, session=45_000, poll_interval=120_000)
BATCH = PollGap(low=500, likely=600, high=700, waits=5)
protocols = some.sampled_from(["eager", "cooperative", "eager, static", "cooperative, static"])


def to(*faults: Fault) -> FaultSequence:
    """Three members of six partitions, to whom something happens after a quarter of an hour."""
    return FaultSequence(
        members=("c-1", "c-2", "c-3"),
        partitions=tuple(f"orders-{number}" for number in range(6)),
        faults=faults,
        begin=900_000,
        until=900_000 + 2 * TICK_MS,
        steady_for=900_000,
    )


def died(at: int = 900_000) -> ProcessEnded:
    return ProcessEnded(member="c-2", at=at, how="died", last_heartbeat=at - 1_000)


def stuck(lasts: int) -> ProcessStalled:
    return ProcessStalled(member="c-2", begin=900_000, end=900_000 + lasts, how="stuck")


def offered(sequence: FaultSequence, pace: Pace = PACE, gap: PollGap = BATCH) -> dict[str, OtherTimeout]:
    return {one.name.split()[0]: one for one in other_timeouts(sequence, pace, gap, KNOWN)}


def test_each_fault_is_offered_the_timeout_that_it_waited_for() -> None:
    assert [one.name for one in offered(to(died())).values()] == ["session.timeout.ms of 20 s instead of 45 s"]
    (poll,) = offered(to(stuck(110_000))).values()
    assert poll.name == "max.poll.interval.ms of 1 min instead of 2 min"
    assert not offered(
        to(ProcessEnded(member="c-2", at=900_000, how="closed"), ProcessStarted(member="c-2", at=910_000))
    )


def test_no_session_is_shorter_than_three_heartbeats_or_than_the_broker_allows() -> None:
    slow_heartbeats = Pace(between_polls=(500.0, 700.0), heartbeat=8_000, session=45_000, poll_interval=120_000)
    assert not offered(to(died()), slow_heartbeats)
    strict = KnownTimeouts(least_session=30_000, heartbeat=True, poll_interval=True)
    assert not list(other_timeouts(to(died()), PACE, BATCH, strict))


def test_no_poll_interval_is_shorter_than_three_batches_of_members_in_good_health() -> None:
    slow = PollGap(low=20_000, likely=25_000, high=30_000, waits=5)
    assert not offered(to(stuck(110_000)), gap=slow)


def test_members_that_live_and_were_evicted_are_not_to_be_evicted_earlier() -> None:
    frozen = ProcessStalled(member="c-3", begin=900_000, end=980_000, how="frozen")
    assert not offered(to(stuck(200_000)))
    assert not offered(to(frozen))
    assert not offered(to(died(), frozen))


def test_a_heartbeat_interval_that_no_log_shows_is_a_condition() -> None:
    unknown = KnownTimeouts(least_session=6_000, heartbeat=False, poll_interval=True)
    (session,) = other_timeouts(to(died()), PACE, BATCH, unknown)
    assert session.condition == "if heartbeat.interval.ms is its default, 3 s"


@settings(max_examples=12, deadline=None)
@given(protocols, some.integers(900_000, 960_000))
def test_partitions_of_a_dead_member_are_unread_for_as_much_less_as_its_session_is_shorter(
    protocol: Protocol, at: int
) -> None:
    sequence = to(died(at))
    (shorter,) = offered(sequence).values()
    now, then = (simulate(sequence, pace, protocol).partition_ms.middle for pace in (PACE, shorter.pace))
    # Two of six partitions were its own; when the others poll next is chance, and cooperative ones poll several times.
    assert now - then == pytest.approx(2 * (PACE.session - shorter.pace.session), abs=2 * 4 * 700)


def test_a_straggler_holds_up_an_eager_rebalance_for_no_longer_than_the_poll_interval() -> None:
    sequence = to(ProcessStarted(member="c-4", at=900_100), stuck(110_000))
    (shorter,) = offered(sequence).values()
    now, then = (simulate(sequence, pace, "eager").stopped_ms.middle for pace in (PACE, shorter.pace))
    assert now > 100_000
    assert then == pytest.approx(shorter.pace.poll_interval, abs=5_000)
