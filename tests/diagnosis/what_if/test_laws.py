"""What holds whatever happens to a group, under every protocol."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from rebalance_forensics.diagnosis.what_if.faults import (
    Fault,
    FaultSequence,
    Pace,
    ProcessEnded,
    ProcessStalled,
    ProcessStarted,
)
from rebalance_forensics.diagnosis.what_if.simulations import (
    Protocol,
    Reading,
    Unread,
    group_of,
    range_assignment,
    simulate,
    sticky_assignment,
    unread_of,
)

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
LONG_MS = 400_000
"""Longer than every timeout of a pace together."""
paces = some.builds(
    Pace,
    between_polls=some.sampled_from([(10.0, 40.0), (500.0, 900.0), (2_000.0, 2_000.0), (6_000.0, 9_000.0)]),
    heartbeat=some.sampled_from([1_000, 3_000]),
    session=some.sampled_from([6_000, 10_000, 45_000]),
    poll_interval=some.sampled_from([20_000, 60_000]),
    commits_first=some.booleans(),
)
moments = some.integers(10_000, 120_000)


@some.composite
def lives(draw: some.DrawFn, name: str) -> list[Fault]:
    """What happens to one member: it stands still, or goes and may come back."""
    at, lasts = draw(moments), draw(some.integers(100, 90_000))
    match draw(some.sampled_from(["nothing", "frozen", "stuck", "closed", "died", "restarted", "crashed"])):
        case "frozen":
            return [ProcessStalled(member=name, begin=at, end=at + lasts, how="frozen")]
        case "stuck":
            return [ProcessStalled(member=name, begin=at, end=at + lasts, how="stuck")]
        case "closed":
            return [ProcessEnded(member=name, at=at, how="closed")]
        case "died":
            return [ProcessEnded(member=name, at=at, how="died")]
        case "restarted":
            return [ProcessEnded(member=name, at=at, how="closed"), ProcessStarted(member=name, at=at + lasts)]
        case "crashed":
            return [ProcessEnded(member=name, at=at, how="died"), ProcessStarted(member=name, at=at + lasts)]
        case _:
            return []


@some.composite
def sequences(draw: some.DrawFn) -> FaultSequence:
    """Faults of a few members, of whom the first one has none; perhaps some newcomers."""
    members = [f"c-{number}" for number in range(draw(some.integers(1, 4)))]
    faults = [fault for name in members[1:] for fault in draw(lives(name))]
    faults += [ProcessStarted(member=f"new-{number}", at=draw(moments)) for number in range(draw(some.integers(0, 2)))]
    partitions = tuple(f"orders-{number}" for number in range(draw(some.integers(1, 7))))
    return FaultSequence(
        members=tuple(members),
        partitions=partitions,
        faults=tuple(faults),
        begin=0,
        until=210_000 + LONG_MS,
        steady_for=draw(some.integers(0, 10_000_000)),
    )


def held_in(sequence: FaultSequence, pace: Pace, protocol: Protocol, seed: int) -> list[Reading]:
    chance = Random(seed)  # noqa: S311 - phases of poll loops
    return group_of(sequence, pace, protocol, chance).run()


def once(sequence: FaultSequence, pace: Pace, protocol: Protocol) -> Unread:
    return unread_of(sequence, held_in(sequence, pace, protocol, 1))


@settings(max_examples=60, deadline=None)
@given(sequences(), paces, some.sampled_from(PROTOCOLS), some.integers(0, 9))
def test_no_partition_is_read_by_two(sequence: FaultSequence, pace: Pace, protocol: Protocol, seed: int) -> None:
    held = held_in(sequence, pace, protocol, seed)
    for partition in sequence.partitions:
        spans = sorted((one.begin, one.end) for one in held if one.partition == partition)
        assert all(before[1] <= after[0] for before, after in pairwise(spans)), spans


@settings(max_examples=60, deadline=None)
@given(sequences(), paces, some.sampled_from(PROTOCOLS))
def test_nothing_is_unread_before_the_first_fault(sequence: FaultSequence, pace: Pace, protocol: Protocol) -> None:
    first = min([10_000, *(f.begin if isinstance(f, ProcessStalled) else f.at for f in sequence.faults)])
    found = once(sequence, pace, protocol)
    assert all(begin >= first for spans in found.spans.values() for begin, _ in spans)


@settings(max_examples=60, deadline=None)
@given(sequences(), paces, some.sampled_from(PROTOCOLS))
def test_everything_is_read_again_once_the_faults_are_over(
    sequence: FaultSequence, pace: Pace, protocol: Protocol
) -> None:
    found = once(sequence, pace, protocol)
    assert all(end < sequence.until for spans in found.spans.values() for _, end in spans)


@settings(max_examples=60, deadline=None)
@given(sequences(), paces, some.sampled_from(PROTOCOLS))
def test_a_stop_of_the_whole_group_is_a_stop_of_each_partition(
    sequence: FaultSequence, pace: Pace, protocol: Protocol
) -> None:
    found = once(sequence, pace, protocol)
    assert found.partition_ms >= len(sequence.partitions) * found.stopped_ms - 1e-3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_a_fault_nothing_is_unread(protocol: Protocol) -> None:
    quiet = FaultSequence(
        members=("c-1", "c-2"), partitions=("t-0", "t-1", "t-2"), faults=(), begin=0, until=60_000, steady_for=5_000
    )
    pace = Pace(between_polls=(100, 200), heartbeat=3_000, session=10_000, poll_interval=300_000)
    found = simulate(quiet, pace, protocol)
    assert (found.partition_ms.high, found.stopped_ms.high) == (0, 0)
    assert found == simulate(quiet, pace, protocol)


@given(some.integers(1, 6), some.integers(0, 12))
def test_assignors_give_each_partition_once_and_evenly(members: int, partitions: int) -> None:
    names = [f"c-{number}" for number in range(members)]
    every = [f"t-{number}" for number in range(partitions)]
    for given_out in (range_assignment(names, every), sticky_assignment(names, every, {})):
        assert sorted(p for mine in given_out.values() for p in mine) == sorted(every)
        assert max(map(len, given_out.values())) - min(map(len, given_out.values())) <= 1


@given(some.integers(1, 6), some.integers(1, 12), some.integers(0, 5))
def test_a_sticky_assignor_moves_no_more_than_a_newcomer_needs(members: int, partitions: int, gone: int) -> None:
    names = [f"c-{number}" for number in range(members)]
    every = [f"t-{number}" for number in range(partitions)]
    held = sticky_assignment(names, every, {})
    wider = sticky_assignment([*names, "new"], every, held)
    assert all(wider[name] <= held[name] for name in names)
    left = [name for name in names if name != f"c-{gone}"] or names
    assert all(held[name] <= sticky_assignment(left, every, held)[name] for name in left)
