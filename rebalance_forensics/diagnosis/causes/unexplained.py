"""A rebalance whose cause the logs do not show; engine/remainder.py makes it of what no other cause explains."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import STRONG, Cause, speaks_against
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.signs import leads
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Nothing by itself: what is left over is known only after every other cause has spoken."""
    del timeline
    yield from ()


CAUSE = Cause(
    summary="A rebalance, or a member that never joined, whose cause the logs do not show.",
    mechanism=(
        "Something made the coordinator rebalance or kept a member out, and the lines that would name it are missing: "
        "a log is missing, a log level is too high, the logs cover too little time, or a client logs nothing."
    ),
    shows=(
        "A new generation without a departure, an arrival, a changed subscription or metadata, or a coordinator move; "
        "members that subscribed but never were in a generation; Connect workers that stay behind in the config topic "
        "and rejoin for it."
    ),
    remedy="Add the logs that the gaps name: the coordinator's server.log and the members' logs at INFO.",
    usual="unknown",
    propose=propose,
    signs=(
        # A lead that is there speaks against "nobody knows"; what matters is where each was looked for.
        speaks_against(leads.membership_changed, STRONG),
        speaks_against(leads.rejoin_requested, STRONG),
        speaks_against(leads.coordinator_moved, STRONG),
    ),
)
