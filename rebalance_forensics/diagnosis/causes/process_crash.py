"""A process died without leaving."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.deaths import death_of
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses
from rebalance_forensics.diagnosis.episodes.members.restarts import successors
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.heartbeat_losses import about_crash
from rebalance_forensics.diagnosis.sign import Answer, Present, Subject, Unobservable, sign
from rebalance_forensics.diagnosis.signs import connections, coordinator, heartbeats, returns, threads
from rebalance_forensics.timeline.group_timeline import Timeline


@sign(present="the end of its process was logged", absent="")
def said_to_have_died(timeline: Timeline, subject: Subject) -> Answer:
    """A JVM logged the end of the member's process; most processes die without a line."""
    deaths = tuple(e for a in subject.absences if (e := death_of(timeline, a)) is not None)
    return Present(deaths) if deaths else Unobservable()


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every member that stopped heartbeating may have died."""
    replaced = successors(timeline)
    yield from (about_crash(timeline, absence, replaced.get(id(absence), ())) for absence in losses(timeline))


CAUSE = Cause(
    summary="A process died (kill -9, OOM, node loss) without leaving the group.",
    mechanism=(
        "No LeaveGroup is sent. The coordinator waits session.timeout.ms, removes the member and rebalances; "
        "meanwhile its partitions are unread. A restarted process joins as a new member and causes another rebalance."
    ),
    shows="Heartbeat expiry, and nothing more from the member or a new process of its name; a log that stops abruptly.",
    remedy="Find out why the process died. A static member that is back within its session causes no rebalance.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, STRONG, absent=DECISIVE),
        speaks_for(said_to_have_died, DECISIVE),
        speaks_for(heartbeats.new_process, STRONG, absent=STRONG),
        speaks_against(heartbeats.old_id_used_again, DECISIVE),
        speaks_against(heartbeats.own_log_continues, STRONG + WEAK, absent=STRONG),
        speaks_against(heartbeats.logged_its_own_loss, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_against(connections.disconnects, STRONG),
        speaks_against(returns.returned_unexplained, STRONG),
        speaks_against(returns.back_in_time, STRONG + WEAK),
        speaks_for(returns.not_back_yet, WEAK),
        speaks_against(returns.may_be_back_unnamed, STRONG),
        speaks_against(heartbeats.closes_without_leaving, WEAK),
        speaks_against(heartbeats.closes_without_a_line, WEAK),
        speaks_against(heartbeats.log_just_ends, STRONG + WEAK),
        speaks_against(heartbeats.log_breaks_off, STRONG + WEAK),
        speaks_against(threads.other_threads_stayed, DECISIVE),
        speaks_against(coordinator.lost_in_the_move, STRONG),
        speaks_for(returns.logs_continue_long_enough, 0, absent=WEAK),
        speaks_against(returns.return_left_out, WEAK),
        speaks_against(returns.logs_end_at_once, WEAK),
    ),
    implies=("rebalance-straggler", "scale-out", "startup"),
    lookalikes=("process-pause", "network-partition", "slow-processing", "scale-in"),
    settings=("session.timeout.ms",),
    kips=("KIP-62", "KIP-345"),
)
