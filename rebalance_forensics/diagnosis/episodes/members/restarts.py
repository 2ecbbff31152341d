"""Restarts: a member went down and came back, or a newcomer took its place.

A newcomer with a generated name, or with the client id of the same Connect task, is the successor of the member that it
follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeVar

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, lasts_a_session, only_listed
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings, ended_with_its_process
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import (
    is_static,
    logs_from_before,
    losses,
    process_survived,
)
from rebalance_forensics.diagnosis.episodes.runs import walks
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.clients import SINK_CLIENTS, logs_leave_group
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Fact, StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once, listed_once
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, grouped, lists_by_key
from rebalance_forensics.timeline.timeouts import session_timeout_ms

T = TypeVar("T")
Fits = Callable[[Timeline, Absence, Arrival], bool]
Choice = Callable[[Absence], TimeIndex[Arrival]]
# Evidence of a return.
RETURNS = (StaticReturn, ev.JoinSucceeded)


class Return(Struct, frozen=True):
    """One static member that came back, and the fact that records it."""

    participant: Participant
    at: int
    events: tuple[Event, ...]
    fact: Fact | None


def static_returns(timeline: Timeline) -> list[list[Return]]:
    """Static members replaced by themselves, shown by the coordinator or by a rejoin of the same generation."""
    fenced = {
        e.instance_id or e.speaker.instance_id
        for e in timeline.of(ev.StaticMemberFenced, ev.InstanceFenced)
        if isinstance(e, ev.StaticMemberFenced | ev.InstanceFenced)
    }
    returns = [Return(r.participant, r.at, tuple(r.events), r) for r in timeline.returns]
    found = [r for r in returns if fenced.isdisjoint(r.participant.instance_ids) and not _was_turned_away(timeline, r)]
    logged = TimeIndex(found, lambda r: r.at)
    again = [r for r in _same_generation_again(timeline) if fenced.isdisjoint(r.participant.instance_ids)]
    found += [r for r in again if not _is_logged(logged, r)]
    return walks(found, lambda r: r.at, lambda r: r.participant)


def _was_turned_away(timeline: Timeline, returned: Return) -> bool:
    """True for a member that rejoined in the same process after its coordinator had refused or not answered it."""
    # The answer to a JoinGroup is lost where the client gives the request up as the barrier ends: it joins again with
    # no member id, and the one that it never learned of is replaced.
    joined = timeline.rebalances.last(returned.at)
    ended = None if joined is None else joined.stabilized_at
    if joined is not None and ended is not None and returned.at - windows.ROUND_TRIP_MS <= ended <= returned.at:
        came = timeline.arrivals.of(returned.participant).last(ended)
        if came is not None and came.at >= joined.started_at:
            return True
    since = returned.at - windows.ONE_REBALANCE_MS
    # A coordinator that stood still evicts its members as it wakes up, before it learns who coordinates them now.
    if any(d.stayed and since <= d.at <= returned.at for d in timeline.departures.of(returned.participant)):
        return True
    resets = timeline.events_from(returned.participant, ev.GenerationReset).between(since, returned.at)
    refused = [time_of(e) for e in resets if isinstance(e, ev.GenerationReset) and e.error is not None]
    return bool(refused) and not timeline.starts.of(returned.participant).any_between(refused[-1], returned.at)


def joins_of(timeline: Timeline, group: Sequence[Return]) -> list[Event]:
    """The answer to each member's JoinGroup, with the generation that the group already had."""
    found: list[Event] = []
    for each in group:
        joined = timeline.events_from(each.participant, ev.JoinSucceeded)
        near = joined.between(each.at - windows.REQUEST_TIMEOUT_MS, each.at + windows.REQUEST_TIMEOUT_MS)
        found += sorted(near, key=lambda e: abs(time_of(e) - each.at))[:1]
    return found


def former_may_still_run(timeline: Timeline, group: Sequence[Return]) -> bool:
    """True if no log shows that the processes had stopped whose places these members took (KIP-345)."""
    # A coordinator log that continues for a session timeout would show them fenced, or rejoining.
    heard_on = timeline.has_coordinator_log and lasts_a_session(timeline, group[-1].at)
    return not heard_on and not any(_has_former_process(timeline, r) for r in group)


