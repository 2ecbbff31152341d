"""A process died without leaving the group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.behind import Link, advice_on, behind_end, behind_pause, heap_after
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, is_missing
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import last_line, losses
from rebalance_forensics.diagnosis.episodes.members.orders_to_stop import behind_unit
from rebalance_forensics.diagnosis.episodes.members.pods import node_behind, reports_of
from rebalance_forensics.diagnosis.episodes.members.restarts import successors
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_heartbeat_loss
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import connections, heartbeats, process_stops, returns
from rebalance_forensics.diagnosis.signs.process_stops import (
    jvm_stops,
    kills_of,
    last_collection,
    likely_kills_of,
    logged_death,
    missing_gc_log,
)
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.diagnosis.wording.sessions import least_session, session_setting
from rebalance_forensics.events.orchestration import ContainerReported
from rebalance_forensics.events.process import ProcessDied
from rebalance_forensics.timeline import timeouts
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for every member that stopped sending heartbeats: its process may have died.

    New members without a lasting name may have replaced it.
    """
    replaced = successors(timeline)
    for absence in losses(timeline):
        died, newcomers = logged_death(timeline, absence), replaced.get(id(absence), ())
        sure = kills_of(timeline, absence)
        kills = sure or (likely_kills_of(timeline, absence) if died is None else ())
        reports = [e for e in reports_of(timeline, absence) if e not in kills] if kills else []
        last = last_collection(timeline, absence) if died is not None else None
        links = behind_end((*kills, *reports), died, last, surely=bool(sure))
        links = (*links, *process_stops.behind_probe(timeline, absence, links))
        by_pod = [(absence, e) for e in sure if isinstance(e, ContainerReported)]
        if len(links) == 1 and (node := node_behind(timeline, by_pod)):
            links = (*links, node)
        elif len(links) == 1 and links[0].what in ("exited", "killed"):
            # systemd kills processes that do not stop in time, and some programs exit with an error when they stop.
            links = (*links, *behind_unit(timeline, [absence]))
        likely = [link for link in links if sure and link.confidence > 0.75]
        yield about_heartbeat_loss(
            timeline,
            absence,
            narrative=stopped_without_leaving(timeline, absence, newcomers, died, likely[-1:])
            + (f" {links[-1].why}" if kills and not sure else ""),
            severity="critical" if is_missing(timeline, [absence]) and not newcomers else "warning",
            own=(*kills[:2], *((died,) if died is not None else ()), *last_line(timeline, absence)),
            implies=newcomers,
            advice=after_crash(timeline, absence, links, died),
            behind=links or behind_pause([e for e in jvm_stops(timeline, absence) if e.stopped_ms == 0]),
            unseen=missing_gc_log(timeline, absence, links),
        )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, STRONG, absent=DECISIVE),
        speaks_for(process_stops.death_logged, DECISIVE),
        speaks_for(process_stops.was_killed, DECISIVE),
        speaks_for(process_stops.java_was_killed, WEAK),
        speaks_against(process_stops.threads_stopped, STRONG),
        speaks_against(process_stops.ends_in_a_collection, STRONG),
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
        speaks_against(heartbeats.other_threads_stayed, DECISIVE),
        speaks_against(heartbeats.lost_in_the_move, STRONG),
        speaks_for(returns.logs_continue_long_enough, 0, absent=WEAK),
        speaks_against(returns.logs_end_at_once, WEAK),
    ),
    implies=("rebalance-straggler", "scale-out", "startup"),
    lookalikes=("process-pause", "network-partition", "slow-processing", "scale-in"),
    silence="dead",
)


def after_crash(
    timeline: Timeline, absence: Absence, links: Sequence[Link], died: ProcessDied | None
) -> tuple[Advice, ...]:
    """Advice to find out why the process died, and to shorten the session timeout for a faster takeover."""
    session = timeouts.shown_session_ms(timeline, absence.participant)
    is_set_to = f" ({seconds(session)})" if session else ""
    return (
        *((advice_on(links) if died is None else ()) or (_look_for_its_end(absence, died),)),
        Advice(
            action=f"Lower {session_setting(timeline)} if another member must take over sooner "
            f"(not below {least_session(timeline)}).",
            why=f"A dead member's partitions stay unread until its session expires{is_set_to}.",
            cost="A pause longer than the new timeout then costs a rebalance (process-pause).",
        ),
    )


def _look_for_its_end(absence: Absence, died: ProcessDied | None) -> Advice:
    """Advice on how to find out why the process ended, according to the JVM's own line if there is one."""
    if died is not None and died.out_of_memory is not None:
        used = heap_after(died)
        return Advice(
            action="Give {who} more memory, or find what fills it: -XX:+HeapDumpOnOutOfMemoryError writes a "
            "heap dump the next time.",
            why=f"It died of {died.reason}" + (f"; {used} of its heap were in use." if used else "."),
        )
    if died is not None:
        return Advice(
            action=f"Update or replace the library or JVM that crashed in {died.frame}."
            if died.frame
            else "Read the hs_err file that the JVM of {who} wrote, and check its native libraries.",
            why=f"It died of {died.reason}." if died.reason else "Its virtual machine reported a fatal error.",
        )
    return Advice(
        action="Find out how {who} ended: kernel OOM killer, container exit code, hs_err file, liveness probe.",
        why="Its log stops abruptly; no shutdown was logged."
        if absence.participant.has_log
        else "Its own log would show how it ended.",
    )


def stopped_without_leaving(
    timeline: Timeline,
    absence: Absence,
    newcomers: Sequence[Arrival],
    died: ProcessDied | None,
    ended_by: Sequence[Link] = (),
) -> str:
    """A sentence on a process that died; `newcomers` replaced it, `ended_by` is the last known reason for its end."""
    session = timeouts.shown_session_ms(timeline, absence.participant)
    expired = f"its session expired{f' after {seconds(session)}' if session else ''}"
    reason = f"its process died ({died.reason})" if died is not None and died.reason else "its process died"
    # KafkaJS logs no generation. Its log shows only that the process started again without closing its consumer.
    unnumbered = "it closed no consumer" if absence.start is not None else "the group went on without it"
    how = "it was missing from the next generation" if timeline.generations else unnumbered
    how = how if absence.vanished else expired
    how = how if died is None else reason if absence.whys == {"died"} else f"{reason} and {how}"
    later = "a newcomer took its place" if newcomers else "the logs do not mention it again"
    if absence.start is not None:
        later = "it was restarted afterwards"
    elif absence.back_at is not None:
        later = "it joined again later" if absence.back_at >= absence.at else "it had already joined anew"
    why = f" because {ended_by[0].clause};" if ended_by else ":"
    # Only a line, a restart or a newcomer distinguishes the end of a process from a pause or a lost connection.
    ended = died is not None or ended_by or newcomers or absence.start is not None
    ended = ended or (absence.back_at is not None and absence.back_at < absence.at)
    stopped = "stopped" if ended else "fell silent"
    return f"{{who}} {stopped} without leaving the group{why} {how}; {later}."
