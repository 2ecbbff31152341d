"""Restarts: a member went down and came back, or a new member replaced it.

A new member with a generated name, or with the client id of the same Connect task, replaces the member that left before
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median_low
from typing import Literal, TypeVar

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, lasts_a_session, only_listed
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings, ended_with_its_process
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals, shutdowns
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import (
    is_static,
    logs_from_before,
    losses,
    process_survived,
)
from rebalance_forensics.diagnosis.episodes.members.sink_tasks import starts_of_tasks, task_of
from rebalance_forensics.diagnosis.episodes.runs import walks
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.clients import logs_leave_group
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Fact, StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer, listed_once
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, grouped
from rebalance_forensics.timeline.timeouts import session_timeout_ms

T = TypeVar("T")
Fits = Callable[[Timeline, Absence, Arrival], bool]
Choice = Callable[[Absence], TimeIndex[Arrival]]
# Evidence of a return.
RETURNS = (StaticReturn, ev.JoinSucceeded)


class Return(Struct, frozen=True):
    """The return of a static member, and the fact that records it."""

    participant: Participant
    at: int
    events: tuple[Event, ...]
    fact: Fact | None


def static_returns(timeline: Timeline) -> list[list[Return]]:
    """Walks of static members that came back in time, by the coordinator's lines or a rejoin of the same generation."""
    fenced = {
        e.instance_id or e.speaker.instance_id
        for e in timeline.of(ev.StaticMemberFenced, ev.InstanceFenced)
        if isinstance(e, ev.StaticMemberFenced | ev.InstanceFenced)
    }
    returns = [Return(r.participant, r.at, tuple(r.events), r) for r in timeline.returns]
    found = [
        r for r in returns if fenced.isdisjoint(r.participant.instance_ids) and not _rejoined_after_refusal(timeline, r)
    ]
    logged = TimeIndex(found, lambda r: r.at)
    again = [r for r in _same_generation_again(timeline) if fenced.isdisjoint(r.participant.instance_ids)]
    found += [r for r in again if not _is_logged(logged, r)]
    found = [r for r in found if timeline.is_followed(r.participant, r.at)]
    return walks(found, lambda r: r.at, lambda r: r.participant)


def _rejoined_after_refusal(timeline: Timeline, returned: Return) -> bool:
    """True if the member rejoined in the same process after its requests had failed or timed out."""
    # If a client times out just as the join barrier ends, the JoinGroup response is lost. It joins again without a
    # member id and replaces the member id that it never received.
    joined = timeline.rebalances.last(returned.at)
    ended = None if joined is None else joined.stabilized_at
    if joined is not None and ended is not None and returned.at - windows.ROUND_TRIP_MS <= ended <= returned.at:
        came = timeline.arrivals.of(returned.participant).last(ended)
        if came is not None and came.at >= joined.started_at:
            return True
    since = returned.at - windows.ONE_REBALANCE_MS
    # A coordinator that was paused evicts its members when it resumes, before it learns that the group has moved.
    if any(d.stayed and since <= d.at <= returned.at for d in timeline.departures.of(returned.participant)):
        return True
    resets = timeline.events_from(returned.participant, ev.GenerationReset).between(since, returned.at)
    refused = [time_of(e) for e in resets if isinstance(e, ev.GenerationReset) and e.error is not None]
    return bool(refused) and not timeline.starts.of(returned.participant).any_between(refused[-1], returned.at)


def join_responses_of(timeline: Timeline, group: Sequence[Return]) -> list[Event]:
    """The JoinGroup response of each member nearest to its return, with the generation that the group already had."""
    found: list[Event] = []
    for each in group:
        joined = timeline.events_from(each.participant, ev.JoinSucceeded)
        near = joined.between(each.at - windows.REQUEST_TIMEOUT_MS, each.at + windows.REQUEST_TIMEOUT_MS)
        found += sorted(near, key=lambda e: abs(time_of(e) - each.at))[:1]
    return found


def former_may_still_run(timeline: Timeline, group: Sequence[Return]) -> bool:
    """True if no log shows that the former processes of these static members had stopped (KIP-345)."""
    # A coordinator log that continues for a session timeout would show that they are fenced or rejoin.
    would_show = timeline.has_coordinator_log and lasts_a_session(timeline, group[-1].at)
    return not would_show and not any(_has_former_process(timeline, r) for r in group)


