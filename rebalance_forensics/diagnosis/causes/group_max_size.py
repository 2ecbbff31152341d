"""The group is full (GROUP_MAX_SIZE_REACHED, KIP-389)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.join_rejections import REJECTED, rejected
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients that were turned away because the group is full."""
    yield from rejected(
        timeline,
        frozenset({"GROUP_MAX_SIZE_REACHED"}),
        ("GroupMaxSizeReachedException",),
        "was turned away: the group already has group.max.size members.",
        Advice(
            action="Raise group.max.size on the brokers, or do not start more members than it allows.",
            why=_why(timeline),
            cost="Larger groups rebalance more slowly.",
        ),
    )


def _why(timeline: Timeline) -> str:
    """Members of a share group share partitions, so more of them than partitions have work."""
    refused_only = "The coordinator refuses the join"
    idle = "; a member beyond the partition count would idle anyway"
    return f"{refused_only}{'' if timeline.protocol == 'share' else idle}."


CAUSE = Cause(
    summary="The group is full: a would-be member was turned away.",
    mechanism=(
        "group.max.size bounds the members of a group (group.consumer.max.size, group.share.max.size and "
        "group.streams.max.size those of the protocols since KIP-848). The join of one more fails with "
        "GROUP_MAX_SIZE_REACHED, which is fatal for the client; a running group is disturbed only when a coordinator "
        "loads it after the limit was lowered ('freshly loaded group is over capacity')."
    ),
    shows="GROUP_MAX_SIZE_REACHED in the client's log; the broker logs nothing at INFO.",
    remedy="Raise group.max.size, or start fewer members.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(REJECTED, DECISIVE + WEAK),),
    brings=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("inconsistent-protocol", "authorization-failure"),
    settings=("group.max.size", "group.consumer.max.size", "group.share.max.size"),
    kips=("KIP-389",),
)