def loads_before(timeline: Timeline, group: Sequence[Return]) -> tuple[Event, ...]:
    """The loads of the group by another coordinator before these returns, where no log shows a new process in one."""
    if any(_has_former_process(timeline, r) for r in group):
        return ()
    loads = timeline.of(ev.GroupLoaded)
    near = [loads.between(r.at - windows.AT_ONCE_MS, r.at)[-1:] for r in group]
    return tuple(dict.fromkeys(load for of_return in near for load in of_return)) if all(near) else ()


def _has_former_process(timeline: Timeline, returned: Return) -> bool:
    """True if its log has an earlier process: lines with its name, not those of others that write to the same file."""
    start = timeline.starts.of(returned.participant).last(returned.at)
    began = returned.at if start is None else start.at
    before = timeline.events_from(returned.participant, Event).between(0, began - 1)
    return any(e.group == timeline.group or e.speaker.client_id is not None for e in before)


def _is_logged(logged: TimeIndex[Return], rejoin: Return) -> bool:
    """True if the coordinator logs the return that the member shows: no member comes back twice so soon."""
    near = logged.between(rejoin.at - windows.ONE_REBALANCE_MS + 1, rejoin.at + windows.ONE_REBALANCE_MS - 1)
    return any(other.participant is rejoin.participant for other in near)


def facts_of_returns(timeline: Timeline, group: Sequence[Return]) -> tuple[Fact, ...]:
    """The facts that record these returns, and the members' departures and arrivals meanwhile."""
    participants = {r.participant for r in group}
    begin, end = (
        min(r.at for r in group) - windows.ONE_REBALANCE_MS,
        max(r.at for r in group) + windows.NEXT_HEARTBEAT_MS,
    )
    came = [a for a in timeline.arrivals.between(begin, end) if a.participant in participants and not a.first]
    departures = [d for d in timeline.departures.between(begin, end) if d.participant in participants]
    left = [d for d in departures if d.why in ("closed", "vanished", "left")]
    return (*(r.fact for r in group if r.fact is not None), *came, *left)


def _same_generation_again(timeline: Timeline) -> Iterator[Return]:
    """New processes of static members that are answered with the generation that the group already had."""
    reached: dict[int, int] = {}
    for event in timeline.of(ev.JoinSucceeded):
        participant = timeline.participants.of_speaker(event)
        if participant is None or event.at is None:
            continue
        first = reached.setdefault(event.generation, event.at)
        start = timeline.starts.of(participant).last(event.at - 1)
        restarted = start is not None and start.at > first
        if participant.instance_ids and start is not None and restarted and event.at - first > windows.HEARTBEAT_MS:
            since = max(start.at, event.at - windows.REQUEST_TIMEOUT_MS)
            near = timeline.arrivals.of(participant).between(since, event.at + windows.REQUEST_TIMEOUT_MS)
            arrival = near[0] if near else None
            yield Return(participant, event.at, (event,), arrival)


# Two members that leave in turn may be a deployment or a flap; two that expire, a deployment or two crashes.
_ENOUGH_FOR_WALK = 3


class RestartWalk(Struct, frozen=True):
    """Restarts one after another.

    `everyone`: all members restarted. `new_names`: newcomers took their places. `cut`: the logs show only a part of the
    walk.
    """

    restarts: tuple[Restart, ...]
    participants: tuple[Participant, ...]
    everyone: bool
    new_names: bool = False
    cut: bool = False

    @property
    def lines(self) -> list[Event]:
        """The lines of each departure, and the first line of each return."""
        return [
            e for r in self.restarts for e in (*r.absence.events, *(e for a in r.arrivals[:1] for e in a.events[:1]))
        ]

    @property
    def longest_down_ms(self) -> int:
        """The longest restart."""
        return max(0, *(r.up_at - r.absence.at for r in self.restarts))

    @property
    def took_ms(self) -> int:
        """From the first departure to the last return; new processes may be up before the old ones leave."""
        times = [t for r in self.restarts for t in (r.absence.at, r.up_at)]
        return max(times) - (min(times) if self.new_names else self.restarts[0].absence.at)

    @property
    def mostly_expired(self) -> bool:
        """True if only expired sessions show most restarts: a paused or disconnected member looks the same."""
        return 2 * sum(_expired_without_client_log(r.absence) for r in self.restarts) > len(self.restarts)

    @property
    def mostly_listed(self) -> bool:
        """True if at least half of the restarts show only in the leader's lists of members."""
        moves = ((*r.absence.departures, *r.arrivals) for r in self.restarts)
        return 2 * sum(all(only_listed(move) for move in each) for each in moves) >= len(self.restarts)