def loads_before(timeline: Timeline, group: Sequence[Return]) -> tuple[Event, ...]:
    """The loads of the group by another coordinator just before these returns; empty if a log shows a new process."""
    if any(_has_former_process(timeline, r) for r in group):
        return ()
    loads = timeline.of(ev.GroupLoaded)
    near = [loads.between(r.at - windows.AT_ONCE_MS, r.at)[-1:] for r in group]
    return tuple(dict.fromkeys(load for of_return in near for load in of_return)) if all(near) else ()


def _has_former_process(timeline: Timeline, returned: Return) -> bool:
    """True if its log has lines of an earlier process of the member, not of others that write to the same file."""
    start = timeline.starts.of(returned.participant).last(returned.at)
    began = returned.at if start is None else start.at
    before = timeline.events_from(returned.participant, Event).between(0, began - 1)
    return any(e.group == timeline.group or e.speaker.client_id is not None for e in before)


def _is_logged(logged: TimeIndex[Return], rejoin: Return) -> bool:
    """True if the coordinator logs this return as well: a member does not come back twice within one rebalance."""
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
    """New processes of static members whose JoinGroup response has the generation that the group already had."""
    reached: dict[int, int] = {}
    for event in timeline.of(ev.JoinSucceeded):
        participant = timeline.participants.of_speaker(event)
        if participant is None or event.at is None:
            continue
        first = reached.setdefault(event.generation, event.at)
        start = timeline.starts.of(participant).last(event.at - 1)
        # A group that was deleted meanwhile begins with generation 1 again.
        unshown = (timeline.coverage.shown_since(event.at) or 0) > first
        restarted = start is not None and start.at > first and not unshown
        if participant.instance_ids and start is not None and restarted and event.at - first > windows.HEARTBEAT_MS:
            since = max(start.at, event.at - windows.REQUEST_TIMEOUT_MS)
            near = timeline.arrivals.of(participant).between(since, event.at + windows.REQUEST_TIMEOUT_MS)
            arrival = near[0] if near else None
            yield Return(participant, event.at, (event,), arrival)


# Minimum number of members of a walk by expired sessions: two may be two crashes rather than a deployment.
_ENOUGH_FOR_WALK = 3


class RestartWalk(Struct, frozen=True):
    """Restarts one after another.

    `everyone`: all members restarted. `new_names`: new members replaced them. `cut`: the logs show only part of the
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
        """The duration of the longest restart, in ms."""
        return max(0, *(r.up_at - r.absence.at for r in self.restarts))

    @property
    def took_ms(self) -> int:
        """Time from the first departure to the last return, in ms; new processes may start before old ones leave."""
        times = [t for r in self.restarts for t in (r.absence.at, r.up_at)]
        return max(times) - (min(times) if self.new_names else self.restarts[0].absence.at)

    @property
    def mostly_expired(self) -> bool:
        """True if only expired sessions show most restarts; a paused or disconnected member looks the same."""
        return 2 * sum(map(_expired_without_client_log, self.restarts)) > len(self.restarts)

    @property
    def mostly_listed(self) -> bool:
        """True if at least half of the restarts show only in the leader's lists of members."""
        moves = ((*r.absence.departures, *r.arrivals) for r in self.restarts)
        return 2 * sum(all(only_listed(move) for move in each) for each in moves) >= len(self.restarts)


