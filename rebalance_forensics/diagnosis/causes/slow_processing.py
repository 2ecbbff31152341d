"""A member did not call poll() for max.poll.interval.ms (KIP-62, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import poll_timeouts
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.poll_timeouts import about_poll_timeouts
from rebalance_forensics.diagnosis.signs import departures, heartbeat_loops, heartbeats, threads
from rebalance_forensics.diagnosis.signs.poll_timeouts import BY_TURNS, OUT_OF_REACH, SAME_PROCESS
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members whose poll timeout expired or may have expired."""
    yield from (about_poll_timeouts(timeline, slow) for slow in poll_timeouts(timeline))


CAUSE = Cause(
    summary="A member took longer than max.poll.interval.ms between two calls of poll() and left the group.",
    mechanism=(
        "The heartbeat thread checks the time since the last poll(); past max.poll.interval.ms it sends LeaveGroup by "
        "itself, the group rebalances, and the member rejoins when it polls again: two rebalances for one slow loop. "
        "A static member sends none; it stays in the group until its session expires."
    ),
    shows="Client: 'consumer poll timeout has expired'. Broker: the same leave reason since 3.2, only a leave before.",
    remedy="Make the loop faster (max.poll.records, timeouts on the calls it makes), or raise max.poll.interval.ms.",
    usual="fault",
    propose=propose,
    prior=-WEAK,
    signs=(
        speaks_for(departures.poll_timeout_logged, DECISIVE + STRONG, absent=STRONG),
        speaks_for(SAME_PROCESS, STRONG + WEAK),
        speaks_for(BY_TURNS, STRONG),
        speaks_against(OUT_OF_REACH, STRONG + WEAK),
        speaks_for(heartbeat_loops.heartbeats_in_the_loop, STRONG + WEAK),
        speaks_for(heartbeat_loops.heartbeats_between_records, WEAK),
        speaks_for(threads.other_threads_stayed, DECISIVE),
        speaks_against(heartbeats.expiry_logged, DECISIVE - STRONG),
        speaks_for(heartbeats.awake_without_a_leave, STRONG + WEAK),
        speaks_for(heartbeats.own_log_continues, 0, absent=DECISIVE),
        speaks_for(heartbeats.learned_by_commit, STRONG),
        speaks_for(heartbeats.lost_before_its_log, WEAK),
        speaks_against(heartbeats.gave_up_coordinator, WEAK),
        speaks_against(departures.other_reason_logged, DECISIVE),
        speaks_against(departures.reason_cut_off, WEAK),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
    ),
    brings=(
        *("rebalance-straggler", "member-left", "scaling-flap", "startup"),
        *("unstable-leader", "scale-out", "scale-in"),
    ),
    lookalikes=("process-pause", "process-crash", "network-partition", "member-left"),
    settings=("max.poll.interval.ms", "max.poll.records", "group.instance.id"),
    kips=("KIP-62", "KIP-800", "KIP-345"),
)