@listed_once
def restart_walks(timeline: Timeline) -> Iterator[RestartWalk]:
    """Restarts that walk over at least two members and most of the group."""
    # A static member that is back in time costs no rebalance: its walks are in static_returns.
    if not timeline.departures:
        return
    in_time = {r.fact.id for group in static_returns(timeline) for r in group if r.fact is not None}
    clean = [r for r in restarts(timeline) if in_time.isdisjoint(a.id for a in r.arrivals)]
    clean = [r for r in clean if not exception_before(timeline, r.absence)]
    for walk in walks(clean, lambda r: r.absence.at, lambda r: r.by):
        for steps in map(_from_its_first_step, _bounces(_without_the_killed(timeline, walk))):
            ahead = _started_ahead(timeline, steps)
            group = [*steps, *ahead]
            before = min(r.up_at for r in ahead) - 1 if ahead else None
            replaced, settled = tuple(_replaced(group)), _settled(timeline, group, before)
            most = 2 * len(replaced) > settled
            if _walks_over(timeline, group) and (most or _reaches_out(timeline, group)):
                yield RestartWalk(tuple(group), replaced, everyone=len(replaced) >= settled, cut=not most)
    yield from _under_new_names(timeline)
    yield from _expiring_in_turn(timeline, clean)


def _started_ahead(timeline: Timeline, group: list[Restart]) -> list[Restart]:
    """The namesakes that left after the last return of a walk, with as many that came before its first departure."""
    # A Kubernetes Deployment starts new pods before it stops old ones (maxSurge). By their common client id each new
    # one takes the place of the one that left before it, so the first to come and the last to go are left over.
    clients = frozenset(c for r in group for c in r.by.client_ids)
    began, ended = group[0].absence.at, max(r.up_at for r in group)
    taken = restarts(timeline)
    known = initial_arrivals(timeline) | {a.id for r in taken for a in r.arrivals}
    came = [
        a
        for a in timeline.arrivals.between(began - windows.ONE_STEP_MS, began)
        if a.first and a.id not in known and _is_namesake(a.participant, clients)
    ]
    absent = {id(r.absence) for r in taken}
    closed = [
        a
        for a in closings(timeline)
        if ended <= a.at <= ended + windows.ONE_STEP_MS
        and a.back_at is None
        and id(a) not in absent
        and _is_namesake(a.participant, clients)
        and not exception_before(timeline, a)
    ]
    if len(came) != len(closed):
        return []
    return [Restart(away, a.at, (a,), "unnamed") for away, a in zip(closed, came, strict=True)]


def _is_namesake(participant: Participant, clients: frozenset[str]) -> bool:
    return participant.has_namesakes and not clients.isdisjoint(participant.client_ids)


def _walks_over(timeline: Timeline, group: list[Restart]) -> bool:
    participants = _replaced(group)
    # An excerpt may leave out the members that stayed: then a second turn is a flap as well.
    most = len(participants) + 1 if timeline.coverage.is_excerpt else 2 * len(participants)
    enough = _ENOUGH_FOR_WALK if all(_expired_without_client_log(r.absence) for r in group) else 2
    if all(_was_killed(timeline, r.absence) for r in group):
        enough = max(_ENOUGH_FOR_WALK, _settled(timeline, group))
    return enough <= len(participants) and len(group) < most and not _all_at_once(group)


def _settled(timeline: Timeline, group: list[Restart], before: int | None = None) -> int:
    """The size of the group before."""
    return timeline.membership.size_at(group[0].absence.at - 1 if before is None else before)


