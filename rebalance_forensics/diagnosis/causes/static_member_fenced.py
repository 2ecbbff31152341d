"""Two live members share a group.instance.id (FENCED_INSTANCE_ID, KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.fences import FENCING, fences
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.rejections import about_fence
from rebalance_forensics.diagnosis.signs.fences import BOTH_SEEN, FENCED, HOLDER_UNHEARD, ONCE, PERHAPS_REMOVED
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every instance id of which one member fenced another."""
    yield from (about_fence(timeline, fence) for fence in fences(timeline))


CAUSE = Cause(
    summary="Two running members share one group.instance.id and fence each other.",
    mechanism=(
        "The coordinator maps an instance id to one member. A second process that joins with it takes its place; the "
        "first one's next request fails with FENCED_INSTANCE_ID, which is fatal for it. Under KIP-848 the first one "
        "keeps its place while it is running, and the second is rejected with UNRELEASED_INSTANCE_ID."
    ),
    shows="FENCED_INSTANCE_ID on the client, 'is fenced by' on the coordinator; UNRELEASED_INSTANCE_ID under KIP-848.",
    remedy="Make instance ids unique: derive them from the pod's ordinal, not from the image or a copied "
    "configuration.",
    usual="fault",
    propose=propose,
    evidence_types=FENCING,
    signs=(
        speaks_for(FENCED, STRONG + WEAK),
        speaks_for(BOTH_SEEN, STRONG),
        speaks_against(PERHAPS_REMOVED, WEAK),
        speaks_against(ONCE, WEAK),
        speaks_against(HOLDER_UNHEARD, STRONG),
    ),
    implies=(
        "static-member-restart",
        "scaling-flap",
        "member-left",
        "process-pause",
        "scale-out",
        "rolling-restart",
        "static-member-expired",
    ),
    lookalikes=("static-member-restart",),
    settings=("group.instance.id",),
    kips=("KIP-345", "KIP-848"),
)
