"""The leader could not assign partitions, or could not deliver the assignment.

What happened is put forward in four ways: exceptions of the assignor in the leader's log (THROWN); assignments that
took longer than the leader's session (TOO_SLOW); without either, generations that never got an assignment (NONE_CAME);
topics whose metadata was never complete (about_unready_topics). Each explains the rebalances that started over; the
advice is to fix or replace the assignor, or to make it faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics.missing_topics import (
    UnreadyTopics,
    never_ready_topics,
    rebalances_without_topics,
)
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, names_of, topic_culprits
from rebalance_forensics.diagnosis.wording.durations import how_often, lasting, occurrences, seconds, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupEpochBumped, TargetAssignmentComputed
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.rebalances import (
    AssignmentComputed,
    AssignmentFailed,
    AssignmentReceived,
    GenerationStabilized,
    JoinFailed,
    JoinRequested,
    JoinSucceeded,
    RebalanceStarted,
)
from rebalance_forensics.events.streams import SourceTopicsMissing
from rebalance_forensics.timeline.clients import is_java
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, Fact, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, session_timeout_ms, setting_ms
from rebalance_forensics.timeline.windows import QUIET_MS, ROUND_TRIP_MS

THROWN = clue("assignor-threw", DECISIVE + WEAK, "the leader logged what its assignor threw")
NONE_CAME = clue("no-assignment-came", STRONG, "the coordinator created generations and received no assignment")
TOO_SLOW = clue("assigned-too-late", DECISIVE, "the leader assigned for longer than its session lasts")
STILL_WAITS = (
    "The last generation got no assignment, and the group is waiting for one: its leader could not assign partitions, "
    "or could not deliver the assignment."
)
UNREADY = clue(
    "topics-unready", DECISIVE + WEAK, "the coordinator told the members that topics are missing or do not fit"
)
_PROTOCOL_ERRORS = (
    "RebalanceInProgressException", "MemberIdRequiredException", "UnknownMemberIdException", "NotCoordinatorException",
    "CoordinatorNotAvailableException", "CoordinatorLoadInProgressException", "DisconnectException",
    "IllegalGenerationException",
    "FencedInstanceIdException", "GroupMaxSizeReachedException", "InconsistentGroupProtocolException",
    "TimeoutException",
    "GroupAuthorizationException", "UnjoinedGroupException", "NetworkException", "WakeupException",
    "InterruptException",
)  # fmt: skip
_FAILED_IN_A_ROW = 3
_OF_EPOCHS = (GroupEpochBumped, TargetAssignmentComputed)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Failed and late assignments; without them, generations that never got one; topics that were never ready."""
    thrown, slow = assignor_failures(timeline), slow_assignments(timeline)
    yield from (about_exceptions(timeline, run) for run in thrown)
    yield from (about_slowness(timeline, late) for late in slow)
    undelivered = () if thrown or slow else never_assigned(timeline)
    yield from (about_undelivered(timeline, waiting) for waiting in undelivered)
    yield from (about_unready_topics(timeline, unready) for unready in never_ready_topics(timeline))


CAUSE = Cause(
    summary="The leader could not assign, or its assignment never arrived.",
    mechanism=(
        "The leader computes the assignment between JoinGroup and SyncGroup. When its assignor throws, no"
        " SyncGroup is sent: the members wait, the leader rejoins and the rebalance starts over."
    ),
    shows=(
        "'rebalance failed due to …' with an exception that is not Kafka's, generations that never become"
        " Stable; expired pending syncs."
    ),
    remedy="Fix the exception in the leader's log, or remove the assignor from all members.",
    usual="fault",
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
    settings=("partition.assignment.strategy", "group.protocol"),
    kips=("KIP-848",),
)


