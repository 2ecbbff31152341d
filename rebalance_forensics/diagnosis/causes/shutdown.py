"""All members leave."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.departures import shutdowns
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.shutdowns import ALL_WENT, ONE_HEARD, about_shutdown
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every time the last member shuts down cleanly, with those that went shortly before."""
    yield from (about_shutdown(timeline, group) for group in shutdowns(timeline))


CAUSE = Cause(
    summary="All members left the group cleanly.",
    mechanism=(
        "Each close sends LeaveGroup; the coordinator rebalances among the remaining members until the group is Empty."
    ),
    shows="Leave reason 'the consumer is being closed' of every member, then 'Group … is now empty'.",
    remedy="Nothing to do. Offsets of an empty group expire after offsets.retention.minutes.",
    usual="benign",
    propose=propose,
    signs=(
        speaks_for(ALL_WENT, DECISIVE),
        speaks_against(ONE_HEARD, STRONG + WEAK),
        speaks_against(closes.error_before_close, STRONG),
        speaks_against(closes.why_unheard, STRONG + WEAK),
    ),
    brings=("scale-in", "member-left", "static-member-expired", "rolling-restart", "unsubscribe"),
    lookalikes=("process-crash", "streams-shutdown"),
    settings=("offsets.retention.minutes",),
)
