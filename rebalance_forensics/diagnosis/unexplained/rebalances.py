"""Rebalances without a known cause, with or without a logged generation."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.causes.unexplained import REJOINED
from rebalance_forensics.diagnosis.engine.drafts import Draft, findings_between
from rebalance_forensics.diagnosis.episodes.members.absences import lacks_reason, only_listed
from rebalance_forensics.diagnosis.episodes.members.departures import waits_for_newcomers
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Severity
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.unexplained.config_lags import (
    forced_in_words,
    forced_rejoin,
    why_forced,
    worker_name,
)
from rebalance_forensics.diagnosis.unexplained.speakers import name_of, speaker_of
from rebalance_forensics.diagnosis.unexplained.waiting_members import waiting_members
from rebalance_forensics.diagnosis.wording.durations import counted, listed, seconds, some, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import LEFT_OUT, natural
from rebalance_forensics.timeline.clients import is_java, is_not_kafkas
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import broker_name, topic_of
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.membership.lost_membership import ended_its_session, is_rebalance_notice
from rebalance_forensics.timeline.rebalance_requests import REJOINS, client_reason, gives_reason
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, QUIET_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

REBALANCING = "REBALANCE_IN_PROGRESS"

# Commits that fail like this were sent while the member had no generation: it had not rejoined yet, or was not a member
# (ConsumerCoordinator.sendOffsetCommitRequest, SmallRye's record stores).
_COMMITTED_BETWEEN = ("not part of an active group", "revoked before it was acknowledged")


def _of_coordinator_alone(timeline: Timeline) -> list[Event]:
    """The coordinator's lines of the most informative type, for a coordinator that logs little else about the group."""
    kinds = (
        (ev.GroupUnloaded,),
        (ev.GroupLoaded, ev.MemberLoaded),
        (ev.MemberLeft,),
        (ev.GroupEmptied,),
        (ev.AssignmentReceived,),
    )
    lines_by_kind = ([e for e in timeline.group_events.of_type(*kind) if e.at is not None] for kind in kinds)
    return next(filter(None, lines_by_kind), [])