def _under_new_names(timeline: Timeline) -> Iterator[RestartWalk]:
    """Newcomers that take the places of nearly all members in turn."""
    # Scaling keeps most members.
    clean = [r for r in replacements(timeline) if not exception_before(timeline, r.absence)]
    for walk in walks(clean, lambda r: r.absence.at, lambda r: r.by):
        group = _without_the_killed(timeline, walk)
        participants = _replaced(group)
        if len(participants) < 2:
            continue
        settled = _settled(timeline, group, min(min(r.up_at, r.absence.at) for r in group) - 1)
        by_turns = min(r.absence.at for r in group) < max(r.up_at for r in group) and not _all_at_once(group)
        most = 4 * len(participants) >= 3 * settled
        # Places that fill again and again are no part of one deployment.
        once = len(group) < 2 * len(participants)
        counts = timeline.membership.counts.between(group[0].absence.at, group[-1].up_at)
        places = max((count.members for count in counts), default=0)
        if places and len(group) >= 2 * places:
            continue
        if by_turns and (most or (once and _reaches_out(timeline, group))):
            everyone = len(participants) >= settled
            yield RestartWalk(tuple(group), tuple(participants), everyone=everyone, new_names=True, cut=not most)


def _reaches_out(timeline: Timeline, group: list[Restart]) -> bool:
    """True if the logs begin or end within a step of the walk, so that more of it may lie outside."""
    steps = sorted(at for r in group for at in (r.absence.at, r.up_at))
    stride = max(later - earlier for earlier, later in pairwise(steps))
    begin = timeline.coverage.begin
    return begin is not None and (steps[0] - begin <= stride or timeline.coverage.end - steps[-1] <= stride)


def _expiring_in_turn(timeline: Timeline, clean: list[Restart]) -> Iterator[RestartWalk]:
    """Members that each expire once and are back before the next one leaves."""
    # A Streams instance sends no LeaveGroup on close.
    silent = [a for a in losses(timeline) if _may_have_closed_silently(timeline, a)]
    back = [Restart(a, a.back_at or a.at, tuple(a.arrivals)) for a in silent]
    for group in walks([*clean, *back], lambda r: r.absence.at, lambda r: r.by):
        participants = {r.by for r in group}
        settled = _settled(timeline, group)
        once = len(participants) == len(group) >= max(_ENOUGH_FOR_WALK, settled)
        by_turns = all(before.up_at < after.absence.at for before, after in pairwise(group))
        if once and by_turns and any(r in back for r in group):
            yield RestartWalk(tuple(group), tuple(_replaced(group)), everyone=True)


def _expired_without_client_log(absence: Absence) -> bool:
    late = absence.back_at is not None and absence.back_at >= absence.at
    return absence.whys == {"session-expired"} and late and not absence.participant.has_log


def _was_killed(timeline: Timeline, absence: Absence) -> bool:
    """True if its log stops without a shutdown."""
    # A deployment lets processes close; one that kills them reaches every member all the same.
    participant = absence.participant
    silent = absence.whys == {"session-expired"}
    if absence.fell_silent and not silent:
        silent = absence.start is not None and logs_leave_group(timeline, participant)
    return participant.has_log and absence.stop is None and silent


def _without_the_killed(timeline: Timeline, walk: list[Restart]) -> list[Restart]:
    """The walk without members that died by themselves."""
    # Where the deployment lets processes close, a log without a shutdown is a death.
    if not any(r.absence.stop is not None for r in walk):
        return walk
    return [r for r in walk if not (_was_killed(timeline, r.absence) and logs_from_before(timeline, r.absence))]


def _may_have_closed_silently(timeline: Timeline, absence: Absence) -> bool:
    unknown = (
        absence.participant.kind == "instance" and not absence.participant.has_log and not is_static(timeline, absence)
    )
    back = absence.back_at is not None and absence.back_at >= absence.at
    return unknown and back and not process_survived(timeline, absence)


