"""Rebalances whose cause no line shows, with or without a generation."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.causes.unexplained import REJOINED
from rebalance_forensics.diagnosis.engine.drafts import Draft, found_between
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
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once
from rebalance_forensics.timeline.identity.names import broker_name, topic_of
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.membership.lost_membership import ended_its_session, is_rebalance_notice
from rebalance_forensics.timeline.rebalance_requests import REJOINS
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, QUIET_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

REBALANCING = "REBALANCE_IN_PROGRESS"

# A commit that fails so was sent while the member had no generation: it had not rejoined yet, or was no member
# (ConsumerCoordinator.sendOffsetCommitRequest, SmallRye's record stores).
_COMMITTED_BETWEEN = ("not part of an active group", "revoked before it was acknowledged")


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


def _mentions(timeline: Timeline) -> list[Event]:
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
    return getattr(event, "error", None) == REBALANCING


# So many generations in a row without an assignment are no group that forms: members that start one after another
# replace one or two (group.initial.rebalance.delay.ms gathers the others).
ENDLESS = 3
_GIVEN = (ev.AssignmentNotified, ev.JoinReported, ev.PartitionsAssigned)


def without_cause(timeline: Timeline, assigned: Container[str]) -> Iterator[Hypothesis]:
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


def without_generation(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Rebalances that members log whose clients print no generation."""
    session = session_timeout_ms(timeline)
    for notices in _notices_by_rebalance(timeline):
        first = time_of(notices[0])
        if not any(found_between(drafts, first - session, first + session)):
            assigned = [e for h in led(timeline) for e in h.because if time_of(e) >= first]
            words = _led_in_words(timeline, assigned[-1]) if assigned else _unnumbered_in_words(notices)
            unexplained = _hypothesis_of_group(timeline, notices, words)
            yield _with_listeners(timeline, unexplained, first, time_of(notices[-1]))


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
        narrative=f"{rebalance.narrative} {who} {listeners_in_words(failed)}",
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
            f"The group rebalanced, and afterwards a member read {listed(gained)} as well: a topic that is new and "
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
        return waits_for_newcomers(rebalance) or rebalance.generation == 1
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
    """What became of it: no work for workers whose leader lacks configuration, or another share for a member."""
    begin, end = rebalance.started_at - HEARTBEAT_MS, rebalance.ended_at() + ROUND_TRIP_MS
    lines = timeline.own.of_type(ev.ConfigOffsetBehind).between(rebalance.started_at, end)
    if leading := [e for e in lines if isinstance(e, ev.ConfigOffsetBehind) and e.leading]:
        return f" {worker_name(timeline, leading[0])} {forced_in_words(leading)}"
    moves = timeline.own.of_type(ev.PartitionsRevoked, *_GIVEN).between(begin, end)
    shares = grouped(moves, partial(speaker_of, timeline)).values()
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
    if participant is None:
        return _left_in_words(opened.members[0], opened.client_reason)
    lost = timeline.events_from(participant, ev.CoordinatorLost)
    if any(map(ended_its_session, lost.between(rebalance.started_at - HEARTBEAT_MS, rebalance.started_at))):
        unanswered = "left the group after a session without an answer to its heartbeat"
        return f"{participant.name} {unanswered}; these lines do not show why there was none, "
    return _left_in_words(participant.name, opened.client_reason)


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
        missing = _missing_in_words(timeline, rebalance)
        unknown = missing or (
            "the coordinator's lines at hand do not show who joined or left."
            if heard
            else "without the coordinator's log it is not known who joined or left."
        )
        return f"no client gave one, no change of subscription or metadata is seen, and {unknown}"
    return (
        "no member joined or left, no subscription or metadata changed, the coordinator did not move, and no client "
        "gave a reason."
    )


def _missing_in_words(timeline: Timeline, rebalance: Rebalance) -> str:
    """The members that the leader's list no longer names, which is all that its log shows of a departure."""
    lists = set(map(id, rebalance.events))
    listed = (d for d in timeline.departures if only_listed(d) and lists.issuperset(map(id, d.events)))
    missing = sorted({d.participant.name for d in listed}, key=natural)
    if not missing:
        return ""
    are, they = ("is", "it") if len(missing) == 1 else ("are", "they")
    return (
        f"{some(missing)} {are} no longer on the leader's list; without the coordinator's log it is not known "
        f"whether {they} left, crashed or {'was' if they == 'it' else 'were'} cut off."
    )


