"""Members of one name or template come and go again and again."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.flaps import flapping_members
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.restarts import CYCLED, TAKEN_OVER, about_flapping
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that shut down cleanly at least twice and came back, while others stayed throughout."""
    yield from (about_flapping(timeline, flapping) for flapping in flapping_members(timeline))


CAUSE = Cause(
    summary="The same members are added and removed again and again, usually by an autoscaler.",
    mechanism=(
        "Each step is a rebalance; its pause raises the lag that the autoscaler watches, which triggers the next step."
    ),
    shows="Alternating scale-out and scale-in of the same members while others stay.",
    remedy="Hysteresis: a longer stabilization window, or scaling on a smoother signal than lag.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(CYCLED, WEAK),
        speaks_for(TAKEN_OVER, WEAK),
        speaks_for(closes.shutdown_logged, WEAK),
        speaks_against(closes.error_before_close, STRONG, absent=STRONG),
    ),
    implies=("member-left", "scale-in", "scale-out", "rolling-restart"),
    lookalikes=("rolling-restart", "slow-processing", "thread-replacement"),
    settings=("session.timeout.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