def _bounces(run: list[Restart]) -> list[list[Restart]]:
    # Two deployments in a row, as Streams' upgrade.from asks for, walk over the same members twice.
    half = len(run) // 2
    first, second = {r.by for r in run[:half]}, {r.by for r in run[half:]}
    twice = half >= _ENOUGH_FOR_WALK and len(run) % 2 == 0 and first == second and len(first) == half
    return [run[:half], run[half:]] if twice else [run]


def _from_its_first_step(group: list[Restart]) -> list[Restart]:
    """The walk without members lost before it began: a deployment reaches those with all others."""
    visits = Counter(r.by for r in group)
    for place, restart in enumerate(group):
        if visits[restart.by] == 1 or restart.absence.stop is not None or not restart.absence.fell_silent:
            return group[place:]
        visits[restart.by] -= 1
    return group


def _replaced(group: list[Restart]) -> list[Participant]:
    """The members from before the first restart, without those that only arrived by a restart."""
    found: dict[Participant, None] = {}
    came: set[Participant] = set()
    for restart in group:
        if restart.by not in came:
            found.setdefault(restart.by)
        came |= {a.participant for a in restart.arrivals}
    return list(found)


def _all_at_once(group: list[Restart]) -> bool:
    """True if all left at once, before any was up again or after all were: no walk over the members."""
    down, up = [r.absence.at for r in group], [r.up_at for r in group]
    apart = max(down) < min(up) or max(up) < min(down)
    return apart and max(down) - min(down) <= windows.AT_ONCE_MS


_RANDOM = re.compile(r"(?=.*\d)[0-9a-f]{7,}")
_BETWEEN = re.compile(r"[-._]")
_DEPLOYMENT = re.compile(r"[^\W\d_]+")


How = Literal["own", "unnamed", "task", "deployed"]
"""What shows that the place was taken: `own`, the member's own return or process start; `unnamed`, a newcomer with a
generated name; `task`, the consumer of the same Connect task; `deployed`, a newcomer of the same deployment."""


@dataclass(slots=True, eq=False)
class Restart:
    """One participant that went down, and its own return or the newcomer in its place."""

    absence: Absence
    up_at: int
    arrivals: tuple[Arrival, ...]
    how: How = "own"

    @property
    def by(self) -> Participant:
        """The participant that went down."""
        return self.absence.participant


def same_process(timeline: Timeline, absence: Absence) -> bool:
    """True if the member came back from the same process."""
    # A Java consumer prints its configuration when it is created (AbstractConfig), so a log that continues without one
    # belongs to the same process.
    return bool(absence.returned_with_its_id) or _is_made_once(timeline, absence)


def has_left_by(timeline: Timeline, newcomer: Arrival, at: int) -> bool:
    """True if the newcomer had left again before the member left whose place it might have taken."""
    return timeline.departures.of(newcomer.participant).any_between(newcomer.at, at - windows.AT_ONCE_MS)


def successors(timeline: Timeline) -> dict[int, tuple[Arrival, ...]]:
    """Newcomers with a generated name, or that of the same Connect task, by the identity of the absence they end."""
    silent = {id(a) for a in losses(timeline) if not is_static(timeline, a)}
    taken = (r for r in _places_taken(timeline) if r.how in ("unnamed", "task"))
    return {id(r.absence): r.arrivals for r in taken if id(r.absence) in silent}


@answered_once
def restarts(timeline: Timeline) -> list[Restart]:
    """Every restart of a member: a close or a clean stop and a return, or an expiry and a new process."""
    return [r for r in _places_taken(timeline) if r.how in ("own", "unnamed")]


@answered_once
def replacements(timeline: Timeline) -> list[Restart]:
    """Each member that left for good with the newcomer of its deployment nearest in time, else the next by turns."""
    return [r for r in _places_taken(timeline) if r.how == "deployed"]


