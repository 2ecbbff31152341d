"""A member lived but could not reach the brokers."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import (
    Absence,
    rounded_up,
    seconds,
    session_setting,
    session_timeout_ms,
    span,
)
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.heartbeat_loss import hypothesis_about, losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.signs import coordinator, heartbeats, returns, threads
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every member that stopped heartbeating may have been cut off."""
    for absence in losses(timeline):
        own = heartbeats.troubled(timeline, absence)[:6]
        known = "its log shows lost connections to the brokers" if own else "none of its own logs tell more"
        yield hypothesis_about(
            timeline,
            absence,
            narrative=f"{{who}} was evicted for missing heartbeats while still running: {known}.",
            severity="warning" if absence.back_at is not None else "critical",
            own=own,
            advice=_advice(timeline, absence),
        )


def _advice(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    session = session_timeout_ms(timeline)
    cut_off = session + max((absence.back_at if absence.back_at is not None else timeline.last) - absence.at, 0)
    lost = timeline.said_by(absence.actor, NodeDisconnected, CoordinatorLost).between(
        absence.at - session, absence.at + cut_off
    )
    check = Advice(
        action=(
            "Check the network between that host and the brokers at that time: links, security groups, conntrack, DNS."
        ),
        why=f"It logged {len(lost)} lost connections{span(lost)} and was cut off for about {seconds(cut_off)}.",
    )
    if absence.back_at is None:
        return (check,)
    enough = rounded_up(cut_off)
    patience = Advice(
        action=f"Raise {session_setting(timeline)} to about {enough} to ride out such outages.",
        why=f"It allows {seconds(session)}; a shorter outage costs no rebalance.",
        cost=f"A dead member is then noticed after {seconds(enough)}, and its partitions go unread as long.",
    )
    return check, patience


CAUSE = Cause(
    summary="A member lived but could not reach the brokers for longer than session.timeout.ms.",
    mechanism=(
        "Heartbeats do not arrive; the coordinator expires the session. The member keeps trying, finds "
        "its coordinator again when the network is back, learns UNKNOWN_MEMBER_ID and rejoins."
    ),
    shows=(
        "Heartbeat expiry on the coordinator while the client's own log goes on with disconnects, request"
        " timeouts and lost coordinators."
    ),
    remedy="Fix the network path; session.timeout.ms decides how long an interruption may last.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, 0, absent=DECISIVE),
        speaks_for(heartbeats.disconnects, STRONG + WEAK, absent=DECISIVE),
        speaks_for(heartbeats.cut_off_alone, STRONG),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_for(returns.came_back, 0, absent=STRONG),
        speaks_against(returns.not_back_yet, WEAK),
        speaks_for(heartbeats.own_log_goes_on, 0, absent=DECISIVE),
        speaks_against(threads.other_threads_stayed, DECISIVE),
        speaks_against(coordinator.lost_in_the_move, STRONG),
    ),
    prior=-WEAK,
    brings=("rebalance-straggler",),
    lookalikes=("process-crash", "process-pause", "coordinator-failover"),
    settings=("session.timeout.ms", "request.timeout.ms"),
    kips=("KIP-62",),
)
