"""A member rejoined late, and the whole group waited for it at the join barrier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import coordinator_silences
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, distinct_events
from rebalance_forensics.diagnosis.episodes.members.departures import startup_arrivals, waits_for_newcomers
from rebalance_forensics.diagnosis.episodes.members.rebalance_notices import RebalanceNotice, rebalance_notices
from rebalance_forensics.diagnosis.episodes.members.reconciliations import Reconciliation, reconciliations
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics.missing_topics import vanished_topics
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.seen import client_log, coordinator_place, logged_by_coordinator, looked, seen
from rebalance_forensics.diagnosis.sign import (
    DECISIVE,
    STRONG,
    WEAK,
    Absent,
    Answer,
    Need,
    Present,
    Row,
    Subject,
    Unobservable,
    clue,
    shown,
    sign,
    speaks_against,
)
from rebalance_forensics.diagnosis.wording.culprits import each_culprit, names_of
from rebalance_forensics.diagnosis.wording.durations import counted, lasting, rounded_up, span, times
from rebalance_forensics.diagnosis.wording.sessions import consumer_setting
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.join_barriers import (
    awaited,
    joined_at,
    joins_are_logged,
    notices_of_absent,
    removed_at_timeout,
)
from rebalance_forensics.timeline.membership.lost_membership import is_rebalance_notice
from rebalance_forensics.timeline.time_index import TimeIndex, linked

_EXPIRED = ("rebalance-timeout", "revocation-timeout")
LONG = clue("long-barrier", STRONG, "the join barrier stood open longer than heartbeats and the initial delay explain")
LAST = clue("last-to-join", STRONG, "one member did not join until long after the others, if at all")
REMOVED = clue(
    "removed-at-rebalance-timeout",
    STRONG,
    "the coordinator removed it because it did not take part in the rebalance before the timeout",
)
HEARD = clue(
    "heard-and-did-not-join",
    STRONG,
    "its heartbeats showed again and again that the group was rebalancing, and it did not rejoin",
)
UNKNOWN_THEN = clue(
    "unknown-after-notices",
    STRONG,
    "its coordinator no longer knew it a heartbeat later, as after a rebalance that completed without it",
)
GAVE_UP_LATE = clue(
    "gave-partitions-up-late",
    DECISIVE,
    "its log shows how long it took from its new assignment until it had given partitions up",
)
WAITED_ALONE = clue("only-newcomer-heard", -WEAK, "only a newcomer's log shows how long it waited to be let in")
_THREAD_DUMPS = "Take thread dumps of {} during a rebalance: what keeps it from calling poll()?"
_UNREACHABLE = ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR")
# A JoinGroup and its response, or the following assignment for clients that do not log the response.
_WAITED = (ev.JoinStarted, ev.JoinSucceeded, ev.JoinReported, ev.SyncSucceeded)
# At most this many lines as evidence, joins as evidence, and members to take thread dumps of.
MOST_LINES = 6
_MAX_JOINS = 6
_DUMPS = 2


def _barriers(subject: Subject) -> list[Rebalance]:
    return [fact for fact in subject.facts if isinstance(fact, Rebalance)]


def while_open(subject: Subject) -> list[tuple[int, int]]:
    """The times from the start of each rebalance until its last member joined."""
    return [(rebalance.started_at, rebalance.barrier_end()) for rebalance in _barriers(subject)]


def _lost_meanwhile(timeline: Timeline, rebalance: Rebalance) -> list[Departure]:
    begin, end = rebalance.started_at - windows.ROUND_TRIP_MS, rebalance.barrier_end() + windows.ROUND_TRIP_MS
    absent = notices_of_absent(timeline, rebalance)
    return [d for d in timeline.departures.between(begin, end) if d.why in UNANNOUNCED and d.participant not in absent]


def _ended(rebalance: Rebalance, departure: Departure) -> bool:
    """True if the barrier ended with this session expiry, so that it did not wait for other members."""
    return departure.why == "session-expired" and departure.at >= rebalance.barrier_end() - windows.ROUND_TRIP_MS


@sign("the rebalance waited until a silent member's session expired", "no session expired while the rebalance waited")
def session_expiry_ended_it(timeline: Timeline, subject: Subject) -> Answer:
    """The barrier ended when the session of a member expired, so that its missing heartbeats are the cause."""
    expired = (d for r in _barriers(subject) for d in _lost_meanwhile(timeline, r) if _ended(r, d))
    places = (coordinator_place(timeline, *span) for span in while_open(subject))
    return seen((e for d in expired for e in d.events), places)


@shown("a member was lost without a LeaveGroup while the barrier was open")
def member_lost_meanwhile(timeline: Timeline, subject: Subject) -> Iterator[Event]:
    """A member was lost while the barrier was open, according to an expiry, its own log or the next generation."""
    lost = (d for r in _barriers(subject) for d in _lost_meanwhile(timeline, r) if not _ended(r, d))
    return (e for d in lost for e in d.events)


@shown("the coordinator itself stood still: it logged nothing for several times the rebalance timeout")
def coordinator_stood_still(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The barrier was open, or members missed the next one, because the coordinator stood still."""
    barriers = {r.id for r in _barriers(subject)}
    silences = [s for s in coordinator_silences(timeline) if any(r.id in barriers for r in s.disturbed(timeline))]
    return distinct_events(e for s in silences for e in s.lines)