def _mentions(timeline: Timeline) -> list[Event]:
    """Lines that members log during a rebalance and that show nothing about it but that it took place."""
    events = timeline.group_events.of_type(
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
            # Logged with each assignment (StreamsPartitionAssignor.onAssignment); without a kind no follow-up is due.
            return kind is not None
        case ev.OffsetCommitFailed(error=None, detail=detail):
            return detail in _COMMITTED_BETWEEN
        case ev.StreamsStateChanged(before=before, after=after):
            return (before, after) == ("RUNNING", "REBALANCING")
        case ev.StreamThreadStateChanged(before=before, after=after):
            # Until 2.3 a starting thread passes through PARTITIONS_REVOKED as well, although it has nothing to revoke.
            return before in ("RUNNING", "PARTITIONS_ASSIGNED") and after == "PARTITIONS_REVOKED"
    return getattr(event, "error", None) == REBALANCING


# Minimum number of generations in a row without an assignment to report. When a group forms, members that start one
# after another replace one or two (group.initial.rebalance.delay.ms gathers the others).
ENDLESS = 3
_ASSIGNED = (ev.AssignmentNotified, ev.JoinReported, ev.PartitionsAssigned)


def without_cause(timeline: Timeline, assigned: Container[str]) -> Iterator[Hypothesis]:
    """Rebalances that no cause explains, each together with its follow-up rebalances."""
    chains: list[list[Rebalance]] = []
    for rebalance in timeline.rebalances:
        if rebalance.id in assigned or not rebalance.events or _is_initial(timeline, rebalance):
            continue
        if rebalance.followup and chains:
            chains[-1].append(rebalance)
        else:
            chains.append([rebalance])
    return (_with_listeners(timeline, _unexplained(timeline, rs), rs[0].started_at, rs[-1].ended_at()) for rs in chains)


def without_generation(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Rebalances that only members log whose clients print no generation."""
    session = session_timeout_ms(timeline)
    for notices in _notices_by_rebalance(timeline):
        first = time_of(notices[0])
        if not any(findings_between(drafts, first - session, first + session)):
            assigned = [e for h in led(timeline) for e in h.because if time_of(e) >= first]
            words = _led_in_words(timeline, assigned[-1]) if assigned else _unnumbered_in_words(notices)
            unexplained = _hypothesis_of_group(timeline, notices, words)
            yield _with_listeners(timeline, unexplained, first, time_of(notices[-1]))


def _with_listeners(timeline: Timeline, rebalance: Hypothesis, begin: int, end: int) -> Hypothesis:
    """An unexplained rebalance with the rebalance listeners that failed in it, which is a fault in any case."""
    # A member learns of a rebalance within a heartbeat interval and calls its listener before it rejoins.
    failed = timeline.group_events.of_type(ev.ListenerFailed).between(begin - HEARTBEAT_MS, end + HEARTBEAT_MS)
    if not failed:
        return rebalance
    speaker = timeline.participants.of_speaker(failed[0])
    who = "A member" if speaker is None else speaker.name
    return replace(
        rebalance,
        because=(*rebalance.because, *failed),
        severity="warning" if rebalance.severity == "info" else rebalance.severity,
        narrative=f"{rebalance.narrative} {who} {listeners_in_words(failed)}",
    )


def _hypothesis_of_group(timeline: Timeline, lines: Sequence[Event], narrative: str) -> Hypothesis:
    """The finding about the group as a whole, with the members that logged these lines."""
    speakers = dict.fromkeys(timeline.participants.of_speaker(e) for e in lines)
    participants = tuple(participant for participant in speakers if participant is not None)
    return Hypothesis(
        because=tuple(lines), culprits=(), severity="info", participants=participants, narrative=narrative
    )


def _unnumbered_in_words(notices: Sequence[Event]) -> str:
    """A rebalance without a generation: the new leader, topics gained, or only that the group rebalanced."""
    elected = [e for e in notices if isinstance(e, ev.RegistryLeaderElected)]
    if elected:
        leader = f"{elected[-1].leader} as its leader" if elected[-1].leader else "no leader"
        return f"The group rebalanced and elected {leader}; these lines do not show what became of the one before."
    if gained := _topics_gained(notices):
        return (
            f"The group rebalanced, and afterwards a member read {listed(gained)} as well: a topic that is new and "
            "matches its pattern, a changed subscription, or a member that left. No reason was logged."
        )
    return (
        "The group rebalanced, as its members log, and no reason was logged: these lines name neither a new generation "
        f"nor who came or went.{_share_in_words(notices)}"
    )


def _share_in_words(rebalance: Iterable[Event]) -> str:
    """How the number of a member's partitions changed; empty if unknown, as for a cooperative member."""
    # An eager member revokes all of its partitions and is assigned all of its new ones, so that the two overlap. A
    # cooperative member logs only the differences, which never overlap.
    before, after = set[str](), set[str]()
    for event in rebalance:
        before |= {*event.partitions} if isinstance(event, ev.PartitionsRevoked) else set()
        after |= {*(event.partitions or ())} if before and isinstance(event, _ASSIGNED) else set()
    if before.isdisjoint(after) or len(before) == len(after):
        return ""
    other = "joins" if len(after) < len(before) else "leaves"
    before_it = counted(len(before), "partition")
    return f" A member read {before_it} before and {len(after)} afterwards, as when another {other}."


def _is_initial(timeline: Timeline, rebalance: Rebalance) -> bool:
    """True for the first rebalance of a group, which needs no cause; not if the logs begin later."""
    if timeline.coverage.is_excerpt:
        return waits_for_newcomers(rebalance) or rebalance.generation == 1
    if any(isinstance(e, ev.RebalanceStarted) and e.generation for e in rebalance.events):
        return False
    return rebalance is timeline.rebalances[0] and (rebalance.generation is None or rebalance.generation <= 1)


def _unexplained(timeline: Timeline, rebalances: Sequence[Rebalance]) -> Hypothesis:
    """A rebalance and its follow-ups whose cause the logs do not show; its signs list the causes that were checked."""
    first = rebalances[0]
    number = "A rebalance" if first.generation is None else f"Generation {first.generation}"
    began = (
        f"{number} followed up on an earlier one ({first.followup})"
        if first.followup
        else f"{number} began{_joiner_in_words(first)}"
    )
    severity, effect = _effect(timeline, rebalances)
    forced = None if first.followup else forced_rejoin(timeline, first)
    if why := why_forced(timeline, forced):
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
    """The outcome: a leader without the latest configuration assigned no work, or a member's partitions changed."""
    begin, end = rebalance.started_at - HEARTBEAT_MS, rebalance.ended_at() + ROUND_TRIP_MS
    lines = timeline.group_events.of_type(ev.ConfigOffsetBehind).between(rebalance.started_at, end)
    if leading := [e for e in lines if isinstance(e, ev.ConfigOffsetBehind) and e.leading]:
        return f" {worker_name(timeline, leading[0])} {forced_in_words(leading)}"
    moves = timeline.group_events.of_type(ev.PartitionsRevoked, *_ASSIGNED).between(begin, end)
    shares = grouped(moves, partial(speaker_of, timeline)).values()
    return next(filter(None, map(_share_in_words, shares)), "")


def _lost_its_reason(line: ev.RebalanceStarted) -> bool:
    # Since 2.1 the coordinator logs the state, followed by a reason.
    return line.reason is None and (LEFT_OUT in line.text or " in state " in line.text)


def _leaver_in_words(timeline: Timeline, rebalance: Rebalance) -> str:
    """The member whose LeaveGroup started the rebalance, and its reason; empty if the lines do not name a member."""
    opened = next((e for e in rebalance.events if isinstance(e, ev.RebalanceStarted)), None)
    if opened is None or opened.trigger != "member-left" or len(opened.members) != 1:
        return ""
    participant = timeline.participants.of_member(opened.members[0])
    if participant is None:
        return _left_in_words(opened.members[0], opened)
    lost = timeline.events_from(participant, ev.CoordinatorLost)
    if any(map(ended_its_session, lost.between(rebalance.started_at - HEARTBEAT_MS, rebalance.started_at))):
        unanswered = "left the group after a session without an answer to its heartbeat"
        return f"{participant.name} {unanswered}; these lines do not show why there was none, "
    return _left_in_words(participant.name, opened)


def _left_in_words(who: str, line: ev.RebalanceStarted | ev.MemberLeft) -> str:
    """A departure with the reason in its LeaveGroup (KIP-800), as the beginning of a sentence."""
    # "the consumer is being closed" also after an exception: the reason names the call, not why it was made.
    if gives_reason(line):
        return f'{who} left the group ("{client_reason(line)}"); these lines do not show '
    return f"{who} left the group; these lines do not show why, "


def _searched_for(timeline: Timeline, rebalance: Rebalance) -> str:
    """The causes that were ruled out, or why the logs cannot show the cause."""
    if lacks_reason(rebalance):
        return (
            "a coordinator of this release names neither the reason nor who joined or left, so only the clients' own "
            "logs show it."
        )
    # A log that begins with the rebalance may begin after the line with the reason.
    if not covering(timeline.coverage.brokers, rebalance.started_at - 1, rebalance.ended_at()):
        logged_by_broker = any(e.speaker.role == "broker" for e in rebalance.events)
        missing = _missing_in_words(timeline, rebalance)
        unknown = missing or (
            "the coordinator's lines at hand do not show who joined or left."
            if logged_by_broker
            else "without the coordinator's log it is not known who joined or left."
        )
        return f"no client gave one, no change of subscription or metadata is seen, and {unknown}"
    return (
        "no member joined or left, no subscription or metadata changed, the coordinator did not move, and no client "
        "gave a reason."
    )


def _missing_in_words(timeline: Timeline, rebalance: Rebalance) -> str:
    """The members that are missing from the leader's list; empty if there are none.

    A client's log shows the departure of another member only like this.
    """
    lists = set(map(id, rebalance.events))
    unlisted = (d for d in timeline.departures if only_listed(d) and lists.issuperset(map(id, d.events)))
    missing = sorted({d.participant.name for d in unlisted}, key=natural)
    if not missing:
        return ""
    are, they = ("is", "it") if len(missing) == 1 else ("are", "they")
    return (
        f"{some(missing)} {are} no longer on the leader's list; without the coordinator's log it is not known "
        f"whether {they} left, crashed or {'was' if they == 'it' else 'were'} cut off."
    )


def _effect(timeline: Timeline, rebalances: Sequence[Rebalance]) -> tuple[Severity, str]:
    """The severity and a sentence on the effect: a warning for a rebalance that took long or did not end."""
    last = rebalances[-1]
    replaced = _replaced_in_a_row(timeline, last.generation)
    # A member that waits all this time is reported separately, with its number of attempts (kept_out).
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
    """The number of consecutive generations, including this one, that ended before a SyncGroup was answered."""
    replaced = _replaced_generations(timeline)
    if generation is None or replaced.isdisjoint((generation - 1, generation)):
        return 0
    # The generation after them may be the first whose assignment arrived.
    last = generation if generation in replaced else generation - 1
    first = last
    while first - 1 in replaced:
        first -= 1
    while last + 1 in replaced:
        last += 1
    return last - first + 1


@cached_answer
def _replaced_generations(timeline: Timeline) -> frozenset[int]:
    failed = (e for e in timeline.of(ev.SyncFailed) if e.error == "REBALANCE_IN_PROGRESS")
    return frozenset(e.generation for e in failed if e.generation is not None)


def of_coordinator_alone(timeline: Timeline) -> Iterator[Hypothesis]:
    """Findings from a coordinator's lines about the group, in an excerpt that shows no reason."""
    coordinator_lines = _of_coordinator_alone(timeline)
    # Not in complete logs: there, a broker that starts loads all of its groups, and most of them are not affected. The
    # rebalance that follows a leave or precedes an assignment is logged there as well.
    moved = any(isinstance(e, ev.GroupLoaded | ev.GroupUnloaded | ev.MemberLoaded) for e in coordinator_lines)
    if moved and not timeline.coverage.is_excerpt and len(timeline.ungrouped):
        return
    for lines in runs(coordinator_lines, time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _coordinators_words(timeline, lines[0]))


def _coordinators_words(timeline: Timeline, line: Event) -> str:
    broker = "A broker" if line.speaker.broker is None else broker_name(line.speaker.broker)
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
        case ev.MemberLeft(member=member):
            participant = timeline.participants.of_member(member) if member else None
            who = "A member" if participant is None else participant.name
            return f"{_left_in_words(who, line)}whether it came back or who stayed."
        case ev.GroupEmptied():
            return "The group lost its last member; these lines do not show whether it left or was removed."
    return "The group rebalanced: its leader's assignment arrived. These lines do not show why it rebalanced."


def mentioned(timeline: Timeline) -> Iterator[Hypothesis]:
    """Rebalances about which the lines show only that they took place."""
    for lines in runs(_mentions(timeline), time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _mention_in_words(timeline, lines))


def led(timeline: Timeline) -> Iterator[Hypothesis]:
    """Rebalances about which the lines show only the leader's assignment, without a new generation or a reason."""
    assigned = [
        e
        for e in timeline.group_events.of_type(ev.AssignmentComputed)
        if e.at is not None and e.speaker.role != "broker"
    ]
    for lines in runs(assigned, time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _led_in_words(timeline, lines[-1]))


def _led_in_words(timeline: Timeline, line: Event) -> str:
    assert isinstance(line, ev.AssignmentComputed)
    participant, place = speaker_of(timeline, line)
    members = line.member_count or len(line.assignment)
    to_members = "" if not members else " to itself, its only member" if members == 1 else f" to {members} members"
    who = name_of(participant, f"A client on {place}")
    return f"{who} led the group in a rebalance and assigned its partitions{to_members}; these lines do not show why."


def _mention_in_words(timeline: Timeline, lines: Sequence[Event]) -> str:
    if all(isinstance(e, ev.PartitionsRevoked | ev.ListenerCalled) for e in lines):
        gave_up = [*runs(lines, time_of, ROUND_TRIP_MS)]
        first, last = time_of(lines[0]), time_of(lines[-1])
        if timeline.group_events.of_type(ev.ConsumerClosed).between(first - ROUND_TRIP_MS, last + ROUND_TRIP_MS):
            return "A member gave up its partitions as its consumer was closed; these lines do not show why it was."
        return (
            f"Members of the group gave up partitions {times(len(gave_up))}, as they do in a rebalance, or when they "
            "unsubscribe or close; these lines do not show which."
        )
    return _unnumbered_in_words(lines)


def listeners_in_words(events: Sequence[Event]) -> str:
    """A sentence on a rebalance listener that failed, and on how its client handles that."""
    during = list(dict.fromkeys(e.during for e in events if isinstance(e, ev.ListenerFailed) and e.during))
    where = f" ({', '.join(during)})" if during else ""
    # ConsumerCoordinator rethrows the exception since 2.4; kafka-python and aiokafka log it and continue.
    thrown = "a Java client's poll() throws that exception, and " if any(map(is_java, events)) else ""
    return (
        f"was in a rebalance when its application's rebalance listener failed{where}: {thrown}what the listener had to "
        "commit or clean up may be left undone."
    )


def _joiner_in_words(rebalance: Rebalance) -> str:
    """The member whose JoinGroup started the rebalance, as a clause; empty if the coordinator does not name it."""
    opened = (e for e in rebalance.events if isinstance(e, ev.RebalanceStarted))
    first = next((e for e in opened if e.trigger in REJOINS and e.members), None)
    if first is None:
        return ""
    return f" when {'its leader ' if first.trigger == 'leader-rejoined' else ''}{first.members[0]} rejoined"


def _notices_by_rebalance(timeline: Timeline) -> list[list[Event]]:
    """The members' lines, one list for each rebalance; empty if any log shows a generation of the group."""
    # KafkaJS, Spring and others log no generation. Java clients do, but an excerpt may hold only their notices that the
    # group is rebalancing.
    if timeline.rebalances:
        return []
    notices = [
        e for e in timeline.of(ev.HeartbeatFailed, ev.JoinRequested) if e.at is not None and is_rebalance_notice(e)
    ]
    # A Java client repeats the notice at each heartbeat until it rejoins.
    repeated = any(isinstance(e, ev.JoinRequested) for e in notices)
    notices_by_rebalance = runs(notices, time_of, 2 * heartbeat_interval_ms(timeline) if repeated else ROUND_TRIP_MS)
    steps = [*_reassignments(timeline), *_elections(timeline)]
    steps_by_rebalance = runs(steps, lambda s: time_of(s[0]), ROUND_TRIP_MS, until=lambda s: time_of(s[-1]))
    return notices_by_rebalance or [[e for step in rebalance for e in step] for rebalance in steps_by_rebalance]


def _topics_gained(rebalance: Sequence[Event]) -> list[str]:
    """Topics that were assigned but not revoked; empty if no partition was revoked."""
    before = _topics(rebalance, (ev.PartitionsRevoked,))
    return sorted(_topics(rebalance, _ASSIGNED) - before) if before else []


def _topics(events: Sequence[Event], kinds: tuple[type[Event], ...]) -> set[str]:
    partitions = (p for e in events if isinstance(e, kinds) for p in getattr(e, "partitions", None) or ())
    return {topic_of(partition) for partition in partitions}


def _reassignments(timeline: Timeline) -> Iterator[list[Event]]:
    """A revocation and the next JoinGroup or assignment of the same member, as in every eager rebalance."""
    # Sarama does not log JoinGroup, but looks up its coordinator before each one (consumer_group.go, newSession).
    revoked: dict[object, Event] = {}
    for event in timeline.group_events.of_type(ev.PartitionsRevoked, ev.JoinStarted, ev.CoordinatorFound, *_ASSIGNED):
        speaker = timeline.participants.of_speaker(event) or place_name(event)
        if event.at is None:
            continue
        if isinstance(event, ev.PartitionsRevoked):
            revoked[speaker] = event
        elif speaker in revoked and not (isinstance(event, ev.CoordinatorFound) and not is_not_kafkas(event)):
            yield [revoked.pop(speaker), event]


def _elections(timeline: Timeline) -> Iterator[list[Event]]:
    """The lines in which a Schema Registry instance names a new leader, each in a list of one."""
    before: str | None = None
    for event in timeline.group_events.of_type(ev.RegistryLeaderElected):
        assert isinstance(event, ev.RegistryLeaderElected)
        if event.at is not None and before is not None and event.leader != before:
            yield [event]
        before = event.leader or before
