"""A whole process stood still beyond session.timeout.ms and came back."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import (
    Absence,
    rounded_up,
    seconds,
    session_setting,
    session_timeout_ms,
    session_told_ms,
)
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.heartbeat_loss import hypothesis_about, lines_after, losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.signs import coordinator, heartbeats, returns, threads
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every member that stopped heartbeating and went on later may have stood still."""
    for absence in losses(timeline):
        own, told = lines_after(timeline, absence), session_told_ms(timeline)
        back_at = absence.back_at or 0
        back = f" and was back {seconds(back_at - absence.at)} later" if back_at >= absence.at else ""
        session = f" ({told} ms)" if told else ""
        yield hypothesis_about(
            timeline,
            absence,
            narrative=(
                f"{{who}} sent no heartbeat for session.timeout.ms{session}, was evicted{back}; "
                + ("its log is silent at that time, then resumes." if own else "none of its own logs tell more.")
            ),
            severity="warning",
            own=own,
            advice=_advice(timeline, absence),
        )


def _advice(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    session = session_timeout_ms(timeline)
    silent = session + max((absence.back_at or 0) - absence.at, 0)
    enough = rounded_up(silent)
    return (
        Advice(
            action="Look at GC logs, CPU throttling (cgroup nr_throttled) and VM steal of that process at that time.",
            why=f"Nothing of it ran for about {seconds(silent)}; the session timeout allows {seconds(session)}.",
        ),
        Advice(
            action=f"Raise {session_setting(timeline)} to about {enough} if such pauses are normal.",
            why="A pause shorter than the session timeout costs no rebalance.",
            cost=f"A dead member is then noticed after {seconds(enough)} rather than {seconds(session)}.",
        ),
    )


CAUSE = Cause(
    summary="A process stood still (GC, throttling, a suspended VM) longer than session.timeout.ms and then went on.",
    mechanism=(
        "Nothing of the process runs, its heartbeat thread included. The coordinator expires the session "
        "and gives its partitions away. When the process wakes up, its member id is unknown and it joins "
        "as a new member."
    ),
    shows=(
        "Heartbeat expiry on the coordinator; a gap in the client's log, then UNKNOWN_MEMBER_ID and a "
        "rejoin by the same process."
    ),
    remedy=(
        "Find what stops the process: heap and GC, CPU limits, disk waits, VM migration. A longer session timeout "
        "rides out short pauses; static membership does not."
    ),
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, STRONG, absent=DECISIVE),
        speaks_for(heartbeats.own_log_goes_on, STRONG, absent=DECISIVE),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_for(returns.came_back, 0, absent=DECISIVE),
        speaks_against(returns.not_back_yet, STRONG),
        speaks_against(heartbeats.disconnects, DECISIVE),
        speaks_against(returns.returned_unexplained, WEAK),
        speaks_against(heartbeats.awake_while_away, STRONG),
        speaks_against(returns.old_id_still_in, STRONG),
        speaks_against(heartbeats.unknown_at_sync_only, STRONG),
        speaks_against(heartbeats.too_short_to_tell, STRONG),
        speaks_for(heartbeats.gave_up_coordinator, 0, absent=WEAK),
        speaks_against(threads.other_threads_stayed, DECISIVE),
        speaks_against(coordinator.lost_in_the_move, STRONG),
    ),
    brings=("rebalance-straggler",),
    lookalikes=("process-crash", "network-partition", "slow-processing"),
    settings=("session.timeout.ms", "heartbeat.interval.ms"),
    kips=("KIP-62", "KIP-735"),
)
