"""A member with no common assignor or another protocol type (INCONSISTENT_GROUP_PROTOCOL)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.finding import Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.refusals import refused
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame clients whose assignors have nothing in common with the group's."""
    yield from refused(
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


RULE = Rule(
    summary="A member has no assignor, or not even the protocol type, in common with the group.",
    mechanism="The coordinator chooses an assignor that every member supports. A join without a common one fails with "
    "INCONSISTENT_GROUP_PROTOCOL, which is fatal for that client.",
    signs="INCONSISTENT_GROUP_PROTOCOL in the client's log; the broker logs nothing at INFO.",
    remedy="List the old and the new assignor in all members first, then drop the old one.",
    usual="fault",
    rank=10,
    diagnose=diagnose,
    settings=("partition.assignment.strategy",),
    kips=("KIP-429",),
)