def about_exceptions(timeline: Timeline, run: list[Event]) -> Hypothesis:
    """Exceptions of the leader's assignor, once or again and again."""
    leaders, stopped = leaders_in(timeline, run), is_ongoing(timeline, time_of(run[-1]))
    who = names_of(culprits_of(timeline, leaders)) or "The leader"
    words = failure_text(run[0])
    return Hypothesis(
        because=run,
        circumstances=trace_and_rebalance(timeline, run),
        culprits=culprits_of(timeline, leaders[:2]),
        clues={THROWN: Present(tuple(run))},
        severity="critical" if len(run) > 2 or stopped else "warning",
        onset=time_of(run[0]),
        ongoing=stopped,
        implies=effects_of_exceptions(timeline, run, leaders),
        narrative=f"{who} could not assign partitions ({times(occurrences(run))}): {words.rstrip('. ')}.",
        advice=fix_assignor(timeline, f"It failed {how_often(run)}."),
    )


def about_slowness(timeline: Timeline, late: Sequence[SlowAssignment]) -> Hypothesis:
    """Assignments that took longer than the leader's session."""
    # AbstractCoordinator holds its lock while the leader assigns, and the heartbeat thread waits for that lock.
    took_ms = timeline.measured(max(s.took_ms for s in late))
    culprits = culprits_of(timeline, [s.leader for s in late])
    shown = tuple(e for s in late for e in s.lines)
    return Hypothesis(
        because=shown,
        culprits=culprits,
        clues={TOO_SLOW: Present(shown)},
        severity="critical" if len(late) > 2 else "warning",
        onset=time_of(late[0].joined),
        explains=tuple(d for s in late for d in s.lost),
        implies=effects_of_slowness(timeline, late),
        narrative=(
            f"{names_of(culprits)} led the group and took "
            f"{'too long' if took_ms is None else f'up to {seconds(took_ms)}'} to assign: "
            "its session expired before it could deliver the assignment."
        ),
        advice=speed_up_assignor(took_ms),
    )


def about_undelivered(timeline: Timeline, undelivered: UndeliveredAssignments) -> Hypothesis:
    """Generations without an assignment; no log gives the reason."""
    lines, number, stopped = undelivered.lines, undelivered.generations, is_ongoing(timeline, undelivered.end)
    last = number <= 2 and stopped
    in_a_row = (
        f"{number} generations in a row got no assignment: the leader could not assign partitions, or could not "
        "deliver them."
    )
    return Hypothesis(
        because=lines,
        culprits=culprits_of(timeline, undelivered.leaders[:2]),
        clues={NONE_CAME: Present(lines)},
        severity="critical" if number > 2 or stopped else "warning",
        onset=undelivered.begin,
        ongoing=stopped,
        implies=effects_of_waiting(timeline, undelivered, last=last),
        narrative=STILL_WAITS if last else in_a_row,
        advice=fix_assignor(timeline, f"No assignment arrived: {times(1 if last else number)}{span(lines)}."),
    )


def about_unready_topics(timeline: Timeline, unready: UnreadyTopics) -> Hypothesis:
    """A KIP-1071 group without the topics that its topology needs: its coordinator gives it no task."""
    wrong = "are missing" if unready.missing else "do not fit its topology"
    return Hypothesis(
        because=unready.reports,
        culprits=topic_culprits(unready.topics),
        clues={UNREADY: Present(tuple(unready.reports))},
        severity="critical",
        onset=unready.begin,
        implies=rebalances_without_topics(timeline, unready),
        narrative=(
            f"The coordinator assigned no task{lasting(timeline.measured(unready.end - unready.begin))}: topics that "
            f"the application reads {wrong} ({', '.join(unready.topics)})."
        ),
        advice=make_topics_ready(unready),
    )


def fix_assignor(timeline: Timeline, why: str) -> tuple[Advice, ...]:
    """An assignor that throws; named where a member logged its configuration."""
    classes = timeline.settings.get("partition.assignment.strategy", "")
    named = f" ({classes.strip('[]')})" if classes else ""
    fix = Advice(
        action=f"Fix the assignor that throws{named}, or remove it from partition.assignment.strategy.",
        why=why,
        cost="Removing it takes a rolling restart, and all members need another assignor in common.",
    )
    return (fix,)


def speed_up_assignor(took_ms: int | None) -> tuple[Advice, ...]:
    """An assignor that takes longer than a session lasts; None where its lines have no times."""
    faster = Advice(
        action="Make the assignor faster: no calls to other systems, no waiting inside assign().",
        why=f"The leader's session expired during an assignment{lasting(took_ms, ' that took {}')}.",
        cost="A simpler assignor may distribute partitions less evenly.",
    )
    return (faster,)