@sign("heartbeats at a third of the session timeout would explain why members heard of it so late")
def heartbeats_may_explain(timeline: Timeline, subject: Subject) -> Answer:
    """Members with the longest heartbeat interval that Kafka recommends would have joined as late."""
    late = [_late_notice(timeline, r, participant) for r in _barriers(subject) for participant in subject.participants]
    if timeouts.HEARTBEAT in timeline.settings or None in late:
        return Unobservable()
    open_ms = [r.barrier_end() - r.started_at for r in _barriers(subject)]
    rare = (
        timeouts.known_session_ms(timeline) or timeouts.DEFAULTS[timeouts.SESSION]
    ) // timeouts.HEARTBEATS_PER_SESSION
    explained = open_ms and max(open_ms) <= rare + windows.HEARTBEAT_MS
    return Present(tuple(e for e in late if e is not None)) if explained else Unobservable()


def _late_notice(timeline: Timeline, rebalance: Rebalance, participant: Participant) -> Event | None:
    """The line in which a member learned of the rebalance, if it took longer to learn of it than to join then."""
    begin, joined = rebalance.started_at, joined_at(rebalance, participant)
    if joined is None:
        return None
    responses = timeline.events_from(participant, ev.JoinRequested, ev.HeartbeatFailed).between(begin, joined)
    notice = next((e for e in responses if is_rebalance_notice(e)), None)
    return notice if notice is not None and joined - time_of(notice) < time_of(notice) - begin else None


@sign(
    "its own log shows that it could not reach the coordinator while the group waited for it",
    "its own log shows no trouble with the coordinator while the group waited for it",
)
def coordinator_out_of_reach(timeline: Timeline, subject: Subject) -> Answer:
    """The awaited members could not find their coordinator; a client looks for it only while it is polling."""
    barriers, lines, needs = _barriers(subject), list[Event](), list[Need]()
    if not barriers or not subject.participants:
        return Unobservable()
    begin, end = min(r.started_at for r in barriers), max(map(Rebalance.barrier_end, barriers))
    for participant in subject.participants:
        trouble = _coordinator_trouble(timeline, participant, begin, end)
        lines += trouble[:MOST_LINES]
        logs = covering(timeline.coverage.of(participant), begin, end)
        if not trouble and logs:
            return Absent(looked(logs, begin, end))
        needs += [] if trouble else [client_log(participant, begin, end)]
    return Present(tuple(lines)) if lines else Unobservable(tuple(needs))


def _coordinator_trouble(timeline: Timeline, participant: Participant, begin: int, end: int) -> list[Event]:
    """Errors of a member's JoinGroup, and losses of its coordinator that lasted for half of the barrier or longer."""
    attempts = timeline.events_from(participant, ev.CoordinatorLost, ev.JoinFailed, ev.SyncFailed).between(begin, end)
    asked = [e for e in attempts if isinstance(e, ev.JoinFailed | ev.SyncFailed)]
    refused: list[Event] = [e for e in asked if e.error in _UNREACHABLE]
    lost = [e for e in attempts if isinstance(e, ev.CoordinatorLost)]
    if lost:
        found = timeline.coordinator_found(participant, time_of(lost[-1]) + 1, end)
        if 2 * ((time_of(found) if found else end) - time_of(lost[0])) >= end - begin:
            return sorted([*refused, *lost], key=time_of)
    return refused


