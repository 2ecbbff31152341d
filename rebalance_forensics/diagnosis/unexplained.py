"""What no hypothesis explains: shown as such, never counted as benign."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import chain, groupby, pairwise

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.causes.unexplained import REJOINED
from rebalance_forensics.diagnosis.engine.drafts import Assigned, Draft
from rebalance_forensics.diagnosis.engine.weights import Weighed, answered, subject_of
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import ended_its_session
from rebalance_forensics.diagnosis.episodes.members.absences import lacks_reason
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice, Culprit, Severity
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.wording.culprits import culprit_of
from rebalance_forensics.diagnosis.wording.durations import counted, lasting, seconds, some, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import LEFT_OUT
from rebalance_forensics.timeline.clients import is_java
from rebalance_forensics.timeline.coverage import DETAILED, covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_lines import RESET_WHILE_JOINING
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.membership.lost_membership import EXPELLED, is_late_commit, is_rebalance_notice
from rebalance_forensics.timeline.rebalance_requests import REJOINS
from rebalance_forensics.timeline.time_index import TimeIndex, grouped
from rebalance_forensics.timeline.timeouts import REQUEST, heartbeat_interval_ms, session_timeout_ms, setting_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, QUIET_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS, TICK_MS

_ANSWERED = (ev.GroupHeartbeatFailed, ev.HeartbeatFailed, ev.JoinFailed, ev.SyncFailed)
_REFUSED = (*_ANSWERED, ev.JoinRequested, ev.OffsetCommitFailed)
# Errors of a commit whose member is in no generation any more (ConsumerCoordinator).
_TOO_LATE = EXPELLED | {"CommitFailedException"}

# What onPartitionsLost and its like are called for: the member is in no generation any more (ConsumerCoordinator,
# AbstractMembershipManager).
_GIVEN_UP = (ev.ListenerCalled, ev.MemberTransitioned, ev.OwnershipGivenUp, ev.PartitionsLost)
_REBALANCING = "REBALANCE_IN_PROGRESS"
# A commit that fails so was sent while the member had no generation: it had not rejoined yet, or was no member
# (ConsumerCoordinator.sendOffsetCommitRequest, SmallRye's record stores).
_COMMITTED_BETWEEN = ("not part of an active group", "revoked before it was acknowledged")
_TROUBLE = (ev.CoordinatorLost, ev.NodeDisconnected, ev.JoinFailed)
# A coordinator was found, or is no longer needed.
_RECOVERED = (
    ev.CoordinatorFound, ev.JoinSucceeded, ev.JoinReported, ev.SyncSucceeded, ev.PartitionsAssigned, ev.LeaveSent,
    ev.ConsumerClosed, ev.ProcessStopping, ev.StreamsStateChanged, ev.WorkerStopped,
)  # fmt: skip

# JoinGroup errors that the client's configuration alone explains (GroupCoordinator.handleJoinGroup).
REFUSED_SETTINGS = {
    "INVALID_SESSION_TIMEOUT": (
        "its session.timeout.ms is outside the range that the broker allows, group.min.session.timeout.ms to "
        "group.max.session.timeout.ms"
    ),
    "INVALID_GROUP_ID": "its group.id is empty or not valid",
}

_ASKED = {
    "in join group response": "JoinGroup",
    "from SyncGroup": "SyncGroup",
    "in heartbeat response": "Heartbeat",
}
# KafkaException of AbstractCoordinator's response handlers; Logstash prints `:backtrace=>` behind it.
_THROWN_ANSWER = re.compile(
    r"Unexpected error (?P<request>in join group response|from SyncGroup|in heartbeat response): "
    r"(?P<error>[^:\n]*?)(?=, :|[:\n]|$)"
)

# Lines by member, or by log location where they do not name the member.
Losses = dict[tuple[Participant | None, str], list[Event]]


def _of_coordinator_alone(timeline: Timeline) -> list[Event]:
    """The coordinator's lines of one kind, the one that shows most, where it logs nothing else of the group."""
    kinds = (
        (ev.GroupUnloaded,),
        (ev.GroupLoaded, ev.MemberLoaded),
        (ev.MemberLeft,),
        (ev.GroupEmptied,),
        (ev.AssignmentReceived,),
    )
    found = ([e for e in timeline.own.of_type(*kind) if e.at is not None] for kind in kinds)
    return next(filter(None, found), [])


def _rebalances_mentioned(timeline: Timeline) -> list[Event]:
    """Lines that a member writes in the middle of a rebalance, and that show nothing else of it."""
    events = timeline.own.of_type(
        *(ev.FollowUpScheduled, ev.JoinFailed, ev.ListenerCalled, ev.OffsetCommitFailed, ev.PartitionsRevoked),
        *(ev.StreamThreadStateChanged, ev.StreamsStateChanged, ev.SyncFailed),
    )
    return [e for e in events if e.speaker.role != "broker" and e.at is not None and _mentions_a_rebalance(e)]


def _mentions_a_rebalance(event: Event) -> bool:
    match event:
        case ev.PartitionsRevoked(partitions=partitions, count=count, due=due):
            return bool(partitions or count or due)
        case ev.ListenerCalled(during=during):
            return during == "revoked"
        case ev.FollowUpScheduled(kind=kind):
            # It comes with the assignment (StreamsPartitionAssignor.onAssignment); no kind: none is due.
            return kind is not None
        case ev.OffsetCommitFailed(error=None, detail=detail):
            return detail in _COMMITTED_BETWEEN
        case ev.StreamsStateChanged(before=before, after=after):
            return (before, after) == ("RUNNING", "REBALANCING")
        case ev.StreamThreadStateChanged(before=before, after=after):
            # A thread that starts has nothing to revoke and passes through PARTITIONS_REVOKED until 2.3.
            return before in ("RUNNING", "PARTITIONS_ASSIGNED") and after == "PARTITIONS_REVOKED"
    return getattr(event, "error", None) == _REBALANCING


def _thrown_answer(event: Event) -> tuple[str, str] | None:
    """The request and the coordinator's error in the exception that a Java client throws."""
    found = _THROWN_ANSWER.search(event.detail or "") if isinstance(event, ev.ExceptionLogged) else None
    return (_ASKED[found["request"]], found["error"].rstrip(". ")) if found is not None else None


def _left_without_coordinator(timeline: Timeline) -> Losses:
    """Members that lost their coordinator and failed to reach any broker until their logs end."""
    # Only a log at INFO shows that a coordinator was found again; a process that stops needs none.
    troubled: Losses = {}
    recovered: dict[tuple[Participant | None, str], int] = {}
    for event in timeline.own.of_type(*_TROUBLE, *_RECOVERED):
        speaker = _speaker(timeline, event)
        if isinstance(event, _RECOVERED):
            troubled.pop(speaker, None)
            recovered[speaker] = time_of(event)
        elif event.speaker.role != "broker" and event.at is not None and _is_trouble(event):
            troubled.setdefault(speaker, []).append(event)
    lost = {s: lines for s, lines in troubled.items() if any(isinstance(e, ev.CoordinatorLost) for e in lines)}
    for speaker, lines in lost.items():
        # What other clients of its process lost since counts as well.
        nearby = timeline.nearby.spoken(timeline.participants).get(speaker[0], ()) if speaker[0] is not None else ()
        since = (part.of_type(ev.NodeDisconnected).since(recovered.get(speaker, 0)) for part in nearby)
        lines[:] = merge(lines, *since, key=time_of)
    detailed = {_speaker(timeline, e) for e in timeline.own.by_clients if e.level in DETAILED} if lost else set()
    return {
        speaker: lines
        for speaker, lines in lost.items()
        if speaker in detailed and time_of(lines[-1]) - time_of(lines[0]) > HEARTBEAT_MS
    }


def _is_trouble(event: Event) -> bool:
    return not isinstance(event, ev.JoinFailed) or event.error == "COORDINATOR_NOT_AVAILABLE"


def _speaker(timeline: Timeline, event: Event) -> tuple[Participant | None, str]:
    participant = timeline.participants.of_speaker(event)
    return participant, "" if participant is not None else place_name(event)