def make_topics_ready(unready: UnreadyTopics) -> tuple[Advice, ...]:
    """Topics that a KIP-1071 application waits for."""
    remedy = "Create the topics" if unready.missing else "Give the topics the partitions that the topology expects"
    ready = Advice(
        action=f"{remedy} ({', '.join(unready.topics)}); the members then resume by themselves.",
        why=f"The coordinator reported it {times(len(unready.reports))}{span(unready.reports)}.",
    )
    return (ready,)


class UndeliveredAssignments(Struct, frozen=True):
    """Generations that the coordinator created and that got no assignment, and their leaders as far as known."""

    lines: tuple[Event, ...]
    leaders: tuple[Participant, ...]

    @property
    def begin(self) -> int:
        """When the first of these generations began."""
        return time_of(self.lines[0])

    @property
    def end(self) -> int:
        """When the last of these generations began, or was created."""
        return time_of(self.lines[-1])

    @property
    def generations(self) -> int:
        """The number of generations."""
        return len({getattr(e, "generation", e) for e in self.lines})


def assignor_failures(timeline: Timeline) -> list[list[Event]]:
    """Exceptions of assignors, one list for each stretch of time."""
    failures = [e for e in timeline.of(AssignmentFailed, JoinFailed, JoinRequested) if _is_assignor_exception(e)]
    failures = [e for e in failures if not _topics_missing(timeline, e)]
    return runs(failures or [e for e in timeline.of(ExceptionLogged) if e.assigning], time_of, QUIET_MS)


def trace_and_rebalance(timeline: Timeline, run: Sequence[Event]) -> list[Event]:
    """The leader's first stack trace of the failure, and the first rebalance that restarted for it."""
    begin, end = time_of(run[0]), time_of(run[-1]) + ROUND_TRIP_MS
    paths = {e.origin.path for e in run}
    thrown = timeline.of(ExceptionLogged).between(begin, end)
    traces = [e for e in thrown if e.assigning and e.origin.path in paths]
    return [*traces[:1], *timeline.of(RebalanceStarted).between(begin, end)[:1]]


def failure_text(event: Event) -> str:
    """The exception as the line words it."""
    text: str | None = next((w for k in ("detail", "reason", "error") if (w := getattr(event, k, None))), None)
    return (text or "no reason was logged").removeprefix("rebalance failed due to ")


def leaders_in(timeline: Timeline, run: Sequence[Event]) -> list[Participant]:
    """The members whose assignor failed, in the order of the lines."""
    return list(dict.fromkeys(a for e in run for a in _leaders_of(timeline, e)))


def _leaders_of(timeline: Timeline, event: Event) -> list[Participant]:
    speaker = timeline.participants.of_speaker(event)
    if speaker is not None:
        return [speaker]
    return list(timeline.participants.at_place(event)) if isinstance(event, ExceptionLogged) else []


def _is_assignor_exception(event: Event) -> bool:
    if isinstance(event, AssignmentFailed):
        # A member that comes back after a rebalance it missed claims what it had before; the newer claim is honoured.
        return event.error != "claimed-in-two-generations"
    if isinstance(event, JoinFailed):
        # "Rebalance failed." and the exception, in the words of 2.5 to 2.8. What other clients call a failed join, such
        # as kafka-python's NodeNotReadyError, is an error of theirs on the way to the coordinator.
        by_java = is_java(event)
        return by_java and _is_foreign(event.error or "") and not event.fatal
    if not isinstance(event, JoinRequested) or event.why != "rebalance-failed":
        return False
    text = f"{event.reason or ''} {event.error or ''}"
    return _is_foreign(text) and (event.error is None or not event.error.isupper())


def _topics_missing(timeline: Timeline, event: Event) -> bool:
    # From 3.2 on a Streams leader also logs an assignment error when source topics are missing.
    at = time_of(event)
    missing = timeline.of(SourceTopicsMissing)
    return isinstance(event, AssignmentFailed) and missing.any_between(at - ROUND_TRIP_MS, at)