@listed_once
def restart_walks(timeline: Timeline) -> Iterator[RestartWalk]:
    """Walks of restarts over at least two members and most of the group."""
    # A static member that is back in time causes no rebalance: its walks are in static_returns.
    if not timeline.departures:
        return
    in_time = {r.fact.id for group in static_returns(timeline) for r in group if r.fact is not None}
    clean = [r for r in restarts(timeline) if in_time.isdisjoint(a.id for a in r.arrivals)]
    clean = [r for r in clean if not exception_before(timeline, r.absence)]
    for walk in walks(clean, lambda r: r.absence.at, lambda r: r.by):
        for steps in map(_without_earlier_losses, _split_repeated_walk(_without_crashed(timeline, walk))):
            ahead = _started_ahead(timeline, steps)
            group = [*steps, *ahead]
            before = min(r.up_at for r in ahead) - 1 if ahead else None
            replaced, settled = tuple(_replaced(group)), _settled(timeline, group, before)
            most = 2 * len(replaced) > settled
            if _walks_over(timeline, group) and (most or _may_be_cut_off(timeline, group)):
                yield RestartWalk(tuple(group), replaced, everyone=len(replaced) >= settled, cut=not most)
    yield from _walks_under_new_names(timeline)
    yield from _walks_by_expiry(timeline, clean)


def _started_ahead(timeline: Timeline, group: list[Restart]) -> list[Restart]:
    """Restarts from pairs of namesakes: members that joined before a walk began, and as many that left after it.

    Empty if the numbers differ.
    """
    # A Kubernetes Deployment starts new pods before it stops old ones (maxSurge). With a common client id, each new
    # member is matched with the one that left before it, so the first to join and the last to leave remain unmatched.
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
    # An excerpt may leave out the members that stayed: then a second restart of a member is already a flap.
    most = len(participants) + 1 if timeline.coverage.is_excerpt else 2 * len(participants)
    enough = _ENOUGH_FOR_WALK if all(map(_expired_without_client_log, group)) else 2
    if all(_was_killed(timeline, r.absence) for r in group):
        enough = max(_ENOUGH_FOR_WALK, _settled(timeline, group))
    return enough <= len(participants) and len(group) < most and not _all_at_once(group)


def _settled(timeline: Timeline, group: list[Restart], before: int | None = None) -> int:
    """The size of the group before the walk."""
    return timeline.membership.size_at(group[0].absence.at - 1 if before is None else before)


def _walks_under_new_names(timeline: Timeline) -> Iterator[RestartWalk]:
    """Walks in which new members replace nearly all members in turn."""
    # Scaling keeps most members.
    clean = [r for r in replacements(timeline) if not exception_before(timeline, r.absence)]
    place_of = _places(clean)
    for walk in walks(clean, lambda r: r.absence.at, lambda r: place_of.get(r.by, r.by)):
        group = _without_crashed(timeline, walk)
        participants = _replaced(group)
        if len(participants) < 2:
            continue
        settled = _settled(timeline, group, min(min(r.up_at, r.absence.at) for r in group) - 1)
        by_turns = min(r.absence.at for r in group) < max(r.up_at for r in group) and not _all_at_once(group)
        most = 4 * len(participants) >= 3 * settled
        # Members that are replaced repeatedly are not part of one deployment.
        once = len(group) < 2 * len(participants)
        counts = timeline.membership.counts.between(group[0].absence.at, group[-1].up_at)
        places = max((count.members for count in counts), default=0)
        if (places and len(group) >= 2 * places) or not _replaced_at_one_pace(group):
            continue
        if by_turns and (most or (once and _may_be_cut_off(timeline, group))):
            everyone = len(participants) >= settled
            yield RestartWalk(tuple(group), tuple(participants), everyone=everyone, new_names=True, cut=not most)


def _places(replaced: Iterable[Restart]) -> Mapping[Participant, Participant]:
    """New member -> the first member whose place it took: a deployment restarts each place once."""
    found: dict[Participant, Participant] = {}
    for restart in replaced:
        for newcomer in restart.arrivals:
            found[newcomer.participant] = found.get(restart.by, restart.by)
    return found


def _replaced_at_one_pace(group: Sequence[Restart]) -> bool:
    """True if each new member joined within one step of a departure, or all of them about as long before it."""
    # New pods may warm up for minutes before the old ones stop. Groups that scale in and out also alternate, at random.
    # Compare in order, since a member may have been matched with the successor of the next one.
    downs, ups = sorted(r.absence.at for r in group), sorted(r.up_at for r in group)
    ahead = [down - up for down, up in zip(downs, ups, strict=True)]
    slowest = max(map(abs, ahead))
    return slowest <= windows.ONE_STEP_MS or (min(ahead) > 0 and slowest <= windows.ONE_PACE * median_low(ahead))


