"""A member lived but could not reach the brokers."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.heartbeat_losses import about_lost_connection
from rebalance_forensics.diagnosis.signs import connections, coordinator, heartbeats, returns, threads
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every member that stopped heartbeating may have been cut off."""
    yield from (about_lost_connection(timeline, absence) for absence in losses(timeline))


CAUSE = Cause(
    summary="A member was running but could not reach the brokers for longer than session.timeout.ms.",
    mechanism=(
        "Heartbeats do not arrive; the coordinator expires the session. The member keeps trying, finds "
        "its coordinator again when the network is back, learns UNKNOWN_MEMBER_ID and rejoins."
    ),
    shows=(
        "Heartbeat expiry on the coordinator while the client's own log continues with disconnects, request"
        " timeouts and lost coordinators."
    ),
    remedy="Fix the network path; interruptions shorter than session.timeout.ms cause no rebalance.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, 0, absent=DECISIVE),
        speaks_for(connections.disconnects, STRONG + WEAK, absent=DECISIVE),
        speaks_for(connections.cut_off_alone, STRONG),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_for(returns.came_back, 0, absent=STRONG),
        speaks_against(returns.not_back_yet, WEAK),
        speaks_for(heartbeats.own_log_continues, 0, absent=DECISIVE),
        speaks_against(threads.other_threads_stayed, DECISIVE),
        speaks_against(coordinator.lost_in_the_move, STRONG),
    ),
    prior=-WEAK,
    implies=("rebalance-straggler", "startup"),
    lookalikes=("process-crash", "process-pause", "coordinator-failover"),
    settings=("session.timeout.ms", "request.timeout.ms"),
    kips=("KIP-62",),
)
