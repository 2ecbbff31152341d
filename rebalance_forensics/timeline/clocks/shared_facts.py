"""Facts that a coordinator and a client both log: what tells how far their clocks are apart."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import MemberTransitioned, TargetAssignmentComputed
from rebalance_forensics.events.membership import MemberIdIssued, MemberLeft
from rebalance_forensics.events.rebalances import (
    AssignmentReceived,
    GenerationStabilized,
    JoinRequested,
    JoinSucceeded,
    SyncSucceeded,
)

_TOLD = frozenset({GenerationStabilized, AssignmentReceived, MemberIdIssued, TargetAssignmentComputed, MemberLeft})
"""What coordinators log of them."""


class SharedFacts:
    """When the reference clock saw facts that clients also report; the first time counts."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, object], int] = {}
        self.left: dict[str, int] = {}

    def add(self, key: tuple[str, object], at: int) -> None:
        """Keep the first time of a fact."""
        self.told[key] = min(at, self.told.get(key, at))


def facts_of(stamped: Iterable[tuple[Event, int]]) -> SharedFacts:
    """What coordinators logged, each event with its time."""
    facts = SharedFacts()
    for event, at in stamped:
        if type(event) not in _TOLD:
            continue
        match event:
            case GenerationStabilized(generation=n):
                facts.add(("joined", n), at)
            case AssignmentReceived(generation=n):
                facts.add(("synced", n), at)
            case MemberIdIssued(member=m) if m is not None:
                facts.add(("issued", m), at)
            case TargetAssignmentComputed(epoch=n):
                facts.add(("epoch", n), at)
            case MemberLeft(member=m) if m is not None:
                facts.left[m] = at
    return facts


def fact_in(event: Event) -> tuple[str, object] | None:
    """The shared fact that a client reports, right after the coordinator logged it."""
    match event:
        case JoinSucceeded(generation=n, after_sync=False):
            return "joined", n
        case JoinSucceeded(generation=n, after_sync=True) | SyncSucceeded(generation=n):
            return "synced", n
        case JoinRequested(why="member-id-required", member=m) if m is not None:
            return "issued", m
        case MemberTransitioned(epoch=n, after="RECONCILING") if n:
            return "epoch", n
    return None