def _may_be_cut_off(timeline: Timeline, group: list[Restart]) -> bool:
    """True if the logs begin or end within one step of the walk, so that they may show only part of it."""
    steps = sorted(at for r in group for at in (r.absence.at, r.up_at))
    stride = max(later - earlier for earlier, later in pairwise(steps))
    begin = timeline.coverage.begin
    return begin is not None and (steps[0] - begin <= stride or timeline.coverage.end - steps[-1] <= stride)


def _walks_by_expiry(timeline: Timeline, clean: list[Restart]) -> Iterator[RestartWalk]:
    """Walks of members that each expire once and are back before the next member leaves."""
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


def _expired_without_client_log(restart: Restart) -> bool:
    """True if only the expired session of a member without a log shows that it was down before its client id joined."""
    # A process that was paused or cut off joins again with its client id and a new member id.
    absence, member = restart.absence, restart.by
    back = (a.participant for a in restart.arrivals)
    same = any(who is member or not member.client_ids.isdisjoint(who.client_ids) for who in back)
    return absence.whys == {"session-expired"} and same and restart.up_at >= absence.at and not member.has_log


def _was_killed(timeline: Timeline, absence: Absence) -> bool:
    """True if its log stops without a shutdown."""
    # A deployment lets processes close; one that kills processes does so for every member.
    participant = absence.participant
    silent = absence.whys == {"session-expired"}
    if absence.fell_silent and not silent:
        silent = absence.start is not None and logs_leave_group(timeline, participant)
    return participant.has_log and absence.stop is None and silent


def _without_crashed(timeline: Timeline, walk: list[Restart]) -> list[Restart]:
    """The walk without members that crashed."""
    # If the deployment lets processes close, a log without a shutdown shows a crash.
    if not any(r.absence.stop is not None for r in walk):
        return walk
    return [r for r in walk if not (_was_killed(timeline, r.absence) and logs_from_before(timeline, r.absence))]


def _may_have_closed_silently(timeline: Timeline, absence: Absence) -> bool:
    unknown = (
        absence.participant.kind == "instance" and not absence.participant.has_log and not is_static(timeline, absence)
    )
    back = absence.back_at is not None and absence.back_at >= absence.at
    return unknown and back and not process_survived(timeline, absence)


def _split_repeated_walk(run: list[Restart]) -> list[list[Restart]]:
    # Two successive deployments, as Streams' upgrade.from requires, restart the same members twice.
    half = len(run) // 2
    first, second = {r.by for r in run[:half]}, {r.by for r in run[half:]}
    twice = half >= _ENOUGH_FOR_WALK and len(run) % 2 == 0 and first == second and len(first) == half
    return [run[:half], run[half:]] if twice else [run]


def _without_earlier_losses(group: list[Restart]) -> list[Restart]:
    """The walk without earlier losses of members that it restarts later."""
    visits = Counter(r.by for r in group)
    for place, restart in enumerate(group):
        if visits[restart.by] == 1 or restart.absence.stop is not None or not restart.absence.fell_silent:
            return group[place:]
        visits[restart.by] -= 1
    return group


def _replaced(group: list[Restart]) -> list[Participant]:
    """The members that went down, without those that had joined only as a replacement in this walk."""
    found: dict[Participant, None] = {}
    came: set[Participant] = set()
    for restart in group:
        if restart.by not in came:
            found.setdefault(restart.by)
        came |= {a.participant for a in restart.arrivals}
    return list(found)


def _all_at_once(group: list[Restart]) -> bool:
    """True if all members left at once, before any or after all were up again, so that it is not a walk."""
    down, up = [r.absence.at for r in group], [r.up_at for r in group]
    apart = max(down) < min(up) or max(up) < min(down)
    return apart and max(down) - min(down) <= windows.AT_ONCE_MS


_RANDOM = re.compile(r"(?=.*\d)[0-9a-f]{7,}")
_SEPARATOR = re.compile(r"[-._]")
_DEPLOYMENT = re.compile(r"[^\W\d_]+")


