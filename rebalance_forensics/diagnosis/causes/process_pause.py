"""A whole process stood still for longer than session.timeout.ms and then resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from rebalance_forensics.diagnosis.behind import advice_on_stopped_threads, behind_pause, heap_after, operation_of
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import lines_after, losses
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_heartbeat_loss
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import connections, heartbeats, process_stops, returns
from rebalance_forensics.diagnosis.wording import sessions
from rebalance_forensics.diagnosis.wording.durations import lasting, rounded_up, seconds
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import is_java_member, probable_library
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import known_session_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

_WITHOUT_GC_LOG = (
    "Check {who} for CPU throttling (cgroup nr_throttled), VM steal and anything that suspends the process or its host "
    "(SIGSTOP, a snapshot, a live migration)."
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for every member that stopped sending heartbeats: its process may have stood still."""
    for absence in losses(timeline):
        own, stops = lines_after(timeline, absence), process_stops.jvm_stops(timeline, absence)
        advice, narrative = after_pause(timeline, absence), sent_no_heartbeat(timeline, absence, own)
        if not stops and (logs := process_stops.gc_logs(timeline, absence)):
            advice = (_without_gc_pause(logs[0].path, advice[0]), *advice[1:])
        if stops:
            advice, heap = (advice_on_stopped_threads(stops[0]), *advice[1:]), heap_after(stops[0])
            stood = f"stopped all threads for {seconds(stops[0].stopped_ms)}{operation_of(stops[0])}"
            if stops[0].what == "stall":
                stood = f"ran no thread for {seconds(stops[0].stopped_ms)}, as its connection pool (HikariCP) logged"
            stood = stood if stops[0].stopped_ms else "began a full collection, and its GC log shows no end of it"
            full = f"; {heap} of its heap were in use after it" if heap else ""
            limit = sessions.session_end(timeline, absence)
            narrative = f"{{who}} {limit}: its JVM {stood}{full}."
        yield about_heartbeat_loss(
            timeline,
            absence,
            narrative=narrative,
            severity="warning",
            own=(*stops[:1], *own),
            advice=advice,
            behind=behind_pause(stops),
            unseen=() if stops else (process_stops.missing_kernel_log(timeline, absence),),
        )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(process_stops.threads_stopped, DECISIVE),
        speaks_for(process_stops.ends_in_a_collection, STRONG),
        speaks_against(process_stops.was_killed, DECISIVE),
        speaks_for(heartbeats.no_leave_sent, STRONG, absent=DECISIVE),
        speaks_for(heartbeats.own_log_continues, STRONG, absent=DECISIVE),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_for(returns.came_back, 0, absent=DECISIVE),
        speaks_against(returns.not_back_yet, STRONG),
        speaks_against(connections.disconnects, DECISIVE),
        speaks_against(returns.returned_unexplained, WEAK),
        speaks_against(heartbeats.awake_while_away, STRONG),
        speaks_against(heartbeats.its_file_went_on, STRONG + WEAK),
        speaks_against(connections.heard_until_lost, DECISIVE),
        speaks_against(connections.gave_up_unasked, DECISIVE),
        speaks_against(connections.others_unanswered, DECISIVE),
        speaks_against(returns.old_id_still_in, STRONG),
        speaks_against(heartbeats.lost_before_its_assignment, STRONG),
        speaks_against(heartbeats.lost_before_its_log, STRONG),
        speaks_against(heartbeats.silent_before_its_log, STRONG + WEAK),
        speaks_against(heartbeats.expelled_with_others, STRONG),
        speaks_against(heartbeats.expiry_missing, STRONG),
        speaks_against(heartbeats.paused_or_cut_off, STRONG),
        speaks_for(heartbeats.gave_up_coordinator, 0, absent=WEAK),
        speaks_against(heartbeats.heartbeats_in_the_loop, WEAK),
        speaks_against(heartbeats.heartbeats_between_records, WEAK),
        speaks_against(heartbeats.other_threads_stayed, DECISIVE),
        speaks_against(heartbeats.lost_in_the_move, STRONG),
        speaks_against(connections.throttled, DECISIVE),
        speaks_against(connections.waited_on_open_connections, DECISIVE),
        speaks_against(connections.searched_after_failed_write, DECISIVE),
    ),
    implies=("rebalance-straggler", "startup"),
    lookalikes=("process-crash", "network-partition", "slow-processing"),
    silence="frozen",
)


def after_pause(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    """Advice to find out what paused the process, or to raise the session timeout above the pause."""
    away, known = sessions.away_ms(absence), known_session_ms(timeline, absence.participant)
    missed_heartbeats, who = sessions.missed_heartbeats(timeline, absence), absence.participant
    library = probable_library(timeline, who)
    return timeline.cached_as(
        ("after a pause", missed_heartbeats, away, known, library.name),
        lambda: _after_pause(timeline, who, missed_heartbeats, away),
    )


def _without_gc_pause(path: str, advice: Advice) -> Advice:
    return replace(
        advice,
        action=_WITHOUT_GC_LOG,
        why=f"Its GC log ({path}) shows no stop that long, so no collection paused it. {advice.why}",
    )


def _after_pause(
    timeline: Timeline, participant: Participant, missed_heartbeats: str, away: int | None
) -> tuple[Advice, ...]:
    silence = sessions.silence_ms(timeline, participant, away)
    enough = rounded_up(silence) if silence else None
    session = sessions.session_in_words(timeline, participant)
    return (
        Advice(
            action="Check the GC log, CPU throttling (cgroup nr_throttled) and VM steal of {who} at that time."
            if is_java_member(timeline, participant)
            else _WITHOUT_GC_LOG,
            why=f"{missed_heartbeats}; the session timeout is {session}.",
        ),
        Advice(
            action=f"If such pauses are normal, {sessions.raise_session(timeline, enough)}.",
            figure=enough,
            why="A pause shorter than the session timeout causes no rebalance.",
            cost=f"Trade-off: a dead member is noticed only after {seconds(enough)}."
            if enough
            else f"Trade-off: dead members are noticed later. Current value: {session}.",
        ),
    )


def sent_no_heartbeat(timeline: Timeline, absence: Absence, own: Sequence[Event]) -> str:
    """A sentence on a process that stood still; `own` are the lines of its own log about the pause."""
    back_at = absence.back_at or 0
    later = lasting(timeline.measured(back_at - absence.at), " {} later") or " later"
    back = f", and rejoined{later}" if back_at >= absence.at else ""
    # A client that resumes first logs that its session expired: only earlier lines show when its log went quiet.
    seen = own and timeline.events_from(absence.participant, Event).last(absence.at - HEARTBEAT_MS) is not None
    seen = seen and timeline.measured(1) is not None
    known = "its log went quiet, then picked up again" if seen else f"{sessions.its_log(absence)} whether it was paused"
    return f"{{who}} {sessions.session_end(timeline, absence)}{back}; {known}."