def _brokers_out_of_reach(lost: Sequence[Event], failed: Sequence[Event]) -> dict[int, list[Event]]:
    """Failed connections to coordinators that the same client gave up, by broker."""
    given_up = {e.coordinator for e in lost if isinstance(e, ev.CoordinatorLost) and e.coordinator is not None}
    found: dict[int, list[Event]] = {}
    for event in failed:
        if isinstance(event, ev.NodeDisconnected) and event.node is not None:
            broker = ev.LAST_COORDINATOR_NODE - event.node
            if broker in given_up:
                found.setdefault(broker, []).append(event)
    return found


def _is_fatal(event: Event) -> bool:
    if isinstance(event, ev.ExceptionLogged):
        return _thrown_answer(event) is not None
    error = getattr(event, "error", None)
    return error is not None and (getattr(event, "fatal", False) or error in REFUSED_SETTINGS)


def _is_over(event: Event) -> bool:
    match event:
        case ev.ListenerCalled(during=during):
            return during == "lost"
        case ev.MemberTransitioned(after=after):
            return after == "FENCED"
        case ev.PartitionsLost(partitions=partitions):
            return bool(partitions)
        case ev.OwnershipGivenUp():
            return True
    return getattr(event, "error", None) in _TOO_LATE or is_late_commit(event) or isinstance(event, ev.ThreadFenced)


def _ended_threads(event: Event) -> bool:
    return not isinstance(event, ev.StreamsStateChanged) or event.after in ("ERROR", "PENDING_ERROR")


def _forced_a_rejoin(event: Event) -> bool:
    return isinstance(event, ev.ConfigOffsetBehind) and (event.failed or event.leading)


def _is_crash(event: Event) -> bool:
    return isinstance(event, ev.ExceptionLogged) and event.group is not None and "Crash: KafkaJS" in event.text


def _is_unreplicated(event: Event) -> bool:
    # A client that waits in vain for an answer logs it in other words and without a partition (OffsetCommitResponse-
    # Handler of ConsumerCoordinator; GroupMetadataManager.storeOffsets passes the error of the append on).
    if isinstance(event, ev.CoordinatorLost):
        return "error response REQUEST_TIMED_OUT" in (event.cause or "")
    return isinstance(event, ev.OffsetCommitFailed) and event.error == _TIMED_OUT and event.partition is not None


def _gave_up_reading(event: Event) -> bool:
    return isinstance(event, ev.ConfigOffsetBehind) and event.failed and event.wanted is None


def _was_refused(event: Event) -> bool:
    # A group that only rebalances once more, and a newcomer that is sent back for its id (KIP-394), refuse nothing.
    return getattr(event, "error", None) not in (_REBALANCING, "MEMBER_ID_REQUIRED")


def _by_speaker(timeline: Timeline, events: Iterable[Event]) -> Losses:
    own = (event for event in events if event.speaker.role != "broker" and event.at is not None)
    return grouped(own, partial(_speaker, timeline))


UNEXPLAINED = "unexplained"
_TIMED_OUT = "REQUEST_TIMED_OUT"
# So many generations in a row without an assignment are no group that forms: members that start one after another
# replace one or two (group.initial.rebalance.delay.ms gathers the others).
ENDLESS = 3
_GIVEN = (ev.AssignmentNotified, ev.JoinReported, ev.PartitionsAssigned)


def left_over(
    timeline: Timeline, causes: Mapping[str, Cause], assigned: Assigned, drafts: Sequence[Draft]
) -> Iterator[Weighed]:
    """The rebalances, the members kept out and the expired sessions that nothing explains; else the lone losses."""
    lags = _lags(timeline, assigned, drafts)
    behind = {fact.id for lag in lags for fact in lag.explains}
    rebalances = (*lags, *_rebalances(timeline, {*assigned, *behind}), *_unnumbered(timeline, drafts))
    found = [*rebalances, *_kept_out(timeline, drafts), *_expired(timeline, drafts), *_fatal_answers(timeline, drafts)]
    faulty = {participant for h in found if h.severity != "info" for participant in h.participants}
    found += [h for h in _unreachable(timeline, drafts) if faulty.isdisjoint(h.participants)]
    for hypothesis in found if found or drafts else _client_only_losses(timeline):
        subject = subject_of(timeline, hypothesis)
        answers = answered(timeline, causes[UNEXPLAINED].signs, subject, hypothesis.clues)
        yield Weighed(cause=UNEXPLAINED, hypothesis=hypothesis, subject=subject, answers=answers, odds=0)


def _lags(timeline: Timeline, assigned: Assigned, drafts: Sequence[Draft]) -> list[Hypothesis]:
    """Workers that stay behind in the config topic, except those that a fault kept from reading it."""
    unexplained = [r for r in timeline.rebalances if r.id not in assigned and r.events]
    found = [(lags, _about_lag(timeline, lags, unexplained)) for lags in _config_lags(timeline)]
    return [h for lags, h in found if not (_timed_out(lags) and _amid_a_fault(drafts, h.started_at(), h.last_at()))]


def _rebalances(timeline: Timeline, assigned: Container[str]) -> Iterator[Hypothesis]:
    """Each with those that only follow up on it."""
    found: list[list[Rebalance]] = []
    for rebalance in timeline.rebalances:
        if rebalance.id in assigned or not rebalance.events or _is_birth(timeline, rebalance):
            continue
        if rebalance.followup and found:
            found[-1].append(rebalance)
        else:
            found.append([rebalance])
    return (_with_listeners(timeline, _unexplained(timeline, rs), rs[0].started_at, rs[-1].ended_at()) for rs in found)