How = Literal["own", "unnamed", "task", "deployed"]
"""The evidence of a replacement: `own`, the member's own return or process start; `unnamed`, a new member with a
generated name; `task`, the consumer of the same Connect task; `deployed`, a new member of the same deployment."""


@dataclass(slots=True, eq=False)
class Restart:
    """A participant that went down, and its own return or the new member that replaced it."""

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
    # A Java consumer logs its configuration when it is created (AbstractConfig), so a log that continues without that
    # belongs to the same process.
    return bool(absence.returned_with_its_id) or _log_has_one_start(timeline, absence)


def has_left_by(timeline: Timeline, newcomer: Arrival, at: int) -> bool:
    """True if the new member left again before `at`, when the member left that it might replace."""
    return timeline.departures.of(newcomer.participant).any_between(newcomer.at, at - windows.AT_ONCE_MS)


def successors(timeline: Timeline) -> dict[int, tuple[Arrival, ...]]:
    """id() of an absence -> the new member that replaces it, by a generated name or as the same Connect task."""
    silent = {id(a) for a in losses(timeline) if not is_static(timeline, a)}
    taken = (r for r in _places_taken(timeline) if r.how in ("unnamed", "task"))
    return {id(r.absence): r.arrivals for r in taken if id(r.absence) in silent}


@cached_answer
def restarts(timeline: Timeline) -> list[Restart]:
    """Every restart of a member: a close or clean stop and a return, or an expired session and a new process."""
    return [r for r in _places_taken(timeline) if r.how in ("own", "unnamed")]


@cached_answer
def replacements(timeline: Timeline) -> list[Restart]:
    """Each member that left for good and the new member of its deployment nearest in time, else the next in turn."""
    return [r for r in _places_taken(timeline) if r.how == "deployed"]


@cached_answer
def in_place_of_others(timeline: Timeline) -> frozenset[str]:
    """Ids of arrivals of new members that may have replaced members that left."""
    # Not if the whole group left: then a new group is formed.
    last = {d.id for group in shutdowns(timeline) for away in group for d in away.departures}
    succeeded = (*restarts(timeline), *replacements(timeline))
    return frozenset(a.id for r in succeeded if r.absence.departures[0].id not in last for a in r.arrivals)


@cached_answer
def _places_taken(timeline: Timeline) -> list[Restart]:
    """Each absence and its return or replacement, in time order; the most reliable evidence is matched first.

    No new member replaces two members.
    """
    if not timeline.departures:
        return []
    crashed = [a for a in losses(timeline) if _went_down(timeline, a) and _is_back(a)]
    downs = sorted([*(a for a in closings(timeline) if not same_process(timeline, a)), *crashed], key=lambda a: a.at)
    expired = (a for a in losses(timeline) if _is_evicted_for_good(a) and not process_survived(timeline, a))
    initial, unreturned = initial_arrivals(timeline), _unreturned(timeline)
    newcomers = [a for a in timeline.arrivals if a.first and a.id not in initial]
    # The log of a returned member would show its earlier membership.
    nameless = (a for a in newcomers if not a.participant.has_log or a.participant.has_one_process)
    found = [*_own_restarts(timeline, downs)]
    unnamed = _unmatched(found, [*downs, *expired])
    found += _nearest(timeline, unnamed, _unnamed_choice(_unmatched(found, nameless)), _may_follow, "unnamed")
    # A worker that was paused may continue a task that another worker has started meanwhile.
    lost = (a for a in losses(timeline) if a.back_at is None or task_of(a.participant) is not None)
    found += _nearest(timeline, lost, _same_task(timeline), _may_follow, "task")
    deployed = _same_deployment(_unmatched(found, newcomers))
    found += _nearest(timeline, _unmatched(found, unreturned), deployed, _may_succeed, "deployed")
    found += _alternating(timeline, _unmatched(found, [*unreturned, *newcomers]))
    return sorted(found, key=lambda r: r.absence.at)


def _unmatched(found: Iterable[Restart], moves: Iterable[T]) -> list[T]:
    """The absences and new members that are not part of these restarts."""
    known = {id(move) for restart in found for move in (restart.absence, *restart.arrivals)}
    return [move for move in moves if id(move) not in known]


