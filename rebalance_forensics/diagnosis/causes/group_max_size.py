"""The group is full (GROUP_MAX_SIZE_REACHED, KIP-389)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import raise_group_size
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import (
    REJECTING,
    Refusal,
    Rejection,
    most_members,
    rejections,
    size_setting,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.rejections import REJECTED, about_rejection
from rebalance_forensics.timeline.group_timeline import Timeline

UNLIMITED = 2**31 - 1
"""The default of group.max.size (GroupCoordinatorConfig)."""
FULL = Refusal(frozenset({"GROUP_MAX_SIZE_REACHED"}), ("GroupMaxSizeReachedException",))


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients that were turned away because the group is full."""
    for rejection in rejections(timeline, FULL):
        yield about_rejection(
            timeline,
            rejection,
            narrative=f"{{who}} was rejected: the group is full{_limit(timeline, rejection)}.",
            advice=raise_group_size(timeline, rejection.events),
        )


def _limit(timeline: Timeline, rejection: Rejection) -> str:
    most, setting = most_members(timeline, rejection.events), size_setting(timeline)
    return f" ({setting} is {most})" if most is not None and most < UNLIMITED else f", it has {setting} members"


CAUSE = Cause(
    summary="The group is full, so a new member was rejected.",
    mechanism=(
        "group.max.size limits the members of a group (group.consumer.max.size, group.share.max.size and "
        "group.streams.max.size for the newer protocols). One more join fails with "
        "GROUP_MAX_SIZE_REACHED, which is fatal for the client; a running group is disturbed only when a coordinator "
        "loads it after the limit was lowered ('freshly loaded group is over capacity')."
    ),
    shows="GROUP_MAX_SIZE_REACHED in the client's log; the broker logs nothing at INFO.",
    remedy="Raise group.max.size, or start fewer members.",
    usual="fault",
    propose=propose,
    evidence_types=REJECTING,
    signs=(speaks_for(REJECTED, DECISIVE + WEAK),),
    implies=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("inconsistent-protocol", "authorization-failure"),
    settings=("group.max.size", "group.consumer.max.size", "group.share.max.size"),
    kips=("KIP-389",),
)