def _is_foreign(text: str) -> bool:
    """True for an exception that is not one of the group protocol's own."""
    return ("Exception" in text or "Error" in text) and not any(e in text for e in _PROTOCOL_ERRORS)


def never_assigned(timeline: Timeline) -> Iterator[UndeliveredAssignments]:
    """Several generations in a row without an assignment, or the last one for longer than a session; one at most."""
    # No broker logs that an epoch (KIP-848) is stable.
    if timeline.protocol != "classic" or not timeline.coverage.brokers:
        return
    # A log without any assignment may just not log them: then members that join and leave explain the restarts. A log
    # with members that sent no SyncGroup in time (2.8 and later) would show assignments as well.
    logs_assignments = bool(timeline.of(AssignmentReceived)) or any(
        e.trigger == "sync-expired" for e in timeline.of(RebalanceStarted)
    )
    has_epochs = bool(timeline.of(*_OF_EPOCHS))
    row: list[Rebalance] = []
    for rebalance in timeline.rebalances:
        if has_epochs and any(isinstance(e, _OF_EPOCHS) for e in rebalance.events):
            continue
        if rebalance.stabilized_at is not None and rebalance.completed_at is None:
            if logs_assignments or not timeline.moves(
                rebalance.started_at - ROUND_TRIP_MS, rebalance.started_at + ROUND_TRIP_MS
            ):
                row.append(rebalance)
            continue
        if len(row) >= _FAILED_IN_A_ROW:
            break
        row = []
    if len(row) >= _FAILED_IN_A_ROW:
        events: list[Event] = [e for r in row for e in r.events if isinstance(e, RebalanceStarted)]
        events = events or [e for r in row for e in r.events]
        named = dict.fromkeys(
            timeline.participants.of_member(m) for e in events if isinstance(e, RebalanceStarted) for m in e.members
        )
        yield UndeliveredAssignments(tuple(events), tuple(a for a in named if a is not None))
    elif row:
        yield from _stuck(timeline, row[-1])


def _stuck(timeline: Timeline, rebalance: Rebalance) -> Iterator[UndeliveredAssignments]:
    """The logs' last generation, where the coordinator's log continues without the line about its assignment."""
    stable = [e for e in rebalance.events if isinstance(e, GenerationStabilized) and e.speaker.role == "broker"]
    if not stable or rebalance is not timeline.rebalances[-1]:
        return
    begin, path = time_of(stable[-1]), stable[-1].origin.path
    until = begin + session_timeout_ms(timeline)
    own = [log for log in timeline.coverage.brokers if log.path == path]
    received = timeline.of(AssignmentReceived)
    speaks = any(e.origin.path == path and time_of(e) < begin for e in received)
    if not speaks or received.any_between(begin, timeline.last) or not covering(own, begin, until):
        return
    if timeline.departures.any_between(begin, timeline.last):
        return
    leader = next((g.leader for g in reversed(timeline.generations) if g.leader), None)
    participant = timeline.participants.of_member(leader) if leader else None
    lines = tuple(e for e in rebalance.events if isinstance(e, RebalanceStarted | GenerationStabilized))
    yield UndeliveredAssignments(lines, (participant,) if participant is not None else ())


def is_ongoing(timeline: Timeline, since: int) -> bool:
    """True if no later rebalance got an assignment while members still wait for one: the logs end meanwhile."""
    waiting = [r for r in timeline.rebalances.since(since - QUIET_MS) if r.ended_at() >= since]
    if any(r.completed_at is not None and r.completed_at >= since for r in waiting):
        return False
    ended = any(g.outcome == "empty" and (g.started_at or g.completed_at or 0) >= since for g in timeline.generations)
    return (
        not ended
        and not timeline.departures.any_between(since, timeline.last)
        and not timeline.stops.any_between(since, timeline.last)
    )


