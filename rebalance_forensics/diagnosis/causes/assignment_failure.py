"""The leader could not assign partitions, or could not deliver the assignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics import missing_topics
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, names_of, topic_culprits
from rebalance_forensics.diagnosis.wording.durations import how_often, lasting, occurrences, seconds, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import is_java
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, Fact, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.profile import assignors_in
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, session_timeout_ms, setting_ms
from rebalance_forensics.timeline.windows import QUIET_MS, ROUND_TRIP_MS

_FIX_CALLBACK = Advice(
    action=(
        "In the rebalance callback call incremental_assign() and incremental_unassign() with a cooperative assignor, "
        "assign() and unassign() with any other. A program without a callback of its own needs neither."
    ),
    why="librdkafka refuses a call that does not belong to the group's rebalance protocol.",
)
THROWN = clue("assignor-threw", DECISIVE + WEAK, "the leader logged what its assignor threw")
LEFT_OUT = clue("nothing-assigned", DECISIVE, "the coordinator answered a member's SyncGroup without an assignment")
NONE_CAME = clue("no-assignment-came", STRONG, "the coordinator created generations and received no assignment")
TOO_SLOW = clue("assigned-too-late", DECISIVE, "the leader assigned for longer than its session lasts")
STILL_WAITS = (
    "The last generation got no assignment, and the group is waiting for one: its leader could not assign partitions, "
    "or could not deliver the assignment."
)
UNREADY = clue(
    "topics-unready",
    DECISIVE + WEAK,
    "the coordinator reported topics to the members as missing or incorrectly partitioned",
)
# Logged by the member for which the leader's assignor returned nothing, not even an empty assignment.
_NOTHING_ASSIGNED = "no-assignment"
_PROTOCOL_ERRORS = (
    "RebalanceInProgressException", "MemberIdRequiredException", "UnknownMemberIdException", "NotCoordinatorException",
    "CoordinatorNotAvailableException", "CoordinatorLoadInProgressException", "DisconnectException",
    "IllegalGenerationException",
    "FencedInstanceIdException", "GroupMaxSizeReachedException", "InconsistentGroupProtocolException",
    "TimeoutException",
    "GroupAuthorizationException", "UnjoinedGroupException", "NetworkException", "WakeupException",
    "InterruptException",
)  # fmt: skip
# Minimum number of consecutive generations without an assignment to report.
_FAILED_IN_A_ROW = 3
_FAILING = (ev.AssignmentFailed, ev.JoinFailed, ev.JoinRequested)
_OF_EPOCHS = (ev.GroupEpochBumped, ev.TargetAssignmentComputed)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Failed and late assignments, else generations without an assignment; and topics that were not ready."""
    failed = [e for e in timeline.of(*_FAILING) if _is_assignor_exception(timeline, e)]
    thrown = runs(failed or [e for e in timeline.of(ev.ExceptionLogged) if e.assigning], time_of, QUIET_MS)
    slow = runs(_slow_assignments(timeline), lambda late: time_of(late.computed), QUIET_MS)
    yield from ((about_left_out if _all_left_out(run) else about_exceptions)(timeline, run) for run in thrown)
    yield from (about_slowness(timeline, late) for late in slow)
    if not thrown and not slow and (undelivered := never_assigned(timeline)) is not None:
        yield about_undelivered(timeline, *undelivered)
    for unready in (topics for topics in missing_topics.unready_topics(timeline) if not topics.deleted):
        wrong = "are missing" if unready.missing else "do not fit its topology"
        # The coordinator of a KIP-1071 group assigns no task while topics that the topology needs are missing.
        remedy = "Create the topics" if unready.missing else "Give the topics the partitions that the topology expects"
        yield Hypothesis(
            because=unready.reports,
            culprits=topic_culprits(unready.topics),
            clues={UNREADY: Present(tuple(unready.reports))},
            severity="critical",
            onset=unready.begin,
            implies=missing_topics.rebalances_without_topics(timeline, unready),
            narrative=(
                f"The coordinator assigned no task{lasting(timeline.measured(unready.end - unready.begin))}: topics "
                f"that the application reads {wrong} ({', '.join(unready.topics)})."
            ),
            advice=(
                Advice(
                    action=f"{remedy} ({', '.join(unready.topics)}); the members then resume by themselves.",
                    why=f"The coordinator reported it {times(len(unready.reports))}{span(unready.reports)}.",
                ),
            ),
        )


CAUSE = Cause(
    propose=propose,
    implies=(
        "process-pause",
        "network-partition",
        "process-crash",
        "rebalance-straggler",
        "unstable-leader",
        "enforced-rebalance",
        "slow-processing",
        "member-left",
        "scale-out",
        "topic-metadata-change",
    ),
    silence="stuck",
)


