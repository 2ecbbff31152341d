"""The leader could not assign or deliver."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import (
    SILENT,
    distinct_events,
    runs,
    seconds,
    session_timeout_ms,
    span,
    times,
)
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import CERTAIN, LIKELY, PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.slow_assignments import SlowAssignment, slow_assignments
from rebalance_forensics.diagnosis.unready_topics import WAITED_MS, Unready, unready_topics
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupEpochBumped, TargetAssignmentComputed
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.rebalancing import AssignmentFailed, JoinFailed, JoinRequested, RebalanceStarted
from rebalance_forensics.events.streams import SourceTopicsMissing
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact, Rebalance
from rebalance_forensics.timeline.told import time_of

ONE_FAILURE_MS = 300_000
PROTOCOL_ERRORS = (
    "RebalanceInProgressException", "MemberIdRequiredException", "UnknownMemberIdException", "NotCoordinatorException",
    "CoordinatorNotAvailableException", "CoordinatorLoadInProgressException", "DisconnectException",
    "IllegalGenerationException",
    "FencedInstanceIdException", "GroupMaxSizeReachedException", "InconsistentGroupProtocolException",
    "TimeoutException",
    "GroupAuthorizationException", "UnjoinedGroupException", "NetworkException", "WakeupException",
    "InterruptException",
)  # fmt: skip
FAILED_IN_A_ROW = 3


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Assignor exceptions at the leader; without its log, generations that never get an assignment."""
    told = [e for e in timeline.of(AssignmentFailed, JoinFailed, JoinRequested) if _is_assignor_exception(e)]
    told = [e for e in told if not _for_want_of_topics(timeline, e)]
    told = told or [e for e in timeline.of(ExceptionLogged) if e.assigning]
    for run in runs(told, time_of, ONE_FAILURE_MS):
        yield _finding(timeline, run, CERTAIN)
    slow = slow_assignments(timeline)
    for late in runs(slow, lambda s: s.computed.at or 0, ONE_FAILURE_MS):
        yield _too_slow(timeline, late)
    if not told and not slow:
        yield from _never_assigned(timeline)
    for unready in unready_topics(timeline):
        if not (unready.missing and unready.read_before):
            yield _without_topics(timeline, unready)


def _is_assignor_exception(event: Event) -> bool:
    if isinstance(event, AssignmentFailed):
        return True
    if isinstance(event, JoinFailed):  # "Rebalance failed." and the exception, in the words of 2.5 to 2.8
        return _is_foreign(event.error or "") and not event.fatal
    if not isinstance(event, JoinRequested) or event.why != "rebalance-failed":
        return False
    text = f"{event.reason or ''} {event.error or ''}"
    return _is_foreign(text) and (event.error is None or not event.error.isupper())


def _for_want_of_topics(timeline: Timeline, event: Event) -> bool:
    """From 3.2 on a Streams leader also speaks of an error in the assignment when source topics are missing."""
    at = time_of(event)
    return isinstance(event, AssignmentFailed) and timeline.of(SourceTopicsMissing).any_between(at - 1_000, at)


def _is_foreign(text: str) -> bool:
    """An exception that is none of the group protocol's own."""
    return ("Exception" in text or "Error" in text) and not any(e in text for e in PROTOCOL_ERRORS)


def _never_assigned(timeline: Timeline) -> Iterator[Finding]:
    """Several generations in a row are created and none becomes Stable; of an epoch no broker says that it is."""
    row: list[Rebalance] = []
    if timeline.protocol != "classic" or not timeline.has_coordinator_log:
        return
    for rebalance in timeline.rebalances:
        if any(isinstance(e, GroupEpochBumped | TargetAssignmentComputed) for e in rebalance.events):
            continue
        if rebalance.stabilized_at is not None and rebalance.completed_at is None:
            row.append(rebalance)
            continue
        if len(row) >= FAILED_IN_A_ROW:
            break
        row = []
    if len(row) >= FAILED_IN_A_ROW:
        events: list[Event] = [e for r in row for e in r.events if isinstance(e, RebalanceStarted)] or [
            e for r in row for e in r.events
        ]
        yield _finding(timeline, events, PROBABLE)