@answered_once
def _places_taken(timeline: Timeline) -> list[Restart]:
    """Each absence with what took its place, the surest first: no newcomer takes two places."""
    if not timeline.departures:
        return []
    crashed = [a for a in losses(timeline) if _went_down(timeline, a) and _is_back(a)]
    downs = sorted([*(a for a in closings(timeline) if not same_process(timeline, a)), *crashed], key=lambda a: a.at)
    expired = (a for a in losses(timeline) if _is_missed(a) and not process_survived(timeline, a))
    initial, unreturned = initial_arrivals(timeline), _unreturned(timeline)
    newcomers = [a for a in timeline.arrivals if a.first and a.id not in initial]
    # A log of its own would show a member's former life.
    nameless = (a for a in newcomers if not a.participant.has_log or a.participant.has_one_process)
    found = [*_own_restarts(timeline, downs)]
    unnamed = _free(found, [*downs, *expired])
    found += _nearest(timeline, unnamed, _unnamed_choice(_free(found, nameless)), _may_follow, "unnamed")
    lost = (a for a in losses(timeline) if a.back_at is None)
    found += _nearest(timeline, lost, _same_task(timeline.arrivals), _may_follow, "task")
    deployed = _same_deployment(_free(found, newcomers))
    found += _nearest(timeline, _free(found, unreturned), deployed, _may_succeed, "deployed")
    found += _alternating(timeline, _free(found, [*unreturned, *newcomers]))
    return sorted(found, key=lambda r: r.absence.at)


def _free(found: Iterable[Restart], moves: Iterable[T]) -> list[T]:
    """The absences and newcomers that none of these restarts has."""
    known = {id(move) for restart in found for move in (restart.absence, *restart.arrivals)}
    return [move for move in moves if id(move) not in known]


def _is_missed(absence: Absence) -> bool:
    """True for a member that only its coordinator lost, for good."""
    return absence.fell_silent and not absence.participant.has_log and absence.back_at is None


def _unnamed_choice(newcomers: Iterable[Arrival]) -> Choice:
    """Of each absence the newcomers where one of the two has a generated name."""
    every = TimeIndex(newcomers)
    anonymous = TimeIndex(filter(_is_anonymous, every), ordered=True)
    # A KIP-848 member gets a real name once the group is back on classic.
    return lambda absence: every if is_bare_member_id(absence.departures[0].member or "") else anonymous


def _same_deployment(newcomers: Iterable[Arrival]) -> Choice:
    """Of each absence the newcomers whose name may be one of the same deployment."""
    every = TimeIndex(newcomers)
    by_word = grouped(every, lambda newcomer: _deployment_of(newcomer.participant.name))
    nameless = TimeIndex(by_word.get(None, ()), ordered=True)
    choices = {word: TimeIndex([*of_word, *nameless]) for word, of_word in by_word.items()}
    choices[None] = every
    return lambda absence: choices.get(_deployment_of(absence.participant.name), nameless)


def _same_task(newcomers: Iterable[Arrival]) -> Choice:
    """Of each absence the consumers of the same Connect task, which another worker runs now."""
    clients = ((client, a) for a in newcomers for client in a.participant.client_ids if client.startswith(SINK_CLIENTS))
    by_task = {client: TimeIndex(of_task) for client, of_task in lists_by_key(clients).items()}
    return lambda absence: next((by_task[c] for c in sorted(absence.participant.client_ids) if c in by_task), NOTHING)


def _may_follow(timeline: Timeline, absence: Absence, newcomer: Arrival) -> bool:
    """True where the newcomer's process may have started for the member that is absent."""
    # A process that still runs needs no successor, so an expired one may have been dead for a session at most.
    dead_for = session_timeout_ms(timeline) + windows.NEXT_HEARTBEAT_MS
    if _is_missed(absence) and newcomer.at < absence.at - dead_for:
        return False
    return not has_left_by(timeline, newcomer, absence.at)


def _own_restarts(timeline: Timeline, downs: Iterable[Absence]) -> Iterator[Restart]:
    for absence in downs:
        if absence.arrivals:
            yield Restart(absence, absence.arrivals[0].at, tuple(absence.arrivals))
        elif absence.start is not None and (timeline.coverage.is_excerpt or _ends_as_it_starts(timeline, absence)):
            # The excerpt leaves out its return, or its log was collected before it joined.
            yield Restart(absence, absence.start.at, ())