def about_exceptions(timeline: Timeline, run: list[Event]) -> Hypothesis:
    """One or more exceptions of the leader's assignor."""
    begin, end = time_of(run[0]), time_of(run[-1])
    leaders, stopped = list(dict.fromkeys(a for e in run for a in _leaders_of(timeline, e))), is_ongoing(timeline, end)
    texts = (getattr(run[0], name, None) for name in ("detail", "reason", "error"))
    words = next(filter(None, texts), "no reason was logged").removeprefix("rebalance failed due to ")
    by_callback = isinstance(run[0], ev.AssignmentFailed) and run[0].wrong_callback
    paths = {e.origin.path for e in run}
    thrown = timeline.of(ev.ExceptionLogged).between(begin, end + ROUND_TRIP_MS)
    traces = [e for e in thrown if e.assigning and e.origin.path in paths]
    effects = _effects(timeline, begin, end)
    if any(isinstance(e, ev.ExceptionLogged) for e in run):
        # If only the exception is logged, the leader may have left as well.
        until = end + session_timeout_ms(timeline) + setting_ms(timeline, OFFSETS_WRITE)
        touching = timeline.rebalances.touching(begin - ROUND_TRIP_MS, begin)
        effects += [r for r in touching if r.completed_at is None]
        effects += [d for a in leaders for d in timeline.departures.of(a).between(begin, until)]
    return Hypothesis(
        because=run,
        circumstances=[*traces[:1], *timeline.of(ev.RebalanceStarted).between(begin, end + ROUND_TRIP_MS)[:1]],
        culprits=culprits_of(timeline, leaders[:2]),
        clues={THROWN: Present(tuple(run))},
        severity="critical" if len(run) > 2 or stopped else "warning",
        onset=begin,
        ongoing=stopped,
        implies=tuple(effects),
        narrative=f"{names_of(culprits_of(timeline, leaders)) or 'The leader'} could not assign partitions "
        f"({times(occurrences(run))}): {words.rstrip('. ')}.",
        advice=(_FIX_CALLBACK if by_callback else fix_assignor(timeline, f"It failed {how_often(run)}."),),
    )


def about_left_out(timeline: Timeline, run: list[Event]) -> Hypothesis:
    """Members for which the leader's assignor returned no assignment: their poll() throws."""
    begin, end = time_of(run[0]), time_of(run[-1])
    members = list(dict.fromkeys(filter(None, map(timeline.participants.of_speaker, run))))
    who = names_of(culprits_of(timeline, members)) or "A member"
    return Hypothesis(
        because=run,
        culprits=(),
        clues={LEFT_OUT: Present(tuple(run))},
        severity="critical" if len(run) > 2 or is_ongoing(timeline, end) else "warning",
        onset=begin,
        ongoing=is_ongoing(timeline, end),
        implies=tuple(_effects(timeline, begin, end)),
        narrative=f"{who} got no assignment ({times(occurrences(run))}): the leader's assignor returned none for it.",
        advice=(
            Advice(
                action=f"Fix the assignor{_assignors(timeline)}, or replace it by one of Kafka's: it must return an "
                "assignment for every member, even if it is empty.",
                why=f"poll() of such a member throws an IllegalStateException, logged {how_often(run)}.",
                cost="Replacing it takes a rolling restart, and all members need another assignor in common.",
            ),
        ),
    )


def about_slowness(timeline: Timeline, late: Sequence[SlowAssignment]) -> Hypothesis:
    """Assignments that took longer than the leader's session timeout."""
    # AbstractCoordinator holds its lock during the assignment, and the heartbeat thread waits for that lock.
    begin, end = time_of(late[0].joined), time_of(late[-1].computed)
    took_ms = timeline.measured(max(time_of(s.computed) - time_of(s.joined) for s in late))
    culprits = culprits_of(timeline, [s.leader for s in late])
    shown = tuple(e for s in late for e in (s.joined, s.computed, *(e for d in s.lost for e in d.events)))
    until = end + setting_ms(timeline, OFFSETS_WRITE)
    return Hypothesis(
        because=shown,
        culprits=culprits,
        clues={TOO_SLOW: Present(shown)},
        severity="critical" if len(late) > 2 else "warning",
        onset=begin,
        explains=tuple(d for s in late for d in s.lost),
        implies=(  # the members lost meanwhile, those waiting in SyncGroup included, and their returns
            *(d for d in timeline.departures.between(begin, until) if d.why in UNANNOUNCED),
            *(a for a in timeline.arrivals.between(begin, until) if not a.first),
            *timeline.rebalances.between(begin - ROUND_TRIP_MS, until),
        ),
        narrative=(
            f"{names_of(culprits)} led the group and took "
            f"{'too long' if took_ms is None else f'up to {seconds(took_ms)}'} to assign: "
            "its session expired before it could deliver the assignment."
        ),
        advice=(
            Advice(
                action="Make the assignor faster: no calls to other systems, no waiting inside assign().",
                why=f"The leader's session expired during an assignment{lasting(took_ms, ' that took {}')}.",
                cost="A simpler assignor may distribute partitions less evenly.",
            ),
        ),
    )


