"""A member with no common assignor or another protocol type (INCONSISTENT_GROUP_PROTOCOL)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.join_rejections import REJECTED, rejected
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.timeline.build import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients whose assignors have nothing in common with the group's."""
    yield from rejected(
        timeline,
        frozenset({"INCONSISTENT_GROUP_PROTOCOL"}),
        ("InconsistentGroupProtocolException",),
        "was turned away: it shares no assignor (or not the protocol type) with the members of the group.",
        Advice(
            action="Give all members one common partition.assignment.strategy; migrate in two rolling restarts.",
            why="The coordinator only takes members that support an assignor all others support.",
            cost="Two rolling restarts: each costs a rebalance for every member that goes and comes.",
        ),
    )


CAUSE = Cause(
    summary="A member has no assignor, or not even the protocol type, in common with the group.",
    mechanism="The coordinator chooses an assignor that every member supports. A join without a common one fails with "
    "INCONSISTENT_GROUP_PROTOCOL, which is fatal for that client.",
    shows="INCONSISTENT_GROUP_PROTOCOL in the client's log; the broker logs nothing at INFO.",
    remedy="List the old and the new assignor in all members first, then drop the old one.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(REJECTED, DECISIVE + WEAK),),
    brings=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("group-max-size", "authorization-failure"),
    settings=("partition.assignment.strategy",),
    kips=("KIP-429",),
)
