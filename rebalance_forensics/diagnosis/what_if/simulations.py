"""An incident replayed many times under one protocol: nobody knows where in its batch a member was."""

from __future__ import annotations

from random import Random
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.what_if.classic_group import ClassicGroup
from rebalance_forensics.diagnosis.what_if.epoch_group import EpochGroup
from rebalance_forensics.diagnosis.what_if.faults import FaultSequence, Pace
from rebalance_forensics.diagnosis.what_if.simulated_group import SimulatedGroup
from rebalance_forensics.diagnosis.what_if.unread import Unread, unread_of

Protocol = Literal["eager", "eager, static", "cooperative", "cooperative, static", "KIP-848"]
RUNS = 40
FEWEST_RUNS = 9
WORK = 48_000
"""What all runs together may take, so that nobody waits for an answer to `what if`: large groups get fewer runs."""
LEFT_OUT = 0.1
"""The range leaves out the tenth with the lowest and the tenth with the highest figures."""


class Spread(Struct, frozen=True, kw_only=True):
    """A figure with its uncertainty: the median of all replays, and where four in five of them lie."""

    low: float
    middle: float
    high: float


class Simulated(Struct, frozen=True, kw_only=True):
    """The two figures of an incident under one protocol, in milliseconds, and every replay behind them."""

    partition_ms: Spread
    stopped_ms: Spread
    runs: tuple[Unread, ...]


def simulate(sequence: FaultSequence, pace: Pace, protocol: Protocol) -> Simulated:
    """Replay an incident; the same input gives the same figures."""
    runs = min(RUNS, max(FEWEST_RUNS, WORK // max(1, sequence.work)))
    found = tuple(_once(sequence, pace, protocol, seed) for seed in range(runs))
    return Simulated(
        partition_ms=spread_of([one.partition_ms for one in found]),
        stopped_ms=spread_of([one.stopped_ms for one in found]),
        runs=found,
    )


def _once(sequence: FaultSequence, pace: Pace, protocol: Protocol, seed: int) -> Unread:
    chance = Random(seed)  # noqa: S311 - phases of poll loops, no secrets
    return unread_of(sequence, group_of(sequence, pace, protocol, chance).run())


def group_of(sequence: FaultSequence, pace: Pace, protocol: Protocol, chance: Random) -> SimulatedGroup:
    """The model of a protocol."""
    if protocol == "KIP-848":
        return EpochGroup(sequence, pace, chance)
    static, cooperative = protocol.endswith("static"), protocol.startswith("cooperative")
    return ClassicGroup(sequence, pace, chance, cooperative=cooperative, static=static)


def spread_of(figures: list[float]) -> Spread:
    """The median, and where the middle four fifths lie."""
    known = sorted(figures)
    out = round(LEFT_OUT * (len(known) - 1))
    return Spread(low=known[out], middle=known[len(known) // 2], high=known[-1 - out])