def _nearest(
    timeline: Timeline, absences: Iterable[Absence], choice: Choice, fits: Fits, how: How
) -> Iterator[Restart]:
    """Each absence with the newcomer of its choice nearest to it that fits and has taken no other place."""
    used: set[str] = set()
    for absence in absences:
        near = (a for a in choice(absence).nearest(absence.at, windows.SUCCESSION_MS) if a.id not in used)
        others = (a for a in near if a.participant is not absence.participant)
        newcomer = next((a for a in others if fits(timeline, absence, a)), None)
        if newcomer is not None:
            used.add(newcomer.id)
            yield Restart(absence, newcomer.at, (newcomer,), how)


def _is_made_once(timeline: Timeline, absence: Absence) -> bool:
    """True if its log shows its start, and reaches to its return without a second start."""
    who = absence.participant
    if (
        timeline.coverage.is_excerpt
        or who.kind != "client"
        or absence.back_at is None
        or ended_with_its_process(absence)
    ):
        return False
    dumped = (e for s in timeline.starts.of(who).between(0, absence.at) for e in s.events)
    shown = any(isinstance(e, ev.SettingsReported) for e in dumped)
    return shown and bool(covering(timeline.coverage.of(who), absence.at, absence.back_at))


def _ends_as_it_starts(timeline: Timeline, absence: Absence) -> bool:
    end, start = timeline.coverage.ends(absence.participant), absence.start
    if end is None or start is None or end > start.at + windows.ROUND_TRIP_MS:
        return False
    stopped = (e.at or 0 for stop in timeline.stops.of(absence.participant) for e in stop.events)
    return all(at <= start.at for at in stopped)


def _went_down(timeline: Timeline, absence: Absence) -> bool:
    """True if its process ended rather than paused: it was restarted, or never used its old id again."""
    if absence.stop is not None and not is_static(timeline, absence):
        return False
    if absence.participant.has_log:
        return absence.start is not None
    early = absence.back_at is not None and absence.back_at < absence.at
    return early or is_static(timeline, absence) or absence.vanished


def _is_back(absence: Absence) -> bool:
    return absence.start is not None or (bool(absence.arrivals) and not absence.participant.has_log)


def _is_anonymous(arrival: Arrival) -> bool:
    participant = arrival.participant
    return participant.kind == "instance" or participant.has_namesakes or is_bare_member_id(arrival.member or "")


def _alternating(timeline: Timeline, moves: Iterable[Absence | Arrival]) -> Iterator[Restart]:
    """Pairs of a departure and an arrival that alternate, at any pace."""
    # A new pod is ready before the next old one is stopped.
    waiting: Absence | Arrival | None = None
    for move in sorted(moves, key=lambda move: move.at):
        match waiting, move:
            case (Absence() as absence, Arrival() as newcomer) | (Arrival() as newcomer, Absence() as absence) if (
                _in_one_deployment(absence, newcomer) and _may_succeed(timeline, absence, newcomer)
            ):
                yield Restart(absence, newcomer.at, (newcomer,), "deployed")
                waiting = None
            case _:
                waiting = move


def _unreturned(timeline: Timeline) -> list[Absence]:
    died = [a for a in losses(timeline) if not is_static(timeline, a) and a.stop is None]
    absences = {a.departures[0].id: a for a in (*died, *closings(timeline)) if a.back_at is None}
    return sorted(absences.values(), key=lambda a: a.at)


def _may_succeed(timeline: Timeline, absence: Absence, newcomer: Arrival) -> bool:
    """True if the newcomer joined after the former member did, and is still a member."""
    former = absence.participant
    own = timeline.arrivals.of(former).first(0)
    if newcomer.participant is former or (own is not None and own.at >= newcomer.at):
        return False
    return not has_left_by(timeline, newcomer, absence.at)


def _in_one_deployment(absence: Absence, newcomer: Arrival) -> bool:
    old, new = _deployment_of(absence.participant.name), _deployment_of(newcomer.participant.name)
    return old is None or new is None or old == new


@lru_cache(maxsize=4096)
def _deployment_of(name: str) -> str | None:
    """The leading word that all names of one deployment share; None for generated ids."""
    word = _DEPLOYMENT.match(name)
    if word is None or is_bare_member_id(name) or _RANDOM.fullmatch(_BETWEEN.split(name, 1)[0]):
        return None
    return word[0].lower()