def _is_evicted_for_good(absence: Absence) -> bool:
    """True if the coordinator evicted a member that has no log and did not come back."""
    return absence.fell_silent and not absence.participant.has_log and absence.back_at is None


def _unnamed_choice(newcomers: Iterable[Arrival]) -> Choice:
    """The choice of new members by generated name, of either the absent or the new member."""
    every = TimeIndex(newcomers)
    anonymous = TimeIndex(filter(_is_anonymous, every), ordered=True)
    # A KIP-848 member gets a real name when the group is converted back to the classic protocol.
    return lambda absence: every if is_bare_member_id(absence.departures[0].member or "") else anonymous


def _same_deployment(newcomers: Iterable[Arrival]) -> Choice:
    """The choice of new members whose name may belong to the same deployment."""
    every = TimeIndex(newcomers)
    by_word = grouped(every, lambda newcomer: _deployment_of(newcomer.participant.name))
    nameless = TimeIndex(by_word.get(None, ()), ordered=True)
    choices = {word: TimeIndex([*of_word, *nameless]) for word, of_word in by_word.items()}
    choices[None] = every
    return lambda absence: choices.get(_deployment_of(absence.participant.name), nameless)


def _same_task(timeline: Timeline) -> Choice:
    """The choice of consumers of the same Connect task, which another worker runs now."""
    starts = starts_of_tasks(timeline)
    return lambda absence: starts.get(task_of(absence.participant) or "", NOTHING)


def _may_follow(timeline: Timeline, absence: Absence, newcomer: Arrival) -> bool:
    """True if the new member's process may have started to replace the absent member."""
    # A running process needs no replacement, and an evicted one may have been dead for one session at most.
    dead_for = session_timeout_ms(timeline) + windows.NEXT_HEARTBEAT_MS
    if _is_evicted_for_good(absence) and newcomer.at < absence.at - dead_for:
        return False
    return not has_left_by(timeline, newcomer, absence.at)


def _own_restarts(timeline: Timeline, downs: Iterable[Absence]) -> Iterator[Restart]:
    for absence in downs:
        if absence.arrivals:
            yield Restart(absence, absence.arrivals[0].at, tuple(absence.arrivals))
        elif absence.start is not None and (timeline.coverage.is_excerpt or _log_ends_at_start(timeline, absence)):
            # The excerpt leaves out its return, or its log was collected before it joined.
            yield Restart(absence, absence.start.at, ())


def _nearest(
    timeline: Timeline, absences: Iterable[Absence], choice: Choice, fits: Fits, how: How
) -> Iterator[Restart]:
    """Each absence and the nearest new member of its choice that fits and does not replace another member."""
    used: set[str] = set()
    for absence in absences:
        near = (a for a in choice(absence).nearest(absence.at, windows.SUCCESSION_MS) if a.id not in used)
        others = (a for a in near if a.participant is not absence.participant)
        newcomer = next((a for a in others if fits(timeline, absence, a)), None)
        if newcomer is not None:
            used.add(newcomer.id)
            yield Restart(absence, newcomer.at, (newcomer,), how)


def _log_has_one_start(timeline: Timeline, absence: Absence) -> bool:
    """True if its log shows its start and reaches its return without a second start."""
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


def _log_ends_at_start(timeline: Timeline, absence: Absence) -> bool:
    end, start = timeline.coverage.ends(absence.participant), absence.start
    if end is None or start is None or end > start.at + windows.ROUND_TRIP_MS:
        return False
    stopped = (e.at or 0 for stop in timeline.stops.of(absence.participant) for e in stop.events)
    return all(at <= start.at for at in stopped)


def _went_down(timeline: Timeline, absence: Absence) -> bool:
    """True if its process ended rather than paused: it was restarted, or did not use its old id again."""
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
    """Restarts from pairs of a departure and an arrival that alternate, at any pace."""
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
    """True if the new member joined after the former member did and has not left again before it."""
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
    """The leading word that all names of a deployment share, in lower case; None for generated ids."""
    word = _DEPLOYMENT.match(name)
    if word is None or is_bare_member_id(name) or _RANDOM.fullmatch(_SEPARATOR.split(name, 1)[0]):
        return None
    return word[0].lower()