# If the coordinator moved, the group waited for a broker to load it and not for a member.
COORDINATOR_MOVED = logged_by_coordinator(
    "coordinator-moved-meanwhile",
    ev.GroupLoaded,
    when=while_open,
    present="the coordinator moved while the barrier was open, so the members had to find it again first",
    absent="the coordinator did not move while the barrier was open",
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Missed rebalance timeouts, long barriers, late rejoins, and a barrier that is still open when the logs end."""
    # A single timeout that ended a long barrier belongs to it. Repeated timeouts are too short for the members.
    barriers = list(long_barriers(timeline))
    removed = {departure.id for barrier in barriers for departure in barrier.removed}
    # Timeouts of the same participants are one hypothesis until the group is quiet.
    timed_out = linked(_by_line(timeline), lambda timeout: timeout.participants)
    missed = [
        run
        for group in timed_out
        for run in runs(
            sorted(group, key=lambda timeout: timeout.at), lambda timeout: timeout.at, timeouts.quiet_ms(timeline)
        )
        if len(run) > 1 or not removed.issuperset(d.id for d in run[0].departures)
    ]
    repeated = {timeout.rebalance.id for run in missed for timeout in run if timeout.rebalance is not None}
    barriers = [b for b in barriers if b.rebalance.id not in repeated]
    yield from (about_rebalance_timeouts(timeline, run) for run in missed)
    yield from (about_long_barrier(timeline, barrier) for barrier in barriers)
    yield from (
        (about_late_join if late.removed_by is None else about_missed_rebalance)(timeline, late)
        for late in late_joins(timeline, barriers)
    )
    yield from (about_late_revocations(timeline, late) for late in late_revocations(timeline))
    if (still_open := about_open_barrier(timeline)) is not None:
        yield still_open


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_against(heartbeats_may_explain, STRONG + WEAK),
        speaks_against(session_expiry_ended_it, DECISIVE),
        speaks_against(member_lost_meanwhile, DECISIVE - WEAK),
        speaks_against(coordinator_out_of_reach, DECISIVE),
        speaks_against(COORDINATOR_MOVED, DECISIVE),
        speaks_against(coordinator_stood_still, DECISIVE),
    ),
    implies=("scale-out", "subscription-change", "unstable-leader"),
    lookalikes=("coordinator-failover",),
    silence="stuck",
)


class RebalanceTimeout(Struct, frozen=True):
    """The coordinator's line, the members that it removed, and the rebalance that waited for them (None if unknown)."""

    line: ev.MemberFailed
    departures: tuple[Departure, ...]
    rebalance: Rebalance | None

    @property
    def at(self) -> int:
        """Time of the removal."""
        return time_of(self.line)

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Participants whose members were removed."""
        return tuple(dict.fromkeys(d.participant for d in self.departures))

    def returns(self, timeline: Timeline) -> list[Arrival]:
        """Arrivals of the removed members, which rejoin with new member ids."""
        removed = {d.id for d in self.departures}
        arrivals = (a for p in self.participants for a in timeline.arrivals.of(p).since(self.at))
        return [a for a in arrivals if a.ends is not None and a.ends.id in removed]


def _by_line(timeline: Timeline) -> Iterator[RebalanceTimeout]:
    by_line: dict[int, tuple[ev.MemberFailed, list[Departure]]] = {}
    for departure in timeline.departures:
        for event in departure.events if departure.why in _EXPIRED else ():
            if isinstance(event, ev.MemberFailed) and event.why in _EXPIRED:
                by_line.setdefault(id(event), (event, []))[1].append(departure)
    for line, departures in by_line.values():
        at = time_of(line)
        open_then = [r for r in timeline.rebalances.touching(at, at) if r.started_at < at]
        yield RebalanceTimeout(line, tuple(departures), open_then[-1] if open_then else None)


def about_rebalance_timeouts(timeline: Timeline, missed: Sequence[RebalanceTimeout]) -> Hypothesis:
    """One or more removals of members at the rebalance timeout."""
    participants = tuple(dict.fromkeys(p for timeout in missed for p in timeout.participants))
    rebalances = tuple({t.rebalance.id: t.rebalance for t in missed if t.rebalance is not None}.values())
    culprits, lines = each_culprit(participants), [timeout.line for timeout in missed]
    opened = [e for r in rebalances for e in r.events if isinstance(e, ev.RebalanceStarted)]
    returns = sorted((a for timeout in missed for a in timeout.returns(timeline)), key=lambda a: a.at)
    # The timeout is that of a logged setting, else the shortest time that the coordinator waited.
    known = [ms for p in participants if (ms := timeouts.shown_rebalance_ms(timeline, p))]
    waited = [ms for timeout in missed if (ms := timeout.line.timeout_ms or _since_opened(timeout))]
    timeout_ms = max(known, default=None) or min(waited, default=None)
    timeout_ms = None if timeout_ms is None else timeline.measured(timeout_ms)
    needed = [
        back.at - t.rebalance.started_at for t in missed if t.rebalance is not None for back in t.returns(timeline)
    ]
    return Hypothesis(
        because=[*lines[:2], *opened[:2], *lines[2:], *(e for back in returns for e in back.events[:1]), *opened[2:]],
        culprits=culprits,
        clues={REMOVED: Present(tuple(lines[:4]))},
        participants=participants,
        severity="warning",
        onset=min([*(r.started_at for r in rebalances), time_of(lines[0])]),
        explains=(*(d for timeout in missed for d in timeout.departures), *rebalances),
        implies=tuple(returns),
        narrative=_timeouts_in_words(missed, names_of(culprits), timeout_ms, came_back=bool(returns)),
        advice=(
            allow_slower_rejoins(timeline, timeout_ms, max(needed, default=None))
            if len(lines) > 1
            else poll_during_rebalances(timeline, timeout_ms, culprits)
        ),
    )


def _since_opened(timeout: RebalanceTimeout) -> int | None:
    opened = [e for e in timeout.rebalance.events if isinstance(e, ev.RebalanceStarted)] if timeout.rebalance else []
    return timeout.at - time_of(opened[0]) if opened else None


def _timeouts_in_words(missed: Sequence[RebalanceTimeout], who: str, timeout_ms: int | None, *, came_back: bool) -> str:
    """A sentence on the removals: members did not rejoin in time, or under KIP-848 did not revoke partitions."""
    revoking = missed[0].line.why == "revocation-timeout"
    timeout = f"before the rebalance timeout{lasting(timeout_ms, ' ({})')} expired"
    if len(missed) == 1:
        was, them = ("was", "it") if len(missed[0].participants) == 1 else ("were", "them")
        waits = "" if revoking else f": the others in the group had to wait for {them} until then"
        late = "giving up partitions" if revoking else "rejoining"
        return f"{who} {was} removed from the group for not {late} {timeout}{waits}."
    lines = [found.line for found in missed]
    removed = counted(sum(len(found.departures) for found in missed), "member")
    back = "; they came back as new members" if came_back else ""
    late = "give up partitions" if revoking else "rejoin"
    return f"{who} did not {late} {timeout}, {times(len(lines))}{span(lines)}: {removed} removed{back}."


def about_long_barrier(timeline: Timeline, barrier: LongBarrier) -> Hypothesis:
    """A barrier that members held up which joined last, or did not join and were removed."""
    culprits, generation = each_culprit(barrier.last), barrier.rebalance.generation
    open_ms = timeline.measured(barrier.open_ms)
    who, them = names_of(culprits) or "A member", "it" if len(culprits) < 2 else "them"
    clues: dict[Row, Answer] = {LONG: Present(barrier.lines[:2])}
    if barrier.last:
        clues[LAST] = Present(barrier.lines[-2:])
    elif all(isinstance(e, _WAITED) for e in barrier.lines):
        clues[WAITED_ALONE] = clues[LONG]  # a newcomer may have joined an empty group together with others
    return Hypothesis(
        because=barrier.lines,
        culprits=culprits,
        clues=clues,
        participants=barrier.last,
        severity="warning",
        onset=barrier.rebalance.started_at,
        explains=(barrier.rebalance,),
        implies=(*barrier.removed, *barrier.began_by),
        narrative=(
            f"{who} held up generation {generation}{lasting(open_ms)}: the others had to wait for {them} to rejoin."
        ),
        advice=poll_during_rebalances(timeline, open_ms, culprits),
    )


def late_revocations(timeline: Timeline) -> list[list[Reconciliation]]:
    """KIP-848: reconciliations that took longer than heartbeats explain until partitions were given up, if together."""
    late = (
        reconciliation
        for participant in timeline.participants.everybody
        for reconciliation in reconciliations(timeline, participant)
        if reconciliation.lasted_ms > allowed_ms(timeline)
    )
    return runs(late, lambda each: each.began_at, timeouts.all_have_heard_ms(timeline), lambda each: each.ended_at)


def about_late_revocations(timeline: Timeline, late: Sequence[Reconciliation]) -> Hypothesis:
    """Members of a KIP-848 group that gave partitions up late: no other member can be assigned them before."""
    participants = tuple(dict.fromkeys(each.participant for each in late))
    culprits, longest = each_culprit(participants), max(late, key=lambda each: each.lasted_ms)
    lasted_ms = timeline.measured(longest.lasted_ms)
    began, ended = late[0].began_at, max(each.ended_at for each in late)
    rebalance = next((r for r in reversed(timeline.rebalances) if r.started_at <= began + windows.ROUND_TRIP_MS), None)
    opened = began if rebalance is None else min(rebalance.started_at, began)
    since = max(opened, began - timeouts.all_have_heard_ms(timeline)) - windows.ROUND_TRIP_MS
    own = "their" if len(culprits) > 1 else "its"
    where = f"in {own} rebalance listener" if all(each.in_listener for each in late) else f"before {own} next poll()"
    return Hypothesis(
        because=[e for each in late for e in (each.began_by, *each.revoked[-1:], each.ended_by)],
        culprits=culprits,
        clues={GAVE_UP_LATE: Present((longest.began_by, *longest.revoked[-1:], longest.ended_by))},
        participants=participants,
        severity="warning",
        onset=began,
        until=ended,
        explains=tuple(r for r in timeline.rebalances.between(opened, began) if r is rebalance),
        implies=tuple(a for a in timeline.arrivals.between(since, ended) if a.participant not in participants),
        narrative=(
            f"{names_of(culprits)} gave partitions up late{lasting(lasted_ms, ' ({} ' + where + ')')}: "
            "until then no other member could read them."
        ),
        advice=poll_during_rebalances(timeline, lasted_ms, culprits, "The next owner of its partitions"),
    )


def about_late_join(timeline: Timeline, late: RebalanceNotice) -> Hypothesis:
    """A late rejoin that only the member's own log shows."""
    culprits, at, lasted_ms = each_culprit((late.participant,)), late.ended_at, timeline.measured(late.lasted_ms)
    joined = (late.ended_by,) if late.ended_by else ()
    touching = timeline.rebalances.touching(at, at)
    return Hypothesis(
        because=[*late.notices[:4], late.notices[-1], *joined],
        culprits=culprits,
        clues={LONG: Present((late.notices[0], *joined)), HEARD: Present(late.notices[:4])},
        participants=(late.participant,),
        severity="warning",
        onset=late.began_at,
        explains=tuple(r for r in touching if joined_at(r, late.participant) == at),
        narrative=(
            f"{culprits[0].name} knew of the rebalance{lasting(lasted_ms)} before it rejoined; "
            "until then the group had to wait for it."
        ),
        advice=poll_during_rebalances(timeline, lasted_ms, culprits),
    )


def about_missed_rebalance(timeline: Timeline, late: RebalanceNotice) -> Hypothesis:
    """A removal of a member that kept sending heartbeats and did not rejoin, which only its own log shows."""
    # The coordinator completes the join phase at the rebalance timeout, and removes the members that have not rejoined.
    culprits, lasted_ms = each_culprit((late.participant,)), timeline.measured(late.lasted_ms)
    removed = tuple(filter(None, (late.removed_by,)))
    lost = tuple(d for d in timeline.departures.of(late.participant) if not set(removed).isdisjoint(d.events))
    return Hypothesis(
        because=[*late.notices[:4], late.notices[-1], *removed],
        culprits=culprits,
        clues={HEARD: Present(late.notices[:4]), UNKNOWN_THEN: Present(removed)},
        participants=(late.participant,),
        severity="warning",
        onset=late.began_at,
        explains=lost,
        implies=tuple(a for d in lost if (a := d.returned) is not None),
        narrative=(
            f"{culprits[0].name} knew of the rebalance{lasting(lasted_ms)} and did not rejoin; "
            "then its coordinator no longer knew it: the rebalance completed without it."
        ),
        advice=poll_during_rebalances(timeline, lasted_ms, culprits),
    )


def late_joins(timeline: Timeline, barriers: Iterable[LongBarrier]) -> Iterator[RebalanceNotice]:
    """Late rejoins and removals of members that did not rejoin, except during long barriers and where brokers log."""
    if timeline.kind != "consumer":
        return
    known_barriers = [(barrier.rebalance.started_at, barrier.rebalance.ended_at()) for barrier in barriers]
    for participant in timeline.participants.everybody:
        for notice in rebalance_notices(timeline, participant):
            began, ended = notice.began_at, notice.ended_at
            # A franz-go client that was removed meanwhile logs the error of its session before it joins again.
            shown = notice.removed_by is not None or isinstance(notice.ended_by, ev.JoinStarted | ev.JoinFailed)
            if not shown or notice.lasted_ms <= allowed_ms(timeline):
                continue
            if (
                notice.is_one_rebalance(timeline)
                and not any(
                    topics.retries_throughout(participant, began, ended) for topics in vanished_topics(timeline)
                )
                and not covering(timeline.coverage.brokers, began, ended)
                and not any(begin <= ended and began <= end for begin, end in known_barriers)
            ):
                yield notice


def _unanswered_notice(timeline: Timeline, participant: Participant) -> RebalanceNotice | None:
    """The last rebalance notice of a member that neither joined nor left afterwards, else None."""
    last = next(iter([*rebalance_notices(timeline, participant)][-1:]), None)
    if last is None or last.ended_by is not None:
        return None
    departed = timeline.departures.of(participant).any_between(last.began_at, timeline.last)
    return None if departed else last


def _unanswered_join(timeline: Timeline, participant: Participant, since: int) -> Event | None:
    """The member's unanswered JoinGroup, if it was sent about when the late member first received the notice."""
    last = timeline.events_from(participant, ev.JoinStarted, ev.JoinSucceeded, ev.SyncSucceeded).last(timeline.last)
    return (
        last
        if isinstance(last, ev.JoinStarted) and abs(time_of(last) - since) <= timeouts.all_have_heard_ms(timeline)
        else None
    )


def about_open_barrier(timeline: Timeline) -> Hypothesis | None:
    """Members that know of a rebalance and have not rejoined when the logs end; None if there are none."""
    if timeline.kind != "consumer" or not timeline.is_classic:
        return None
    # Only members receive REBALANCE_IN_PROGRESS, so that its receiver is one even if no line shows how it joined.
    everybody = timeline.participants.everybody
    late = {member: last for member in everybody if (last := _unanswered_notice(timeline, member))}
    notices = tuple(sorted((e for last in late.values() for e in last.notices), key=time_of))
    if not notices or time_of(notices[-1]) - time_of(notices[0]) <= allowed_ms(timeline):
        return None
    others = [a for a in timeline.membership.members if a not in late]
    waiting = tuple(e for a in others if (e := _unanswered_join(timeline, a, time_of(notices[0]))))
    if not waiting and any(timeline.coverage.of(a) for a in others):
        return None
    # An excerpt may omit a JoinGroup between the notices.
    is_one = bool(waiting) or all(last.is_one_rebalance(timeline) for last in late.values())
    began, culprits = min(map(time_of, (*notices, *waiting))), each_culprit(late)
    since = began - timeouts.all_have_heard_ms(timeline)
    unended = (r for r in timeline.rebalances.since(since) if r.stabilized_at is None and r.completed_at is None)
    rebalances = tuple(unended)
    has, shown = "has" if len(culprits) == 1 else "have", {HEARD: Present(notices[:4])}
    wait = "a rebalance waits for every member" if is_one else "but an excerpt may leave out that it did"
    wait = "the others are still waiting when the logs end" if waiting else wait
    lasted = lasting(timeline.measured(time_of(notices[-1]) - time_of(notices[0])))
    return Hypothesis(
        because=[*notices[:4], *waiting[:4], *(e for r in rebalances for e in r.events)],
        culprits=culprits,
        clues=shown | ({LONG: Present(waiting[:2] or notices[-1:])} if is_one else {}),
        participants=tuple(late),
        severity="warning",
        onset=began,
        ongoing=True,
        implies=(*rebalances, *timeline.arrivals.since(since)),
        narrative=f"{names_of(culprits)} {has} known of the rebalance{lasted} and {has} not rejoined; {wait}.",
        advice=(
            Advice(
                action=_take_dumps(culprits), why=f"It kept heartbeating{lasted} while the whole group waited for it."
            ),
        ),
    )


def poll_during_rebalances(
    timeline: Timeline, open_ms: int | None, culprits: Sequence[Culprit], who_waited: str = "The whole group"
) -> tuple[Advice, ...]:
    """Advice for members that rejoin late: find out what they do, or lower max.poll.interval.ms to limit the wait.

    `open_ms` is how long the group waited, None if the lines have no times.
    """
    limit = timeouts.shown_poll_ms(timeline) or 0
    known = f" ({limit} ms)" if limit else ""
    return (
        Advice(action=_take_dumps(culprits), why=f"{who_waited} waited{lasting(open_ms, ' {}')} for it."),
        Advice(
            action=f"Lower {consumer_setting(timeline, timeouts.POLL)}: it bounds how long a rebalance waits "
            "(rebalance timeout).",
            why=f"The coordinator removes members that do not rejoin within it{known}"
            f"{lasting(open_ms, '; this rebalance waited {}')}.",
            cost="Healthy members whose poll loop takes longer than the new value are then removed as well.",
        ),
    )


def allow_slower_rejoins(timeline: Timeline, timeout_ms: int | None, needed_ms: int | None) -> tuple[Advice, ...]:
    """Advice for members that repeatedly miss the rebalance timeout: a longer timeout or a shorter poll loop.

    `needed_ms` is the time from the start of the rebalance to the next JoinGroup of a removed member, None if unknown.
    """
    setting_of = "rebalance.timeout.ms" if timeline.kind == "connect" else "max.poll.interval.ms"
    known = f" ({timeout_ms} ms)" if timeout_ms else ""
    needed = None if needed_ms is None else timeline.measured(needed_ms)
    enough = "to about {figure}" if needed else "above the time that a member needs to rejoin"
    return (
        Advice(
            action=f"Raise the rebalance timeout {enough}: {setting_of} in Java clients; KafkaJS rebalanceTimeout, "
            "Sarama Consumer.Group.Rebalance.Timeout, franz-go RebalanceTimeout.",
            figure=rounded_up(needed) if needed else None,
            why=f"The coordinator removes members that do not rejoin within it{known}"
            f"{lasting(needed, '; a removed member asked to join {} after the rebalance began')}.",
            cost="A rebalance may then wait that long for a stuck member.",
        ),
        Advice(
            action=f"Call poll() more often: lower {consumer_setting(timeline, 'max.poll.records')}, or move slow work "
            "out of the poll loop.",
            why="A member can rejoin only from poll().",
        ),
    )


def _take_dumps(culprits: Sequence[Culprit]) -> str:
    """Advice to take thread dumps of the members that held up the group, at most _DUMPS of them."""
    names = [culprit.name for culprit in culprits[:_DUMPS]] or ["the member that joined last"]
    return _THREAD_DUMPS.format(" and ".join(names))


class LongBarrier(NamedTuple):
    """A join barrier: the members that it waited for, the members removed at its end, its triggers, and its lines."""

    rebalance: Rebalance
    open_ms: int
    last: tuple[Participant, ...]
    removed: tuple[Departure, ...]
    began_by: tuple[Fact, ...]
    lines: tuple[Event, ...]


def long_barriers(timeline: Timeline) -> Iterator[LongBarrier]:
    """All barriers that were open for longer than heartbeats and the initial delay explain, oldest first."""
    for rebalance in timeline.rebalances:
        # Clients before 2.6.1 do not log the end of the join phase, only the assignment.
        begin, stable = rebalance.started_at, rebalance.stabilized_at
        end = stable if stable is not None else rebalance.completed_at
        if rebalance.generation is None or end is None or waits_for_newcomers(rebalance):
            continue
        if end - begin <= _explained_ms(timeline, rebalance):
            continue
        last, removed = awaited(timeline, rebalance), removed_at_timeout(timeline, rebalance)
        lines = _lines(timeline, rebalance, removed, last)
        # Without a logged end of the join phase, the leader's assignment may account for part of the time, but not for
        # more than REQUEST_TIMEOUT_MS. The first generation may have waited for group.initial.rebalance.delay.ms.
        waited_long = rebalance.generation > 1 and end - begin > windows.REQUEST_TIMEOUT_MS
        if lines and (stable is not None or last or waited_long):
            # The joins and requests that opened the barrier are its triggers, not separate incidents.
            asked = timeline.requests.between(begin - windows.ROUND_TRIP_MS + 1, begin + windows.ROUND_TRIP_MS - 1)
            began_by: tuple[Fact, ...] = (*timeline.arrivals.between(begin - windows.ROUND_TRIP_MS, end), *asked)
            yield LongBarrier(rebalance, end - begin, last, tuple(removed), began_by, tuple(lines))


def allowed_ms(timeline: Timeline) -> int:
    """The longest barrier that heartbeats and the initial delay explain, in ms."""
    # By contract, three seconds more than the longer of twice the heartbeat interval and the initial delay.
    delay = timeouts.setting_ms(timeline, timeouts.INITIAL_DELAY)
    return max(2 * timeouts.heartbeat_interval_ms(timeline), delay) + windows.HEARTBEAT_MS


def _explained_ms(timeline: Timeline, rebalance: Rebalance) -> int:
    # While the group's first processes start, each newcomer keeps the barrier open (GroupCoordinator's
    # InitialDelayedJoin).
    near, at = timeouts.DEFAULTS[timeouts.INITIAL_DELAY] + 2 * windows.ROUND_TRIP_MS - 1, rebalance.started_at
    starting = timeline.cached_as(
        "arrivals at startup", lambda: TimeIndex(chain.from_iterable(startup_arrivals(timeline)))
    )
    if rebalance.generation == 1 or starting.any_between(at - near, at + near):
        return max(windows.ONE_REBALANCE_MS + windows.HEARTBEAT_MS, allowed_ms(timeline))
    return allowed_ms(timeline)


def _lines(
    timeline: Timeline, rebalance: Rebalance, removed: Sequence[Departure], last: Sequence[Participant]
) -> list[Event]:
    opened = [e for e in rebalance.events if isinstance(e, ev.RebalanceStarted | ev.GenerationStabilized)]
    begin, end = rebalance.started_at, rebalance.barrier_end() + windows.TICK_MS
    near = timeline.of(ev.JoinStarted, ev.MemberFailed).between(begin, end)
    joins = [e for e in near if isinstance(e, ev.MemberFailed) or timeline.participants.of_speaker(e) in last][
        :_MAX_JOINS
    ]
    noticed = [e for notices in notices_of_absent(timeline, rebalance).values() for e in notices[:_MAX_JOINS]]
    if opened or joins or noticed:
        return [*opened, *(e for d in removed for e in d.events), *noticed, *joins]
    # If no other member has a log: a newcomer's lines from its JoinGroup to the response.
    waited = timeline.of(*_WAITED).between(begin, end) if joins_are_logged(rebalance) and not removed else ()
    return [e for e in waited if e.speaker.role != "broker"][:_MAX_JOINS]