def effects_of_exceptions(timeline: Timeline, run: Sequence[Event], leaders: Iterable[Participant]) -> tuple[Fact, ...]:
    """Facts that follow an assignor's exception; where only the exception is logged, the leader may leave as well."""
    begin, end = time_of(run[0]), time_of(run[-1])
    facts = _effects(timeline, begin, end)
    if any(isinstance(e, ExceptionLogged) for e in run):
        until = end + session_timeout_ms(timeline) + setting_ms(timeline, OFFSETS_WRITE)
        touching = timeline.rebalances.touching(begin - ROUND_TRIP_MS, begin)
        facts += [r for r in touching if r.completed_at is None]
        facts += [d for a in leaders for d in timeline.departures.of(a).between(begin, until)]
    return tuple(facts)


def effects_of_waiting(timeline: Timeline, undelivered: UndeliveredAssignments, *, last: bool) -> tuple[Fact, ...]:
    """Facts that follow while an assignment is missing.

    Arrivals during the wait belong to it; the newcomer that began the rebalance only where it never got in (`last`).
    """
    begin, end = undelivered.begin, undelivered.end
    since = begin - ROUND_TRIP_MS if last else begin + ROUND_TRIP_MS
    return (*_effects(timeline, begin, end), *timeline.arrivals.between(since, end))


def _effects(timeline: Timeline, begin: int, end: int) -> list[Fact]:
    # The leader rejoins at once; the coordinator stores what it got, or restarts the rebalance.
    asked = timeline.requests.between(begin - ROUND_TRIP_MS, end + 2 * ROUND_TRIP_MS)
    facts: list[Fact] = [r for r in asked if r.why in ("member-rejoined", "leader-rejoined", "other")]
    following = timeline.rebalances.between(begin - ROUND_TRIP_MS, end + setting_ms(timeline, OFFSETS_WRITE))
    return facts + [r for r in following if r.completed_at is None]


class SlowAssignment(Struct, frozen=True, kw_only=True):
    """From the answer to the leader's JoinGroup to its assignment: the client does nothing else in between."""

    leader: Participant
    joined: JoinSucceeded
    computed: AssignmentComputed
    lost: tuple[Departure, ...]

    @property
    def took_ms(self) -> int:
        """How long the assignor took."""
        return (self.computed.at or 0) - (self.joined.at or 0)

    @property
    def lines(self) -> tuple[Event, ...]:
        """The lines that show it."""
        return (self.joined, self.computed, *(e for d in self.lost for e in d.events))


def slow_assignments(timeline: Timeline) -> list[list[SlowAssignment]]:
    """Assignments later than the session timeout, with their leader expelled; one list for each stretch of time."""
    return runs(_slow_assignments(timeline), lambda slow: time_of(slow.computed), QUIET_MS)


def effects_of_slowness(timeline: Timeline, late: Sequence[SlowAssignment]) -> tuple[Fact, ...]:
    """The members lost meanwhile, those waiting in SyncGroup included, and their returns."""
    begin, end = time_of(late[0].joined), time_of(late[-1].computed)
    until = end + setting_ms(timeline, OFFSETS_WRITE)
    departures = [d for d in timeline.departures.between(begin, until) if d.why in UNANNOUNCED]
    arrivals = [a for a in timeline.arrivals.between(begin, until) if not a.first]
    return (*departures, *arrivals, *timeline.rebalances.between(begin - ROUND_TRIP_MS, until))


def _slow_assignments(timeline: Timeline) -> Iterator[SlowAssignment]:
    for computed in timeline.of(AssignmentComputed):
        leader = timeline.participants.of_speaker(computed)
        if leader is None or leader.kind == "instance":
            continue
        joins = timeline.events_from(leader, JoinSucceeded).between(timeline.first, computed.at or 0)
        joined = next((j for j in reversed(joins) if j.generation == computed.generation and not j.after_sync), None)
        if joined is None or (computed.at or 0) - (joined.at or 0) < session_timeout_ms(timeline) - ROUND_TRIP_MS:
            continue
        departures = timeline.departures.of(leader).between(joined.at or 0, (computed.at or 0) + ROUND_TRIP_MS)
        lost = tuple(d for d in departures if d.why in UNANNOUNCED)
        if lost:
            yield SlowAssignment(leader=leader, joined=joined, computed=computed, lost=lost)