def about_undelivered(timeline: Timeline, lines: tuple[Event, ...], leaders: Sequence[Participant]) -> Hypothesis:
    """Generations without an assignment, for a reason that the logs do not show."""
    begin, end = time_of(lines[0]), time_of(lines[-1])
    number, stopped = len({getattr(e, "generation", e) for e in lines}), is_ongoing(timeline, end)
    last = number <= 2 and stopped
    # Arrivals during the wait are effects. The arrival that started the rebalance is one only if it never got in.
    since = begin - ROUND_TRIP_MS if last else begin + ROUND_TRIP_MS
    in_a_row = (
        f"{number} generations in a row got no assignment: the leader could not assign partitions, or could not "
        "deliver them."
    )
    return Hypothesis(
        because=lines,
        culprits=culprits_of(timeline, leaders[:2]),
        clues={NONE_CAME: Present(lines)},
        severity="critical" if number > 2 or stopped else "warning",
        onset=begin,
        ongoing=stopped,
        implies=(*_effects(timeline, begin, end), *timeline.arrivals.between(since, end)),
        narrative=STILL_WAITS if last else in_a_row,
        advice=(fix_assignor(timeline, f"No assignment arrived: {times(1 if last else number)}{span(lines)}."),),
    )


def fix_assignor(timeline: Timeline, why: str) -> Advice:
    """Advice to fix the assignor, with its class if a member logged its configuration."""
    return Advice(
        action=f"Fix the assignor that throws{_assignors(timeline)}, or remove it from partition.assignment.strategy.",
        why=why,
        cost="Removing it takes a rolling restart, and all members need another assignor in common.",
    )


def _assignors(timeline: Timeline) -> str:
    classes = assignors_in(timeline.settings)
    return f" ({', '.join(classes)})" if classes else ""


def _all_left_out(run: Sequence[Event]) -> bool:
    return all(isinstance(e, ev.AssignmentFailed) and e.error == _NOTHING_ASSIGNED for e in run)


def _leaders_of(timeline: Timeline, event: Event) -> list[Participant]:
    speaker = timeline.participants.of_speaker(event)
    if speaker is not None:
        return [speaker]
    return list(timeline.participants.at_place(event)) if isinstance(event, ev.ExceptionLogged) else []


def _is_assignor_exception(timeline: Timeline, event: Event) -> bool:
    if isinstance(event, ev.AssignmentFailed):
        # After a missed rebalance a member may claim its former partitions. The assignor honors the newer claim, so
        # this is no failure. Since 3.2 a Streams leader also logs an assignment error if source topics are missing.
        at = time_of(event)
        missing = timeline.of(ev.SourceTopicsMissing).any_between(at - ROUND_TRIP_MS, at)
        return event.error != "claimed-in-two-generations" and not missing
    if isinstance(event, ev.JoinFailed):
        # "Rebalance failed." with the exception, as logged by 2.5 to 2.8. Other clients' failed joins, such as
        # kafka-python's NodeNotReadyError, are connection errors.
        return is_java(event) and _is_not_of_protocol(event.error or "") and not event.fatal
    if not isinstance(event, ev.JoinRequested) or event.why != "rebalance-failed":
        return False
    text = f"{event.reason or ''} {event.error or ''}"
    return _is_not_of_protocol(text) and (event.error is None or not event.error.isupper())


def _is_not_of_protocol(text: str) -> bool:
    """True for an exception that does not belong to the group protocol."""
    return ("Exception" in text or "Error" in text) and not any(e in text for e in _PROTOCOL_ERRORS)


def never_assigned(timeline: Timeline) -> tuple[tuple[Event, ...], list[Participant]] | None:
    """Lines and leaders of consecutive generations without an assignment; None if there are none.

    A single generation counts if it is the last and the wait exceeded the session timeout.
    """
    # Brokers do not log that an epoch (KIP-848) is stable.
    if timeline.protocol != "classic" or not timeline.coverage.brokers:
        return None
    # If the log shows no assignment at all, assignments may not be logged, and members that join or leave explain the
    # restarts. A log that shows members without a SyncGroup in time (2.8 and later) would show assignments as well.
    logs_assignments = bool(timeline.of(ev.AssignmentReceived)) or any(
        e.trigger == "sync-expired" for e in timeline.of(ev.RebalanceStarted)
    )
    has_epochs = bool(timeline.of(*_OF_EPOCHS))
    row: list[Rebalance] = []
    for rebalance in timeline.rebalances:
        if has_epochs and any(isinstance(e, _OF_EPOCHS) for e in rebalance.events):
            continue
        if rebalance.completed_at is None and _was_created_in_a_coordinators_log(timeline, rebalance):
            at = rebalance.started_at
            if logs_assignments or not timeline.moves(at - ROUND_TRIP_MS, at + ROUND_TRIP_MS):
                row.append(rebalance)
        elif len(row) >= _FAILED_IN_A_ROW:
            break
        else:
            row = []
    if len(row) < _FAILED_IN_A_ROW:
        return _stuck(timeline, row[-1]) if row else None
    opened = [e for r in row for e in r.events if isinstance(e, ev.RebalanceStarted)]
    named = dict.fromkeys(timeline.participants.of_member(m) for e in opened for m in e.members)
    lines: Sequence[Event] = opened or [e for r in row for e in r.events]
    return tuple(lines), [a for a in named if a is not None]