def _effect(timeline: Timeline, rebalances: Sequence[Rebalance]) -> tuple[Severity, str]:
    """What it did to the group: a rebalance that stopped work for long, or never ended, is a fault."""
    last = rebalances[-1]
    replaced = _replaced_in_a_row(timeline, last.generation)
    # A member that waits all the while is an incident of its own, which says how often it asked (kept_out).
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
    replaced = _replaced_generations(timeline)
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


@answered_once
def _replaced_generations(timeline: Timeline) -> frozenset[int]:
    failed = (e for e in timeline.of(ev.SyncFailed) if e.error == "REBALANCE_IN_PROGRESS")
    return frozenset(e.generation for e in failed if e.generation is not None)


def of_coordinator_alone(timeline: Timeline) -> Iterator[Hypothesis]:
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
        case ev.MemberLeft(member=member, reason=reason):
            participant = timeline.participants.of_member(member) if member else None
            who = "A member" if participant is None else participant.name
            return f"{_left_in_words(who, reason)}whether it came back or who stayed."
        case ev.GroupEmptied():
            return "The group lost its last member; these lines do not show whether it left or was removed."
    return "The group rebalanced: its leader's assignment arrived. These lines do not show why it rebalanced."


def mentioned(timeline: Timeline) -> Iterator[Hypothesis]:
    """Rebalances of which the lines show no more than that they were."""
    for lines in runs(_mentions(timeline), time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _mention_in_words(timeline, lines))


def led(timeline: Timeline) -> Iterator[Hypothesis]:
    """Rebalances of which the lines show the leader's assignment, and neither a generation that began nor a reason."""
    assigned = [
        e for e in timeline.own.of_type(ev.AssignmentComputed) if e.at is not None and e.speaker.role != "broker"
    ]
    for lines in runs(assigned, time_of, QUIET_MS):
        yield _hypothesis_of_group(timeline, lines, _led_in_words(timeline, lines[-1]))


def _led_in_words(timeline: Timeline, line: Event) -> str:
    assert isinstance(line, ev.AssignmentComputed)
    participant, place = speaker_of(timeline, line)
    members = line.member_count or len(line.assignment)
    among = "" if not members else " to itself, its only member" if members == 1 else f" to {members} members"
    who = name_of(participant, f"A client on {place}")
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


def listeners_in_words(events: Sequence[Event]) -> str:
    """A rebalance listener that failed, and what its client makes of that."""
    during = list(dict.fromkeys(e.during for e in events if isinstance(e, ev.ListenerFailed) and e.during))
    where = f" ({', '.join(during)})" if during else ""
    # ConsumerCoordinator rethrows it since 2.4; kafka-python and aiokafka log it and go on.
    thrown = "a Java client's poll() throws that exception, and " if any(map(is_java, events)) else ""
    return (
        f"was in a rebalance when its application's rebalance listener failed{where}: {thrown}what the listener had to "
        "commit or clean up may be left undone."
    )


def _joiner_in_words(rebalance: Rebalance) -> str:
    """The coordinator names the member whose JoinGroup began it, if nothing else."""
    opened = (e for e in rebalance.events if isinstance(e, ev.RebalanceStarted))
    first = next((e for e in opened if e.trigger in REJOINS and e.members), None)
    if first is None:
        return ""
    return f" when {'its leader ' if first.trigger == 'leader-rejoined' else ''}{first.members[0]} rejoined"


def _notices_by_rebalance(timeline: Timeline) -> list[list[Event]]:
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
    return {topic_of(partition) for partition in partitions}


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
        elif speaker in revoked and not (isinstance(event, ev.CoordinatorFound) and not is_not_kafkas(event)):
            yield [revoked.pop(speaker), event]


def _elections(timeline: Timeline) -> Iterator[list[Event]]:
    """Each line in which a Schema Registry instance names a new leader."""
    before: str | None = None
    for event in timeline.own.of_type(ev.RegistryLeaderElected):
        assert isinstance(event, ev.RegistryLeaderElected)
        if event.at is not None and before is not None and event.leader != before:
            yield [event]
        before = event.leader or before