def _unnumbered(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Rebalances that members log whose clients print no generation."""
    session = session_timeout_ms(timeline)
    for notices in _unnumbered_rebalances(timeline):
        if not _within(drafts, time_of(notices[0]), session):
            led = [e for h in _led(timeline) for e in h.because if time_of(e) >= time_of(notices[0])]
            words = _led_in_words(timeline, led[-1]) if led else _unnumbered_in_words(notices)
            unexplained = _hypothesis_of_group(timeline, notices, words)
            yield _with_listeners(timeline, unexplained, time_of(notices[0]), time_of(notices[-1]))


def _with_listeners(timeline: Timeline, rebalance: Hypothesis, begin: int, end: int) -> Hypothesis:
    """An unexplained rebalance and the rebalance listeners that failed in it, which is a fault whatever began it."""
    # A member learns that the group rebalances within a heartbeat interval and calls its listener before it rejoins.
    failed = timeline.own.of_type(ev.ListenerFailed).between(begin - HEARTBEAT_MS, end + HEARTBEAT_MS)
    if not failed:
        return rebalance
    speaker = timeline.participants.of_speaker(failed[0])
    who = "A member" if speaker is None else speaker.name
    return replace(
        rebalance,
        because=(*rebalance.because, *failed),
        severity="warning" if rebalance.severity == "info" else rebalance.severity,
        narrative=f"{rebalance.narrative} {who} {_listeners_in_words(failed)}",
    )


def _hypothesis_of_group(timeline: Timeline, lines: Sequence[Event], narrative: str) -> Hypothesis:
    """What lines show of the group as a whole, with those that logged them."""
    speakers = dict.fromkeys(timeline.participants.of_speaker(e) for e in lines)
    participants = tuple(participant for participant in speakers if participant is not None)
    return Hypothesis(
        because=tuple(lines), culprits=(), severity="info", participants=participants, narrative=narrative
    )


def _unnumbered_in_words(notices: Sequence[Event]) -> str:
    """What the lines show of it: a leader, topics that it brought, or nothing but that it was."""
    elected = [e for e in notices if isinstance(e, ev.RegistryLeaderElected)]
    if elected:
        leader = f"{elected[-1].leader} as its leader" if elected[-1].leader else "no leader"
        return f"The group rebalanced and elected {leader}; these lines do not show what became of the one before."
    if gained := _topics_gained(notices):
        return (
            f"The group rebalanced, and afterwards a member read {', '.join(gained)} as well: a topic that is new and "
            "matches its pattern, a changed subscription, or a member that left. No reason was logged."
        )
    return (
        "The group rebalanced, as its members log, and no reason was logged: these lines name neither a new generation "
        f"nor who came or went.{_share_in_words(notices)}"
    )


def _share_in_words(rebalance: Iterable[Event]) -> str:
    """How a member's share changed, where it gave back all that it had: only then is some of it assigned again."""
    # An eager member revokes and is assigned everything. Of a cooperative one both are deltas, which share nothing.
    before, after = set[str](), set[str]()
    for event in rebalance:
        before |= {*event.partitions} if isinstance(event, ev.PartitionsRevoked) else set()
        after |= {*(event.partitions or ())} if before and isinstance(event, _GIVEN) else set()
    if before.isdisjoint(after) or len(before) == len(after):
        return ""
    other = "joins" if len(after) < len(before) else "leaves"
    before_it = counted(len(before), "partition")
    return f" A member read {before_it} before and {len(after)} afterwards, as when another {other}."


def _is_birth(timeline: Timeline, rebalance: Rebalance) -> bool:
    """The first rebalance needs no cause where the group formed; in logs that begin later it does."""
    if timeline.coverage.is_excerpt:
        begun = any(isinstance(e, ev.RebalanceStarted) and e.generation == 0 for e in rebalance.events)
        return begun or rebalance.generation == 1
    if any(isinstance(e, ev.RebalanceStarted) and e.generation for e in rebalance.events):
        return False
    return rebalance is timeline.rebalances[0] and (rebalance.generation is None or rebalance.generation <= 1)


def _unexplained(timeline: Timeline, rebalances: Sequence[Rebalance]) -> Hypothesis:
    """A rebalance whose cause the logs do not show; where it was looked for stand its signs."""
    first = rebalances[0]
    number = "A rebalance" if first.generation is None else f"Generation {first.generation}"
    began = (
        f"{number} followed up on an earlier one ({first.followup})"
        if first.followup
        else f"{number} began{_joiner_in_words(first)}"
    )
    severity, effect = _effect(timeline, rebalances)
    forced = None if first.followup else _forced_rejoin(timeline, first)
    if why := _why_forced(timeline, forced):
        narrative = f"{began} {why}.{effect}"
    elif who := _leaver_in_words(timeline, first):
        narrative = f"{began} when {who}whether it came back or who stayed.{effect}"
    elif any(isinstance(e, ev.RebalanceStarted) and _lost_its_reason(e) for e in first.events):
        narrative = f"{began}; if the coordinator gave a reason, it was left out of its line.{effect}"
    else:
        narrative = (
            f"{began}, but no reason {'for that one ' if first.followup else ''}was logged: "
            f"{_searched_for(timeline, first)}{_outcome_in_words(timeline, first)}{effect}"
        )
    return Hypothesis(
        because=(*((forced,) if forced else ()), *first.events),
        culprits=(),
        clues={REJOINED: Present((forced,))} if forced else {},
        severity=severity,
        explains=tuple(rebalances),
        participants=tuple(timeline.membership.members),
        narrative=narrative,
    )


def _outcome_in_words(timeline: Timeline, rebalance: Rebalance) -> str:
    """What became of it: no work for workers whose leader lacks configuration, or another share for a member."""
    begin, end = rebalance.started_at - HEARTBEAT_MS, rebalance.ended_at() + ROUND_TRIP_MS
    lines = timeline.own.of_type(ev.ConfigOffsetBehind).between(rebalance.started_at, end)
    if leading := [e for e in lines if isinstance(e, ev.ConfigOffsetBehind) and e.leading]:
        return f" {_worker_name(timeline, leading[0])} {_forced_in_words(leading)}"
    moves = timeline.own.of_type(ev.PartitionsRevoked, *_GIVEN).between(begin, end)
    shares = grouped(moves, partial(_speaker, timeline)).values()
    return next(filter(None, map(_share_in_words, shares)), "")


def _lost_its_reason(line: ev.RebalanceStarted) -> bool:
    # Since 2.1 the coordinator names the state, and a reason behind it.
    return line.reason is None and (LEFT_OUT in line.text or " in state " in line.text)


def _leaver_in_words(timeline: Timeline, rebalance: Rebalance) -> str:
    """The member whose LeaveGroup began it, as far as lines name it, and the reason that it gave."""
    opened = next((e for e in rebalance.events if isinstance(e, ev.RebalanceStarted)), None)
    if opened is None or opened.trigger != "member-left" or len(opened.members) != 1:
        return ""
    participant = timeline.participants.of_member(opened.members[0])
    return _left_in_words(participant.name if participant is not None else opened.members[0], opened.client_reason)


def _left_in_words(who: str, reason: str | None) -> str:
    """A leave with the reason in its LeaveGroup (KIP-800), up to what these lines do not show."""
    # A consumer "is being closed" after an exception, too: the reason says what was called, not what for.
    if reason and reason != "not provided":
        return f'{who} left the group ("{reason}"); these lines do not show '
    return f"{who} left the group; these lines do not show why, "


def _searched_for(timeline: Timeline, rebalance: Rebalance) -> str:
    """What was looked for in vain, or why it cannot be found."""
    if lacks_reason(rebalance):
        return (
            "a coordinator of this release names neither the reason nor who joined or left, so only the clients' own "
            "logs show it."
        )
    # A log that begins with the rebalance may begin in the middle of it, behind the line that gives the reason.
    if not covering(timeline.coverage.brokers, rebalance.started_at - 1, rebalance.ended_at()):
        heard = any(e.speaker.role == "broker" for e in rebalance.events)
        unknown = (
            "the coordinator's lines at hand do not tell who joined or left."
            if heard
            else "without the coordinator's log it is not known who joined or left."
        )
        return f"no client gave one, no subscription or metadata is seen to change, and {unknown}"
    return (
        "no member joined or left, no subscription or metadata changed, the coordinator did not move, and no client "
        "gave a reason."
    )


def _effect(timeline: Timeline, rebalances: Sequence[Rebalance]) -> tuple[Severity, str]:
    """What it did to the group: a rebalance that stopped work for long, or never ended, is a fault."""
    last = rebalances[-1]
    replaced = _replaced_in_a_row(timeline, last.generation)
    # A member that waits all the while is an incident of its own, which says how often it asked (_kept_out).
    waits = (
        any(w.begin <= last.started_at <= w.end for w in waiting_members(timeline)) if replaced >= ENDLESS else False
    )
    if replaced >= ENDLESS and not waits:
        return "warning", f" {replaced} generations in a row ended before their assignment reached every member."
    if last.stabilized_at is None and last.completed_at is None:
        logs = [log.end for log in timeline.coverage.brokers if log.begin <= last.started_at]
        later = any(r.started_at > last.started_at for r in timeline.rebalances)
        waited = timeline.measured(max(logs, default=last.started_at) - last.started_at) or 0
        if waited > REQUEST_TIMEOUT_MS and not later:
            return "warning", f" It was still unfinished {seconds(waited)} later, when the logs end."
        return "info", ""
    longest = timeline.measured(max(r.ended_at() - r.started_at for r in rebalances)) or 0
    if longest > REQUEST_TIMEOUT_MS:
        return "warning", f" It took {seconds(longest)}."
    return "info", ""


def _replaced_in_a_row(timeline: Timeline, generation: int | None) -> int:
    """The number of generations, this among them, that each gave way to the next before a SyncGroup was answered."""
    replaced = timeline.cached(_replaced_generations)
    if generation is None or replaced.isdisjoint((generation - 1, generation)):
        return 0
    # The last of them may be the first whose assignment arrives.
    last = generation if generation in replaced else generation - 1
    first = last
    while first - 1 in replaced:
        first -= 1
    while last + 1 in replaced:
        last += 1
    return last - first + 1


def _replaced_generations(timeline: Timeline) -> frozenset[int]:
    failed = (e for e in timeline.of(ev.SyncFailed) if e.error == "REBALANCE_IN_PROGRESS")
    return frozenset(e.generation for e in failed if e.generation is not None)


def _kept_out(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Members that never joined, without a fault at that time that explains it."""
    out = [w for w in waiting_members(timeline) if not _amid_a_fault(drafts, w.begin, w.end)]
    if out:
        yield about_waiting(timeline, out)


def _amid_a_fault(drafts: Sequence[Draft], begin: int, end: int) -> bool:
    return any(
        w.hypothesis.severity != "info" and w.hypothesis.started_at() <= end and w.hypothesis.last_at() >= begin
        for draft in drafts
        for w in draft.findings
    )


def _expired(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Sessions that expired by the member's own log, without a finding that explains them."""
    session = session_timeout_ms(timeline)
    expired = _by_speaker(timeline, filter(ended_its_session, timeline.own.of_type(ev.CoordinatorLost)))
    for (participant, place), events in expired.items():
        unclaimed = [e for e in events if not _within(drafts, e.at or 0, session)]
        if not unclaimed:
            continue
        stayed = participant is not None and _stayed_in(timeline, participant, unclaimed, session)
        lost = "gave up its coordinator" if stayed else "counted its session as expired"
        unknown = (
            "and it stayed in the group."
            if stayed
            else "and the logs do not show whether the member, the network or the coordinator was to blame."
        )
        sentence = f"{lost} {times(len(unclaimed))}{span(unclaimed)}: no heartbeat was answered in time, {unknown}"
        yield _hypothesis_of_client(participant, place, unclaimed, "info" if stayed else "warning", sentence)


def _stayed_in(timeline: Timeline, participant: Participant, expired: Sequence[Event], session: int) -> bool:
    """True if the coordinator's log continues for a session timeout without removing it: its heartbeats resumed."""
    begin, end = time_of(expired[0]) - session, time_of(expired[-1]) + session
    heard = timeline.has_coordinator_log and covering(timeline.coverage.brokers, begin, end)
    return bool(heard) and not timeline.departures.of(participant).any_between(begin, end)


def _client_only_losses(timeline: Timeline) -> Iterator[Hypothesis]:
    """What clients log by themselves, where nothing else is known of the group: the gravest kind of it."""
    yield from (
        _first_found(timeline, _GRAVEST_FIRST)
        or list(_lost_coordinators(timeline))
        or _first_found(timeline, _LIGHTER)
        or [*_mentioned(timeline), *_of_coordinator(timeline)]
        or list(_led(timeline))
    )


def _first_found(timeline: Timeline, kinds: Sequence[_Loss]) -> list[Hypothesis]:
    """The losses of the first of these kinds that any client logs."""
    for types, is_shown, severity, in_words in kinds:
        if found := _by_speaker(timeline, filter(is_shown, timeline.own.of_type(*types))):
            return [
                _hypothesis_of_client(participant, place, events, severity, _loss_in_words(in_words, events))
                for (participant, place), events in found.items()
            ]
    return []


def _loss_in_words(in_words: _InWords, events: Sequence[Event]) -> str:
    if not isinstance(in_words, str):
        return in_words(events)
    errors = dict.fromkeys(error for e in events if (error := getattr(e, "error", None)))
    return in_words.format(times=times(len(events)), errors=f" ({', '.join(errors)})" if errors else "")


def _lost_coordinators(timeline: Timeline) -> Iterator[Hypothesis]:
    # Connections that could not be established at all (NetworkClient).
    refused = timeline.disconnected("could not be established")
    failed = _by_speaker(timeline, [event for event in refused if event.node is not None])
    for (participant, place), events in _by_speaker(timeline, timeline.own.of_type(ev.CoordinatorLost)).items():
        unreached = _brokers_out_of_reach(events, failed.get((participant, place), ()))
        lines = [*chain.from_iterable(unreached.values()), *events]
        sentence = f"lost its coordinator {times(len(events))}{_failed_connections_in_words(unreached)}"
        # Whether it found the coordinator again only a later line can show; "resolved" would claim that it did.
        logs_on = participant is None or timeline.events_from(participant, Event).since(time_of(events[-1]) + 1)
        ongoing = timeline.coverage.is_excerpt and not logs_on
        yield _hypothesis_of_client(participant, place, lines, "info", sentence, ongoing=ongoing)


def _of_coordinator(timeline: Timeline) -> Iterator[Hypothesis]:
    """What an excerpt has of a coordinator's lines about a group, where none shows why."""
    found = _of_coordinator_alone(timeline)
    # A whole log has more: a broker that starts loads all of its groups, and most go on as they were. After a leave or
    # an assignment, which a rebalance follows or precedes, a whole log has that rebalance.
    moved = any(isinstance(e, ev.GroupLoaded | ev.GroupUnloaded | ev.MemberLoaded) for e in found)
    if moved and not timeline.coverage.is_excerpt and len(timeline.ungrouped):
        return
    for lines in runs(found, time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _coordinators_words(timeline, lines[0]))


def _coordinators_words(timeline: Timeline, line: Event) -> str:
    broker = "A broker" if line.speaker.broker is None else f"broker-{line.speaker.broker}"
    match line:
        case ev.GroupUnloaded():
            return (
                f"{broker} stopped coordinating the group; these lines do not show why, or which broker took it over."
            )
        case ev.GroupLoaded() | ev.MemberLoaded():
            return (
                f"{broker} loaded the group as its coordinator: it started, or another broker coordinated the group "
                "before; these lines do not show which."
            )
        case ev.MemberLeft(member=member, reason=reason):
            participant = timeline.participants.of_member(member) if member else None
            who = "A member" if participant is None else participant.name
            return f"{_left_in_words(who, reason)}whether it came back or who stayed."
        case ev.GroupEmptied():
            return "The group lost its last member; these lines do not show whether it left or was removed."
    return "The group rebalanced: its leader's assignment arrived. These lines do not show why it rebalanced."


def _mentioned(timeline: Timeline) -> Iterator[Hypothesis]:
    """Rebalances of which the lines show no more than that they were."""
    for lines in runs(_rebalances_mentioned(timeline), time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _mention_in_words(timeline, lines))


def _led(timeline: Timeline) -> Iterator[Hypothesis]:
    """Rebalances of which the lines show the leader's assignment, and neither a generation that began nor a reason."""
    led = [e for e in timeline.own.of_type(ev.AssignmentComputed) if e.at is not None and e.speaker.role != "broker"]
    for lines in runs(led, time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _led_in_words(timeline, lines[-1]))


def _led_in_words(timeline: Timeline, line: Event) -> str:
    assert isinstance(line, ev.AssignmentComputed)
    participant, place = _speaker(timeline, line)
    members = line.member_count or len(line.assignment)
    among = "" if not members else " to itself, its only member" if members == 1 else f" to {members} members"
    who = _name(participant, f"A client on {place}")
    return f"{who} led the group in a rebalance and assigned its partitions{among}; these lines do not show why."


def _mention_in_words(timeline: Timeline, lines: Sequence[Event]) -> str:
    if all(isinstance(e, ev.PartitionsRevoked | ev.ListenerCalled) for e in lines):
        gave_up = [*runs(lines, time_of, ROUND_TRIP_MS)]
        first, last = time_of(lines[0]), time_of(lines[-1])
        if timeline.own.of_type(ev.ConsumerClosed).between(first - ROUND_TRIP_MS, last + ROUND_TRIP_MS):
            return "A member gave up its partitions as its consumer was closed; these lines do not show why it was."
        return (
            f"Members of the group gave up partitions {times(len(gave_up))}, as they do in a rebalance, or when they "
            "unsubscribe or close; these lines do not show which."
        )
    return _unnumbered_in_words(lines)


def _forced_in_words(events: Sequence[Event]) -> str:
    leading = [e for e in events if isinstance(e, ev.ConfigOffsetBehind) and e.leading]
    return (
        f"led the group {times(len(leading))} without configuration that another worker has, and assigned no work, so "
        "that all read the config topic again: usual after a configuration change. If it keeps happening, the workers "
        "of this group.id do not share one config topic."
        if leading
        else f"rejoined {times(len(events))} because it had not read the config topic as far as its assignment "
        "requires, as workers do right after a configuration change."
    )


def _behind_in_words(events: Sequence[Event]) -> str:
    last = next((e for e in reversed(events) if isinstance(e, ev.ConfigOffsetBehind) and e.wanted is not None), None)
    offsets = f" (offset {last.current}, the assignment {last.wanted})" if last is not None else ""
    return (
        f"had not read the config topic as far as the group's assignment{offsets}: it reads on and may rejoin, as "
        "workers do right after a configuration change. If it keeps happening, the workers of this group.id do not "
        "share one config topic."
    )


def _threads_in_words(events: Sequence[Event]) -> str:
    failed = [e for e in events if isinstance(e, ev.ThreadFailed)]
    if not failed:
        return "is in state ERROR: its stream threads have ended, and it processes nothing until it is started again."
    thrown = list(dict.fromkeys(e.exception.rpartition(".")[2] for e in failed if e.exception))
    why = f" ({', '.join(thrown)})" if thrown else ""
    ends = any((e.response or "").upper().startswith("SHUTDOWN") for e in failed)
    after = "its Streams client shuts down" if ends else "these lines do not show whether another thread replaced it"
    return f"lost a stream thread to an exception{why}; {after}."


def _listeners_in_words(events: Sequence[Event]) -> str:
    during = list(dict.fromkeys(e.during for e in events if isinstance(e, ev.ListenerFailed) and e.during))
    where = f" ({', '.join(during)})" if during else ""
    # ConsumerCoordinator rethrows it since 2.4; kafka-python and aiokafka log it and go on.
    thrown = "a Java client's poll() throws that exception, and " if any(map(is_java, events)) else ""
    return (
        f"was in a rebalance when its application's rebalance listener failed{where}: {thrown}what the listener had to "
        "commit or clean up may be left undone."
    )


def _out_in_words(events: Sequence[Event]) -> str:
    if all(isinstance(e, ev.JoinFailed) for e in events):
        # Of a newcomer's JoinGroup with the id that it was given (KIP-394), or of a member's with its old one.
        return (
            f"was refused {times(len(events))} when it joined: the coordinator did not know its member id, because "
            "that had expired or another broker coordinates the group now. Such a client joins again without one."
        )
    return (
        f"was told {times(len(events))} that it is no longer in the group, and these lines do not show whether it was "
        "too slow, was paused or was cut off."
    )


def _crashed_in_words(events: Sequence[Event]) -> str:
    thrown = dict.fromkeys(e.detail for e in events if isinstance(e, ev.ExceptionLogged) and e.detail)
    return (
        f"crashed {times(len(events))} ({', '.join(thrown)}). KafkaJS then stops the consumer, which leaves the group, "
        "and restarts it after an error that it may retry only; these lines do not show whether it came back."
    )


def _unreplicated_in_words(events: Sequence[Event]) -> str:
    commits = [e for e in events if isinstance(e, ev.OffsetCommitFailed)] or events
    return (
        f"was answered {times(len(commits))} that its commit had timed out (REQUEST_TIMED_OUT): the coordinator had "
        "not replicated it within offsets.commit.timeout.ms, 5 s by default, as when a replica of __consumer_offsets "
        "is slow or out of reach."
    )


# The lines that show it, which of them do (None: all), how grave it is, and what a report says of it, with the times
# and the errors.
_KEPT_OUT = "failed to rejoin {times}{errors}, and these lines do not show whether it got in afterwards."
# DistributedHerder.readConfigToEnd leaves the group and sleeps; the worker keeps its tasks at first.
_UNREAD_CONFIG = (
    "left the group {times} because it did not read the config topic to its end in time (worker.sync.timeout.ms, 3 s "
    "by default); it backs off before it rejoins, and stays behind while that topic cannot be read."
)
_InWords = str | Callable[[Sequence[Event]], str]
_Loss = tuple[tuple[type[Event], ...], Callable[[Event], bool] | None, Severity, _InWords]
_GRAVEST_FIRST: tuple[_Loss, ...] = (
    ((ev.ExceptionLogged, ev.ThreadFenced, *_GIVEN_UP, *_REFUSED), _is_over, "warning", _out_in_words),
    ((ev.ExceptionLogged,), _is_crash, "warning", _crashed_in_words),
    ((ev.StreamsStateChanged, ev.ThreadFailed), _ended_threads, "warning", _threads_in_words),
    ((ev.ListenerFailed,), None, "warning", _listeners_in_words),
    ((ev.OffsetCommitFailed, ev.CoordinatorLost), _is_unreplicated, "warning", _unreplicated_in_words),
    ((ev.ConfigOffsetBehind,), _gave_up_reading, "warning", _UNREAD_CONFIG),
    ((ev.ConfigOffsetBehind,), _forced_a_rejoin, "info", _forced_in_words),
)
_LIGHTER: tuple[_Loss, ...] = (
    ((ev.ConfigOffsetBehind,), None, "info", _behind_in_words),
    ((ev.JoinFailed, ev.SyncFailed), _was_refused, "info", _KEPT_OUT),
    ((ev.LeaveSent,), None, "info", "left the group {times}, and these lines do not show why."),
)


def _fatal_answers(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Members whose client gave up after a fatal answer, without a fault at that time that explains it."""
    answers = _by_speaker(timeline, filter(_is_fatal, timeline.own.of_type(ev.ExceptionLogged, *_ANSWERED)))
    for (participant, place), events in answers.items():
        if not _amid_a_fault(drafts, time_of(events[0]), time_of(events[-1])):
            yield _hypothesis_of_client(participant, place, events, "warning", _refusals_in_words(events))


def _unreachable(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Members that lost their coordinator for good, without a fault at that time that explains it."""
    for (participant, place), events in _left_without_coordinator(timeline).items():
        if not _amid_a_fault(drafts, time_of(events[0]), time_of(events[-1])):
            lost = [e for e in events if isinstance(e, ev.CoordinatorLost)]
            brokers = {f"broker-{e.coordinator}": None for e in lost if e.coordinator is not None}
            which = f" ({', '.join(brokers)})" if brokers else ""
            length = timeline.measured(time_of(events[-1]) - time_of(events[0]))
            sentence = (
                f"lost its coordinator{which} and had not found it again{lasting(length, ' {} later')}, when its lines "
                "end; they do not show whether that broker, the network or the client caused it."
            )
            yield _hypothesis_of_client(participant, place, [*lost[:2], *events], "warning", sentence, ongoing=True)


def _refusals_in_words(refusals: Sequence[Event]) -> str:
    """What the answer was to, or what in the client's own configuration it means."""
    errors = dict.fromkeys(error for e in refusals if (error := getattr(e, "error", None)))
    if errors and all(error in REFUSED_SETTINGS for error in errors):
        why = " and ".join(f"{REFUSED_SETTINGS[error]} ({error})" for error in errors)
        return f"was refused {times(len(refusals))} when it asked to join: {why}."
    answers = dict.fromkeys(_thrown_answer(e) or (_REQUESTS[type(e)], getattr(e, "error", "")) for e in refusals)
    why = ", ".join(f"{request} failed with {f'{error!r}' if ' ' in error else error}" for request, error in answers)
    return f"gave up: {why}, which its client does not retry."


_REQUESTS: Mapping[type[Event], str] = {
    ev.JoinFailed: "JoinGroup",
    ev.SyncFailed: "SyncGroup",
    ev.HeartbeatFailed: "Heartbeat",
    ev.GroupHeartbeatFailed: "the group heartbeat",
}


def _failed_connections_in_words(failed: Mapping[int, Sequence[Event]]) -> str:
    """Failed connections in words; the address that a client tries is the one that the broker advertises."""
    if not failed:
        return ", and these lines do not show whether the coordinator, the network or the client caused it."
    brokers = ", ".join(f"broker-{broker}" for broker in failed)
    return (
        f" and could not connect to it ({brokers}); these lines do not show whether that broker, the network or the "
        "address that it advertises caused it."
    )


def _hypothesis_of_client(
    participant: Participant | None,
    place: str,
    events: Sequence[Event],
    severity: Severity,
    sentence: str,
    *,
    ongoing: bool = False,
) -> Hypothesis:
    culprit = culprit_of(participant) if participant is not None else Culprit(kind="host", name=place)
    return Hypothesis(
        because=tuple(events),
        culprits=(culprit,),
        severity=severity,
        ongoing=ongoing,
        participants=(participant,) if participant is not None else (),
        narrative=f"{culprit.name if participant is not None else f'A client on {culprit.name}'} {sentence}",
    )


def _within(drafts: Sequence[Draft], at: int, session: int) -> bool:
    """True if a draft covers that time, give or take a session."""
    return any(
        w.hypothesis.started_at() - session <= at <= w.hypothesis.last_at() + session
        for draft in drafts
        for w in draft.findings
    )


def _joiner_in_words(rebalance: Rebalance) -> str:
    """The coordinator names the member whose JoinGroup began it, if nothing else."""
    opened = (e for e in rebalance.events if isinstance(e, ev.RebalanceStarted))
    first = next((e for e in opened if e.trigger in REJOINS and e.members), None)
    if first is None:
        return ""
    return f" when {'its leader ' if first.trigger == 'leader-rejoined' else ''}{first.members[0]} rejoined"


def _unnumbered_rebalances(timeline: Timeline) -> list[list[Event]]:
    """The members' lines, one list for each rebalance, where no log shows a generation of the group."""
    # KafkaJS, Spring and others log no generation. Java clients do, but an excerpt may hold only their notices that the
    # group is rebalancing.
    if timeline.rebalances:
        return []
    notices = [
        e for e in timeline.of(ev.HeartbeatFailed, ev.JoinRequested) if e.at is not None and is_rebalance_notice(e)
    ]
    # A Java client repeats the notice at each heartbeat until it rejoins.
    again = any(isinstance(e, ev.JoinRequested) for e in notices)
    found = runs(notices, time_of, 2 * heartbeat_interval_ms(timeline) if again else ROUND_TRIP_MS)
    shown = [*_reassignments(timeline), *_elections(timeline)]
    together = runs(shown, lambda s: time_of(s[0]), ROUND_TRIP_MS, until=lambda s: time_of(s[-1]))
    return found or [[event for steps in rebalance for event in steps] for rebalance in together]


def _topics_gained(rebalance: Sequence[Event]) -> list[str]:
    """Topics of the partitions that a member was newly assigned, where it also revoked partitions of other topics."""
    before = _topics(rebalance, (ev.PartitionsRevoked,))
    return sorted(_topics(rebalance, _GIVEN) - before) if before else []


def _topics(events: Sequence[Event], kinds: tuple[type[Event], ...]) -> set[str]:
    partitions = (p for e in events if isinstance(e, kinds) for p in getattr(e, "partitions", None) or ())
    return {partition.rpartition("-")[0] for partition in partitions}


def _reassignments(timeline: Timeline) -> Iterator[list[Event]]:
    """A revocation and the next JoinGroup or assignment of the same member, as in every eager rebalance."""
    # Sarama logs no JoinGroup, but looks for its coordinator before each (consumer_group.go, newSession).
    revoked: dict[object, Event] = {}
    for event in timeline.own.of_type(ev.PartitionsRevoked, ev.JoinStarted, ev.CoordinatorFound, *_GIVEN):
        speaker = timeline.participants.of_speaker(event) or place_name(event)
        if event.at is None:
            continue
        if isinstance(event, ev.PartitionsRevoked):
            revoked[speaker] = event
        elif speaker in revoked and not (isinstance(event, ev.CoordinatorFound) and event.speaker.role != "other"):
            yield [revoked.pop(speaker), event]


def _elections(timeline: Timeline) -> Iterator[list[Event]]:
    """Each line in which a Schema Registry instance names a new leader."""
    before: str | None = None
    for event in timeline.own.of_type(ev.RegistryLeaderElected):
        assert isinstance(event, ev.RegistryLeaderElected)
        if event.at is not None and before is not None and event.leader != before:
            yield [event]
        before = event.leader or before


# ConnectProtocol.Assignment.CONFIG_MISMATCH: the leader's configuration is older than another worker's.
CONFIG_MISMATCH = 1
# KafkaConfigBackingStore's offset until it has read a record.
NOTHING_READ = -1
MOST_NAMED = 3


class _Lag(Struct, frozen=True):
    """A worker that read the config topic to its end at least twice without getting further, or a leader behind others.

    `host` is the place of a worker's log, where its lines do not name the worker. `reached` is None for a leader, whose
    assignments failed repeatedly as it or another worker logged. `attempts` has one line for each.
    """

    participant: Participant | None
    otherwise: str
    reached: int | None
    wanted: int | None
    attempts: tuple[Event, ...]
    lines: tuple[Event, ...]
    host: str = ""

    @property
    def name(self) -> str:
        return _name(self.participant, self.otherwise)


# After each assignment a worker with an older configuration reads the config topic to its end. If it still has not
# reached the assignment's offset, it rejoins (DistributedHerder.handleRebalanceCompleted). A leader that is itself
# behind another worker sends a failed assignment, and every worker rejoins (ensureLeaderConfig,
# ConnectProtocol.CONFIG_MISMATCH).
def _config_lags(timeline: Timeline) -> Iterator[list[_Lag]]:
    """Lags that repeat: a single one is usual right after a change, and the next read ends it.

    Those of one time stand together, workers before leaders, the most attempts first.
    """
    if timeline.kind == "connect":
        found = [*_workers(timeline), *_leaders(timeline)]
        for together in runs(found, lambda lag: min(map(time_of, lag.lines)), QUIET_MS, lambda lag: _last(lag.lines)):
            yield sorted(together, key=lambda lag: (lag.reached is None, -len(lag.attempts)))


def _last(lines: Iterable[Event]) -> int:
    return max(map(time_of, lines))


def _forced_rejoin(timeline: Timeline, rebalance: Rebalance) -> Event | None:
    """The line, nearest to the start of a rebalance, in which a worker rejoins because of its configuration."""
    lines = timeline.own.of_type(ev.ConfigOffsetBehind, ev.WorkerAssigned).between(*_just_before(rebalance))
    forcing = [e for e in lines if _forces_rejoin(e)]
    return min(forcing, key=lambda e: abs(time_of(e) - rebalance.started_at), default=None)


def _just_before(rebalance: Rebalance) -> tuple[int, int]:
    return rebalance.started_at - HEARTBEAT_MS, rebalance.started_at + ROUND_TRIP_MS


def _forces_rejoin(event: Event) -> bool:
    match event:
        case ev.ConfigOffsetBehind(failed=failed):
            return failed
        case ev.WorkerAssigned(error=error):
            return error == CONFIG_MISMATCH
    return False


def _workers(timeline: Timeline) -> Iterator[_Lag]:
    for (participant, place, _), logged in _by_worker(timeline).items():
        forced = TimeIndex(filter(_forces_rejoin, logged), time_of)
        behind = [e for e in logged if isinstance(e, ev.ConfigOffsetBehind)]
        for run in _stalled_reads(timeline, participant, behind):
            reads = _reads(run)
            # A worker that only logs further reads may have been restarted without a line.
            if len(reads) > 1 and forced.any_between(time_of(run[0]) - HEARTBEAT_MS, time_of(run[-1])):
                reached, wanted = reads[-1].current, reads[-1].wanted
                lines = tuple(sorted(run, key=lambda e: not e.failed))
                yield _Lag(participant, f"a worker on {place}", reached, wanted, tuple(reads), lines, host=place)


def _by_worker(timeline: Timeline) -> dict[tuple[Participant | None, str, str | None], list[Event]]:
    """Each worker's lines; client ids separate workers that write to one file."""
    lines = (e for e in timeline.own.of_type(ev.ConfigOffsetBehind, ev.WorkerAssigned) if e.at is not None)
    return grouped(lines, lambda e: (*_speaker(timeline, e), e.speaker.client_id))


def _stalled_reads(
    timeline: Timeline, participant: Participant | None, events: Sequence[ev.ConfigOffsetBehind]
) -> Iterator[list[ev.ConfigOffsetBehind]]:
    """A worker's lines, cut where its offset moved, its process restarted, or it was quiet for long."""
    starts = timeline.starts.of(participant)
    for stretch in runs(events, time_of, QUIET_MS):
        found: list[ev.ConfigOffsetBehind] = []
        offset: int | None = None
        for event in stretch:
            moved = event.current is not None and offset is not None and event.current != offset
            if found and (moved or starts.any_between(time_of(found[-1]), time_of(event))):
                yield found
                found, offset = [], None
            found.append(event)
            offset = offset if event.current is None else event.current
        yield found


def _reads(run: Sequence[ev.ConfigOffsetBehind]) -> list[ev.ConfigOffsetBehind]:
    # An attempt logs that it reads on and, if it fails, that it failed; cut logs have one line or the other.
    behind = [e for e in run if e.current is not None and e.wanted is not None and e.current < e.wanted]
    return max([e for e in behind if e.failed], [e for e in behind if not e.failed], key=len)


def _leaders(timeline: Timeline) -> Iterator[_Lag]:
    """Each leader with the longest streak of failed assignments that one worker logged."""
    streaks: dict[str, list[list[ev.WorkerAssigned]]] = defaultdict(list)
    for (participant, place, _), lines in _by_worker(timeline).items():
        assigned = (e for e in lines if isinstance(e, ev.WorkerAssigned))
        for (error, leader), streak in groupby(assigned, key=lambda e: (e.error, e.leader)):
            if error == CONFIG_MISMATCH and leader:
                streaks[leader] += runs(streak, time_of, QUIET_MS)
        # A leader logs each assignment in which it had to leave all workers without work (WorkerCoordinator).
        leading = [e for e in lines if isinstance(e, ev.ConfigOffsetBehind) and e.leading]
        for run in runs(leading, time_of, QUIET_MS):
            if len(run) > 1:
                yield _Lag(participant, f"a worker on {place}", None, None, tuple(run), tuple(run))
    for leader, found in streaks.items():
        failed = max(map(tuple, found), key=len)
        if len({e.generation for e in failed}) > 1:
            wanted = max((e.config_offset for e in failed if e.config_offset is not None), default=None)
            yield _Lag(timeline.participants.of_member(leader), leader, None, wanted, failed, failed)


# A worker that never reads as far as the assignment demands: it reads another topic, or records are gone.
_ONE_CONFIG_TOPIC = (
    Advice(
        action="Compare config.storage.topic and bootstrap.servers of all workers with this group.id: each logs them "
        "at start, under 'DistributedConfig values'.",
        why="An assignment demands the furthest offset that a worker has read; a worker that reads another config "
        "topic, or another Kafka cluster, never reaches it. A Connect cluster of its own needs its own group.id.",
        cost="A worker must be restarted to change either: one rebalance for each.",
    ),
    Advice(
        action="Check that the config topic is compacted, has one partition and was not recreated or truncated.",
        why="Workers that read it earlier keep the offset of records that retention, a new topic of the same name or "
        "an unclean leader election has removed since.",
        cost="After a restart workers read what is left: connectors whose records are gone must be created again.",
    ),
)
# A worker that does not come to the end of the config topic in time.
_REACHABLE_CONFIG_TOPIC = (
    Advice(
        action="Find out why the worker reads the config topic so slowly: the partition's leader, or the way to it.",
        why="It gives up after worker.sync.timeout.ms (3 s by default) and takes up no work until it succeeds.",
        cost="A longer worker.sync.timeout.ms only helps where reading is slow, not where it fails.",
    ),
)


def _about_lag(timeline: Timeline, lags: Sequence[_Lag], unexplained: Sequence[Rebalance]) -> Hypothesis:
    """Workers that read the config topic to its end in vain, again and again, and what they brought about."""
    blamed = tuple(dict.fromkeys(lag.participant for lag in lags if lag.participant is not None))
    culprits = [culprit_of(participant) for participant in blamed]
    culprits += [Culprit(kind="host", name=lag.host) for lag in lags if lag.participant is None and lag.host]
    lines = tuple(e for lag in lags for e in lag.lines)
    forcing, last = TimeIndex(lines, time_of), _last(lines)
    # The logs may end before a worker that was behind received an assignment that it could take up.
    given = timeline.own.of_type(ev.WorkerAssigned).between(last + 1, timeline.last)
    return Hypothesis(
        because=lines,
        culprits=tuple(dict.fromkeys(culprits)),
        clues={REJOINED: Present(lines)},
        severity="warning",
        explains=tuple(r for r in unexplained if forcing.any_between(*_just_before(r))),
        participants=blamed,
        until=last,
        ongoing=timeline.last - last < REQUEST_TIMEOUT_MS and all(e.error for e in given),
        narrative=" ".join(filter(None, (*_behind(lags), _leader(lags), "The logs do not show why."))),
        advice=_REACHABLE_CONFIG_TOPIC if _timed_out(lags) else _ONE_CONFIG_TOPIC,
    )


def _why_forced(timeline: Timeline, line: Event | None) -> str:
    """The reason of one rebalance by the line that forced it, as a clause; nothing where none did."""
    match line:
        case ev.ConfigOffsetBehind(current=int(current), wanted=int(wanted)):
            side = "not read the config topic as far as" if current < wanted else "read the config topic further than"
            return (
                f"because {_worker_name(timeline, line)} had {side} the group's assignment (offset {current}, the "
                f"assignment {wanted})"
            )
        case ev.ConfigOffsetBehind():
            return f"because {_worker_name(timeline, line)} had not read the config topic to its end in time"
        case ev.WorkerAssigned(leader=str(leader)):
            who = _name(timeline.participants.of_member(leader), leader)
            far = "" if line.config_offset is None else f" (offset {line.config_offset})"
            return (
                f"because the assignment before it failed (error 1): the leader, {who}, had not read the config topic "
                f"as far as another worker{far}"
            )
    return ""


def _behind(lags: Sequence[_Lag]) -> Sequence[str]:
    """The worker that tried most often, then the others."""
    workers = [lag for lag in lags if lag.reached is not None]
    if not workers:
        return ()
    first, *others = workers
    often = f"{times(len(first.attempts))}{span(first.attempts)}"
    where = f"offset {first.reached}{' (it had read no record)' if first.reached == NOTHING_READ else ''}"
    if _timed_out(lags):
        sentence = (
            f"{first.name} did not reach the end of the config topic in time {often}: it was at {where}, the group's "
            f"assignment at {first.wanted}."
        )
    else:
        sentence = (
            f"{first.name} could not catch up with the group's configuration: reading the config topic to its end left "
            f"it at {where}, the group's assignment demanded {first.wanted}, and it asked for another rebalance "
            f"{often}."
        )
    if not others:
        return (sentence,)
    named = some([f"{lag.name} (at offset {lag.reached})" for lag in others], MOST_NAMED)
    return sentence, f"{named} stayed behind as well."


def _leader(lags: Sequence[_Lag]) -> str:
    """That a leader was behind, so that its assignments failed for everybody."""
    first = next((lag for lag in lags if lag.reached is None), None)
    if first is None:
        return ""
    often = f"{times(len(first.attempts))}{span(first.attempts)}"
    if first.participant in {lag.participant for lag in lags if lag.reached is not None} - {None}:
        return f"It led the group, so the assignments failed for every worker (error 1) {often}."
    far = "" if first.wanted is None else f" (offset {first.wanted})"
    return (
        f"The leader, {first.name}, had not read the config topic as far as another worker{far}: the assignments "
        f"failed (error 1) {often}, and the workers had to rejoin."
    )


def _worker_name(timeline: Timeline, line: Event) -> str:
    return _name(timeline.participants.of_speaker(line), f"a worker on {place_name(line)}")


def _name(participant: Participant | None, otherwise: str) -> str:
    return culprit_of(participant).name if participant is not None else otherwise


def _timed_out(lags: Sequence[_Lag]) -> bool:
    """True if the worker that tried most often never reached the end of the config topic, as when a broker is down."""
    reads = lags[0].lines if lags[0].reached is not None else ()
    failed = [e.wanted for e in reads if isinstance(e, ev.ConfigOffsetBehind) and e.failed]
    return bool(failed) and set(failed) == {None}


# Only a member with an assignment logs these.
_ASSIGNED = (
    ev.SyncSucceeded, ev.JoinReported, ev.PartitionsAssigned, ev.AssignmentUpdated, ev.AssignmentNotified,
    ev.MemberTransitioned, ev.TasksAssigned, ev.WorkerAssigned,
)  # fmt: skip
_JOINING = (ev.Subscribed, ev.JoinStarted, ev.JoinFailed, ev.SyncFailed)
# An excerpt of one or two lines may just leave out the answer.
_PICKED_ATTEMPTS = 3
# None for ruby-kafka's `Connection error`.
_UNANSWERED = ("REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", None)
MOST_ANSWERS = 2


class WaitingMember(Struct, frozen=True, kw_only=True):
    """A member that requested to join, and how long its log continues without an assignment."""

    participant: Participant
    begin: int
    end: int
    asked: tuple[Event, ...]
    refused: tuple[ev.JoinFailed | ev.SyncFailed, ...] = ()
    """The errors that it got instead."""
    lost: tuple[Event, ...] = ()
    """The times it gave up its coordinator meanwhile."""
    reset: tuple[ev.GenerationReset, ...] = ()
    """The joins whose generation was cleared before the answer was taken."""
    picked: bool = False
    """True for an excerpt, which may leave out the line that admitted it."""

    @property
    def attempts(self) -> int:
        """The number of attempts; a client that logs no attempt made at least as many as were rejected."""
        return max(sum(isinstance(e, ev.JoinStarted) for e in self.asked), len(self.refused))

    @property
    def lines(self) -> tuple[Event, ...]:
        """The first attempts, the errors, and the last attempt."""
        return (*self.asked[:2], *self.reset[:2], *self.refused[:2], *self.lost[:1], *self.asked[-1:])


def waiting_members(timeline: Timeline) -> Iterator[WaitingMember]:
    """Members in no generation while their own logs continue for longer than a request may take."""
    patience = setting_ms(timeline, REQUEST)
    for participant in timeline.participants.everybody:
        if not participant.has_log or _was_assigned(timeline, participant):
            continue
        if any(map(ended_its_session, timeline.events_from(participant, ev.CoordinatorLost))):
            continue  # only a member has a session to lose
        found = _waiting(timeline, participant)
        if found is None:
            continue
        # Each time-out lasted as long as a request may take by the client's own settings, however short they are. A
        # connection that breaks under every JoinGroup leaves the client waiting as well, however soon it tries again.
        timed_out = sum(e.error in _UNANSWERED for e in found.refused) >= _PICKED_ATTEMPTS
        if found.reset or found.end - found.begin > patience or timed_out:
            yield found


def _waiting(timeline: Timeline, participant: Participant) -> WaitingMember | None:
    asked = [
        e for e in timeline.events_from(participant, *_JOINING) if not (isinstance(e, ev.Subscribed) and e.by_hand)
    ]
    picked = not timeline.coverage.of(participant)
    resets = timeline.events_from(participant, ev.GenerationReset)
    reset = tuple(e for e in resets if e.reason == RESET_WHILE_JOINING)
    if not asked or (picked and not reset and len(asked) < _PICKED_ATTEMPTS):
        return None
    begin = time_of(asked[0])
    end = time_of(asked[-1]) if picked else _log_end(timeline, participant, begin)
    refused = [e for e in asked if isinstance(e, ev.JoinFailed | ev.SyncFailed) and e.error != "MEMBER_ID_REQUIRED"]
    # ruby-kafka logs a request that timed out as a connection error, too.
    repeated = {id(e) for before, e in pairwise(refused) if not e.error and time_of(e) - time_of(before) <= TICK_MS}
    refused = [e for e in refused if id(e) not in repeated]
    return WaitingMember(
        participant=participant,
        begin=begin,
        end=end,
        asked=tuple(asked),
        refused=tuple(refused),
        lost=tuple(timeline.events_from(participant, ev.CoordinatorLost).between(begin, end)),
        reset=reset,
        picked=picked,
    )


def _was_assigned(timeline: Timeline, participant: Participant) -> bool:
    """True if it ever had an assignment, or others list it; a join whose SyncGroup failed does not count."""
    if timeline.events_from(participant, *_ASSIGNED):
        return True
    joined = timeline.events_from(participant, ev.JoinSucceeded)
    if joined:
        failed = timeline.events_from(participant, ev.SyncFailed)
        again = TimeIndex((time_of(e) for e in (*joined, *timeline.events_from(participant, ev.JoinStarted))), int)
        return not all(failed.any_between(at, again.first(at + 1) or timeline.last) for at in map(time_of, joined))
    client_ids, member_ids = timeline.cached(_listed)
    return bool(participant.client_ids & client_ids or participant.member_ids & member_ids)


def _listed(timeline: Timeline) -> tuple[frozenset[str], frozenset[str]]:
    """The client ids and member ids of all members of generations."""
    members = [m for g in timeline.generations for m in g.members]
    client_ids = frozenset(m.client_id for m in members if m.client_id)
    return client_ids, frozenset(m.member_id for m in members if m.member_id)


def _log_end(timeline: Timeline, participant: Participant, begin: int) -> int:
    """How long its log shows that it waits: to the end of the log, or to its close."""
    logs = [log.end for log in timeline.coverage.of(participant) if log.detailed]
    stop = timeline.stops.of(participant).first(begin)
    return min(max(logs, default=begin), stop.at if stop is not None else timeline.last)


def about_waiting(timeline: Timeline, out: Sequence[WaitingMember]) -> Hypothesis:
    """Members that tried to join again and again without success, with the answers they received."""
    culprits = tuple(culprit_of(w.participant) for w in out)
    return Hypothesis(
        because=tuple(line for w in out for line in w.lines),
        culprits=culprits,
        severity="warning",
        participants=tuple(w.participant for w in out),
        onset=min(w.begin for w in out),
        until=max(w.end for w in out),
        ongoing=all(w.picked and timeline.stops.of(w.participant).first(w.begin) is None for w in out),
        narrative=(
            f"{culprits[0].name if len(out) == 1 else f'{len(out)} members'} "
            f"{_attempts_in_words(out, timeline.measured(max(w.end - w.begin for w in out)))}{_answers(out)}."
        ),
    )


def _attempts_in_words(out: Sequence[WaitingMember], longest: int | None) -> str:
    attempts, up_to = sum(w.attempts for w in out), "" if len(out) == 1 else "up to "
    if any(w.picked for w in out):
        who = "it" if len(out) == 1 else "they"
        within = lasting(longest or None, f" within {up_to}{{}}")
        return f"asked to join {times(attempts)}{within}, and these lines do not show that {who} got in"
    asked = f"asked to join {times(attempts)} but never got in" if attempts else "subscribed but never joined"
    return asked + lasting(longest, f": {up_to}{{}} without an assignment")


def _answers(out: Sequence[WaitingMember]) -> str:
    """The answers they received, the most frequent first."""
    failures = Counter(
        ("SyncGroup" if isinstance(e, ev.SyncFailed) else "JoinGroup", e.error or e.detail or "no reason logged")
        for w in out
        for e in w.refused
    )
    parts = [f"{api} failed {times(number)} ({error})" for (api, error), number in failures.most_common(MOST_ANSWERS)]
    lost = sum(len(w.lost) for w in out)
    parts += [f"the coordinator was lost {times(lost)}"] if lost else []
    reset = sum(len(w.reset) for w in out)
    parts += [f"its generation was reset before it took the answer {times(reset)} (generation -1)"] if reset else []
    return f"; {', '.join(parts)}" if parts else ", and no logged error explains it"