def _finding(timeline: Timeline, run: list[Event], confidence: float) -> Finding:
    begin, end = run[0].at or 0, run[-1].at or 0
    actors = list(dict.fromkeys(a for e in run for a in _leaders(timeline, e)))
    if not actors:
        actors = [
            a
            for a in dict.fromkeys(
                timeline.cast.of_member(m) for e in run if isinstance(e, RebalanceStarted) for m in e.members
            )
            if a
        ]
    asked = timeline.requests.between(begin - 1_000, end + 2_000)
    facts: list[Fact] = [r for r in asked if r.why in ("member-rejoined", "leader-rejoined", "other")]
    facts += [r for r in timeline.rebalances.between(begin - 1_000, end + 5_000) if r.completed_at is None]
    if any(isinstance(e, ExceptionLogged) for e in run):
        until = end + session_timeout_ms(timeline) + 5_000
        facts += [r for r in timeline.rebalances.touching(begin - 1_000, begin) if r.completed_at is None]
        facts += [d for a in actors for d in timeline.departures.of(a).between(begin, until)]
    names = ", ".join(c.name for c in culprits_of(timeline, actors)) or "The leader"
    words = next((w for k in ("detail", "reason", "error") if (w := getattr(run[0], k, None))), "no line says why")
    undelivered = any(isinstance(e, RebalanceStarted) for e in run)
    return Finding(
        because=distinct_events(run),
        culprits=culprits_of(timeline, actors[:2]),
        confidence=confidence,
        severity="critical" if len(run) > 2 else "warning",
        onset=begin,
        claims=tuple(facts),
        narrative=(
            f"{len(run)} generations in a row got no assignment: their leader could not assign, or did not deliver."
            if undelivered
            else f"{names} could not assign or deliver the assignment {times(len(run))}: {words}"
        ),
        advice=(
            Advice(
                action="Mend the assignor that throws, or take it out of partition.assignment.strategy.",
                why=f"{'No assignment arrived' if undelivered else words} (failed {times(len(run))}{span(run)}).",
                cost="Taking it out needs a rolling restart, and another assignor that all members have in common.",
            ),
        ),
    )


def _leaders(timeline: Timeline, event: Event) -> list[Actor]:
    speaker = timeline.cast.of_speaker(event)
    if speaker is not None:
        return [speaker]
    return list(timeline.cast.at_place(event)) if isinstance(event, ExceptionLogged) else []


def _too_slow(timeline: Timeline, late: list[SlowAssignment]) -> Finding:
    """While the leader assigns, the coordinator's lock of the client is held and its heartbeat thread waits for it."""
    begin, end = late[0].joined.at or 0, late[-1].computed.at or 0
    longest = max(late, key=lambda s: s.took_ms)
    culprits = culprits_of(timeline, list(dict.fromkeys(s.leader for s in late)))
    # Whoever waits in SyncGroup meanwhile is expelled as well.
    facts: list[Fact] = [d for d in timeline.departures.between(begin, end + 5_000) if d.why in SILENT]
    facts += [a for a in timeline.arrivals.between(begin, end + 5_000) if not a.first]
    facts += timeline.rebalances.between(begin - 1_000, end + 5_000)
    return Finding(
        because=distinct_events(
            e for s in late for e in (s.joined, s.computed, *(e for d in s.lost for e in d.events))
        ),
        culprits=culprits,
        confidence=LIKELY,
        severity="critical" if len(late) > 2 else "warning",
        onset=begin,
        claims=tuple(facts),
        core=tuple(d for s in late for d in s.lost),
        narrative=(
            f"{', '.join(c.name for c in culprits)} led the group and took up to {seconds(longest.took_ms)} to assign: "
            "longer than a session lasts, so the group lost its leader before it could deliver."
        ),
        advice=(
            Advice(
                action="Make the assignor faster: no calls to other systems, no waiting inside assign().",
                why=f"One assignment took {seconds(longest.took_ms)}; session.timeout.ms is all that the group waits.",
                cost="An assignor that knows less distributes less evenly.",
            ),
        ),
    )


def _without_topics(timeline: Timeline, unready: Unready) -> Finding:
    begin, end = time_of(unready.told[0]), time_of(unready.told[-1])
    names = ", ".join(unready.topics)
    wrong = "are missing" if unready.missing else "do not fit its topology"
    remedy = "Create the topics" if unready.missing else "Give the topics the partitions that the topology expects"
    return Finding(
        because=distinct_events(unready.told),
        culprits=tuple(Culprit(kind="topic", name=topic) for topic in unready.topics),
        confidence=CERTAIN,
        severity="critical",
        onset=begin,
        claims=(*timeline.rebalances.between(begin - 5_000, end), *timeline.moves(end - 1_000, end + WAITED_MS)),
        narrative=(
            f"The coordinator gave the application no task for {seconds(end - begin)}: topics that it reads {wrong} "
            f"({names})."
        ),
        advice=(
            Advice(
                action=f"{remedy} ({names}); the members go on by themselves.",
                why=f"The coordinator said so {times(len(unready.told))}{span(unready.told)}.",
            ),
        ),
    )


RULE = Rule(
    summary="The leader could not assign, or its assignment never arrived.",
    mechanism=(
        "The leader computes the assignment between JoinGroup and SyncGroup. When its assignor throws, no"
        " SyncGroup is sent, the members wait, the leader rejoins and the rebalance begins again."
    ),
    signs=(
        "'rebalance failed due to …' with an exception that is not Kafka's, generations that never become"
        " Stable, pending sync expiry."
    ),
    remedy="Look at the exception in the leader's log; take the assignor out of all members.",
    usual="fault",
    rank=12,
    diagnose=diagnose,
    settings=("partition.assignment.strategy", "group.protocol"),
    kips=("KIP-848",),
)
