"""Members were removed for good."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.scaling_steps import removals, unlogged_removals
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.scaling import about_removals
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.diagnosis.signs import coordinator, heartbeats, others, returns
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that shut down cleanly, or may have, and did not come back, while others stayed."""
    for group in (*removals(timeline), *([away] for away in unlogged_removals(timeline))):
        yield about_removals(timeline, group)


CAUSE = Cause(
    summary="Members were removed for good.",
    mechanism=(
        "Each close sends LeaveGroup and causes a rebalance among the rest. A Streams instance sends "
        "none: its members are evicted when their session expires."
    ),
    shows="Leaves without joins; the log of the member shows a clean close without an exception before it.",
    remedy="Nothing to do. A static member of Streams leaves at once when closed with CloseOptions.leaveGroup(true).",
    usual="planned",
    kips=("KIP-812",),
    propose=propose,
    signs=(
        speaks_for(closes.closed, STRONG, absent=DECISIVE),
        speaks_for(closes.shutdown_logged, STRONG),
        speaks_against(closes.error_before_close, DECISIVE),
        speaks_against(closes.only_reason_logged, WEAK),
        speaks_against(closes.thread_left, STRONG),
        speaks_against(closes.task_left, STRONG),
        speaks_against(returns.came_back, DECISIVE),
        speaks_against(coordinator.lost_in_the_move, STRONG),
        speaks_for(heartbeats.closes_without_leaving, WEAK),
        speaks_for(heartbeats.closes_without_a_line, WEAK),
        speaks_for(heartbeats.log_just_ends, WEAK),
        speaks_for(returns.logs_continue_long_enough, 0, absent=STRONG),
        speaks_for(others.others_stayed, 0, absent=DECISIVE),
        speaks_against(others.others_unheard, STRONG),
        speaks_against(others.as_many_as_before, STRONG),
    ),
    lookalikes=("member-left", "process-crash", "rolling-restart", "shutdown"),
    settings=("session.timeout.ms", "num.standby.replicas"),
)