def _was_created_in_a_coordinators_log(timeline: Timeline, rebalance: Rebalance) -> bool:
    # Members also log that a generation was created, at times that no coordinator's log at hand covers.
    at = rebalance.stabilized_at
    return at is not None and bool(covering(timeline.coverage.brokers, at, at))


def _stuck(timeline: Timeline, rebalance: Rebalance) -> tuple[tuple[Event, ...], list[Participant]] | None:
    """Lines and leader of the last generation if the coordinator's log continues without its assignment, else None."""
    stable = [e for e in rebalance.events if isinstance(e, ev.GenerationStabilized) and e.speaker.role == "broker"]
    if not stable or rebalance is not timeline.rebalances[-1]:
        return None
    begin, path = time_of(stable[-1]), stable[-1].origin.path
    same_log = [log for log in timeline.coverage.brokers if log.path == path]
    received = timeline.of(ev.AssignmentReceived)
    logs_assignments = any(e.origin.path == path and time_of(e) < begin for e in received)
    covers = bool(covering(same_log, begin, begin + session_timeout_ms(timeline)))
    moved = received.any_between(begin, timeline.last) or timeline.departures.any_between(begin, timeline.last)
    if not logs_assignments or not covers or moved:
        return None
    leader = next((g.leader for g in reversed(timeline.generations) if g.leader), None)
    participant = timeline.participants.of_member(leader) if leader else None
    lines = tuple(e for e in rebalance.events if isinstance(e, ev.RebalanceStarted | ev.GenerationStabilized))
    return lines, [] if participant is None else [participant]


def is_ongoing(timeline: Timeline, since: int) -> bool:
    """True if members still wait for an assignment at the end of the logs."""
    waiting = [r for r in timeline.rebalances.since(since - QUIET_MS) if r.ended_at() >= since]
    if any(r.completed_at is not None and r.completed_at >= since for r in waiting):
        return False
    ended = any(g.outcome == "empty" and (g.started_at or g.completed_at or 0) >= since for g in timeline.generations)
    return (
        not ended
        and not timeline.departures.any_between(since, timeline.last)
        and not timeline.stops.any_between(since, timeline.last)
    )


def _effects(timeline: Timeline, begin: int, end: int) -> list[Fact]:
    # The leader rejoins at once. The coordinator stores an assignment that it received, or restarts the rebalance.
    asked = timeline.requests.between(begin - ROUND_TRIP_MS, end + 2 * ROUND_TRIP_MS)
    facts: list[Fact] = [r for r in asked if r.why in ("member-rejoined", "leader-rejoined", "other")]
    rebalances = timeline.rebalances.between(begin - ROUND_TRIP_MS, end + setting_ms(timeline, OFFSETS_WRITE))
    return facts + [r for r in rebalances if r.completed_at is None]


class SlowAssignment(NamedTuple):
    """The response to the leader's JoinGroup and its assignment; the client only assigns in between."""

    leader: Participant
    joined: ev.JoinSucceeded
    computed: ev.AssignmentComputed
    lost: tuple[Departure, ...]


def _slow_assignments(timeline: Timeline) -> Iterator[SlowAssignment]:
    """Assignments that took longer than the session timeout, so that the leader lost its membership."""
    for computed in timeline.of(ev.AssignmentComputed):
        leader, at = timeline.participants.of_speaker(computed), time_of(computed)
        if leader is None or leader.kind == "instance":
            continue
        joins = timeline.events_from(leader, ev.JoinSucceeded).between(timeline.first, at)
        joined = next((j for j in reversed(joins) if j.generation == computed.generation and not j.after_sync), None)
        if joined is None or at - time_of(joined) < session_timeout_ms(timeline) - ROUND_TRIP_MS:
            continue
        departures = timeline.departures.of(leader).between(time_of(joined), at + ROUND_TRIP_MS)
        if lost := tuple(d for d in departures if d.why in UNANNOUNCED):
            yield SlowAssignment(leader, joined, computed, lost)
