"""A whole process stood still beyond session.timeout.ms and came back."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.heartbeat_losses import about_pause
from rebalance_forensics.diagnosis.signs import connections, coordinator, heartbeat_loops, heartbeats, returns, threads
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every member that stopped heartbeating and resumed later may have stood still."""
    yield from (about_pause(timeline, absence) for absence in losses(timeline))


CAUSE = Cause(
    summary="A process was paused (GC, CPU throttling, a suspended VM) beyond session.timeout.ms, then resumed.",
    mechanism=(
        "The whole process is frozen, including its heartbeat thread. The coordinator expires its session and gives its"
        " partitions away. When it wakes up, its member id is unknown and it joins as a new member."
    ),
    shows="Heartbeat expiry; a gap in the client's log, then UNKNOWN_MEMBER_ID and a rejoin by the same process.",
    remedy="Find out what pauses the process: heap and GC, CPU limits, disk waits, VM migration. A longer session "
    "timeout rides out short pauses; static membership does not.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, STRONG, absent=DECISIVE),
        speaks_for(heartbeats.own_log_continues, STRONG, absent=DECISIVE),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_for(returns.came_back, 0, absent=DECISIVE),
        speaks_against(returns.not_back_yet, STRONG),
        speaks_against(connections.disconnects, DECISIVE),
        speaks_against(returns.returned_unexplained, WEAK),
        speaks_against(heartbeats.awake_while_away, STRONG),
        speaks_against(connections.heard_until_lost, DECISIVE),
        speaks_against(connections.gave_up_unasked, DECISIVE),
        speaks_against(returns.old_id_still_in, STRONG),
        speaks_against(heartbeats.lost_before_its_assignment, STRONG),
        speaks_against(heartbeats.lost_before_its_log, STRONG),
        speaks_against(heartbeats.expelled_with_others, STRONG),
        speaks_against(heartbeats.paused_or_cut_off, STRONG),
        speaks_for(heartbeats.gave_up_coordinator, 0, absent=WEAK),
        speaks_against(heartbeat_loops.heartbeats_in_the_loop, WEAK),
        speaks_against(heartbeat_loops.heartbeats_between_records, WEAK),
        speaks_against(threads.other_threads_stayed, DECISIVE),
        speaks_against(coordinator.lost_in_the_move, STRONG),
    ),
    implies=("rebalance-straggler", "startup"),
    lookalikes=("process-crash", "network-partition", "slow-processing"),
    settings=("session.timeout.ms", "heartbeat.interval.ms"),
    kips=("KIP-62", "KIP-735"),
)
