"""The group is full (GROUP_MAX_SIZE_REACHED, KIP-389)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator import join_rejections
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import how_often
from rebalance_forensics.timeline.group_timeline import Timeline

# The default of group.max.size (GroupCoordinatorConfig).
UNLIMITED = 2**31 - 1


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Clients that were rejected because the group is full."""
    setting = join_rejections.size_setting(timeline)
    # Members of a share group share partitions, so that members beyond the number of partitions are not idle.
    idle = "" if timeline.protocol == "share" else "; members beyond the number of partitions are idle anyway"
    for rejection in join_rejections.rejections(timeline, "GROUP_MAX_SIZE_REACHED"):
        most = join_rejections.most_members(timeline, rejection.events)
        known = most is not None and most < UNLIMITED
        full = f"is full ({setting} is {most})" if known else f"already has {setting} members"
        more = Advice(
            action=f"Raise {setting} on the brokers, or do not start more members than it allows.",
            why=f"The coordinator rejected the join {how_often(rejection.events)}{idle}.",
            cost="Larger groups rebalance more slowly.",
        )
        narrative = f"{{who}} was rejected: the group {full}."
        yield join_rejections.about_rejection(timeline, rejection, narrative=narrative, advice=(more,))


CAUSE = Cause(
    propose=propose,
    evidence_types=join_rejections.REJECTING,
    implies=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("inconsistent-protocol", "authorization-failure"),
)
