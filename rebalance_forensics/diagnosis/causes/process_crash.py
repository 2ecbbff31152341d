"""A process died without leaving."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import Absence, seconds, session_setting, session_told_ms
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.departures_and_restarts import successors
from rebalance_forensics.diagnosis.heartbeat_loss import hypothesis_about, last_line, losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.signs import coordinator, heartbeats, returns, threads
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every member that stopped heartbeating may have died."""
    replaced = successors(timeline)
    for absence in losses(timeline):
        newcomers = replaced.get(id(absence), ())
        back = absence.back_at is not None or absence.start is not None or bool(newcomers)
        yield hypothesis_about(
            timeline,
            absence,
            narrative=f"{{who}} stopped without leaving the group: {_how(timeline, absence)}; {_then(absence, back)}.",
            severity="warning" if back else "critical",
            own=last_line(timeline, absence),
            brings=newcomers,
            advice=_advice(timeline, absence),
        )


def _how(timeline: Timeline, absence: Absence) -> str:
    if all(d.why == "vanished" for d in absence.departures):
        return "it was missing from the next generation"
    session = session_told_ms(timeline)
    return f"its session expired{f' after {seconds(session)}' if session else ''}"


def _then(absence: Absence, back: bool) -> str:  # noqa: FBT001
    if absence.start is not None:
        return "a new process of it started afterwards"
    if absence.back_at is not None:
        return "it joined again later"
    return "a newcomer took its place" if back else "nothing more was seen of it"


def _advice(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    session = session_told_ms(timeline)
    lasted = f" for {seconds(session)}" if session else ""
    return (
        Advice(
            action=(
                "Find out how that process ended: kernel OOM killer, container exit code, hs_err file, liveness probe."
            ),
            why="Its log ends without a shutdown." if absence.actor.has_log else f"It sent no heartbeat{lasted}.",
        ),
        Advice(
            action=f"Lower {session_setting(timeline)} if another member must take over sooner "
            "(not below group.min.session.timeout.ms, 6000 by default).",
            why=f"Its partitions had no reader{lasted} until its session expired.",
            cost="A pause longer than the new timeout then costs a rebalance (process-pause).",
        ),
    )


CAUSE = Cause(
    summary="A process died (kill -9, OOM, node loss) without leaving the group.",
    mechanism=(
        "No LeaveGroup is sent. The coordinator waits session.timeout.ms, removes the member and "
        "rebalances; meanwhile its partitions have no reader. A restarted process joins as a new member "
        "and causes another rebalance."
    ),
    shows=(
        "Heartbeat expiry on the coordinator and nothing more from the member, or a new process start "
        "under the same name; a log that stops in mid-sentence."
    ),
    remedy=(
        "Find out why the process died; restart it faster than session.timeout.ms with static membership to "
        "avoid the rebalance."
    ),
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, STRONG, absent=DECISIVE),
        speaks_for(heartbeats.new_process, STRONG, absent=STRONG),
        speaks_against(heartbeats.old_id_used_again, DECISIVE),
        speaks_against(heartbeats.own_log_goes_on, STRONG + WEAK, absent=STRONG),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_against(heartbeats.disconnects, STRONG),
        speaks_against(returns.returned_unexplained, STRONG),
        speaks_for(returns.not_back_yet, WEAK),
        speaks_against(returns.may_be_back_unnamed, STRONG),
        speaks_against(heartbeats.closes_without_leaving, WEAK),
        speaks_against(threads.other_threads_stayed, DECISIVE),
        speaks_against(coordinator.lost_in_the_move, STRONG),
        speaks_for(returns.logs_go_on_long_enough, 0, absent=WEAK),
        speaks_against(returns.logs_end_at_once, WEAK),
    ),
    brings=(
        "rebalance-straggler",
        "scale-out",
    ),
    lookalikes=("process-pause", "network-partition", "slow-processing", "scale-in"),
    settings=("session.timeout.ms",),
    kips=("KIP-62", "KIP-345"),
)
