"""What coordinators alone tell: how long nobody read what a member had, and when no generation was in force.

They name no partition at INFO, so this is time of members and not of partitions. What a member had was unread from the
moment it could no longer read until a generation without it, or with it again, had its assignment.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import attrgetter

from rebalance_forensics.events.rebalances import AssignmentReceived
from rebalance_forensics.timeline.facts import Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.model import WhyUnread
from rebalance_forensics.timeline.ownership.knowledge import members_counted
from rebalance_forensics.timeline.ownership.losses import LossEstimator
from rebalance_forensics.timeline.time_index import IntervalIndex, TimeIndex
from rebalance_forensics.timeline.timeouts import LEAST_SESSION, shown_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ROUND_TRIP_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpan:
    """Nobody read what a member had; `ended_at` is None while no later generation has its assignment.

    `at_least`: it may have begun earlier, why it left or its timeout not being known, or lasted longer, until a member
    that tells nobody took over (KIP-848).
    """

    member: str
    started_at: int
    ended_at: int | None
    client_id: str | None
    why: WhyUnread
    at_least: bool
    missed_at: int
    """When the coordinator had lost it for certain."""
    from_earliest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoneInForce:
    """No assignment was in force: from the first word of a rebalance to an assignment, or to the next rebalance.

    From `all_stopped_at` on no eager member had partitions: all of them had joined again. None where nobody did.
    """

    rebalance: str
    """Its id."""
    started_at: int
    ended_at: int | None
    all_stopped_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTime:
    """Both, the spans oldest first and the rebalances by their ids; `until` is when the logs end.

    `sizes` says of each assignment when it came into force and how many members it was for, oldest first.
    """

    spans: IntervalIndex[MemberSpan]
    none_in_force: Mapping[str, NoneInForce]
    until: int = 0
    sizes: tuple[tuple[int, int], ...] = ()
    _small: dict[int, list[tuple[int, int]]] = field(default_factory=dict, repr=False, compare=False)

    def size_before(self, at: int) -> int | None:
        """How many members the assignment in force at a time was for; None where no coordinator counted."""
        place = bisect_left(self.sizes, (at, 0))
        return self.sizes[place - 1][1] if place else None

    def with_at_most(self, members: int, begin: int, end: int) -> Sequence[tuple[int, int]]:
        """While assignments for no more members than that were in force: stretches between two times, oldest first.

        Found once for each number of members, so that many incidents of one group cost no walk through it each.
        """
        if members not in self._small:
            self._small[members] = self._stretches(members)
        small = self._small[members]
        first = max(bisect_left(small, (begin, 0)) - 1, 0)
        found = ((max(a, begin), min(b, end)) for a, b in small[first : bisect_left(small, (end, 0))])
        return [(a, b) for a, b in found if a < b]

    def _stretches(self, members: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        ends = [at for at, _ in self.sizes[1:]]
        for (at, size), until in zip(self.sizes, [*ends, max([self.until, *ends]) + 1], strict=True):
            if size <= members:
                since = found.pop()[0] if found and found[-1][1] == at else at
                found.append((since, until))
        return found


def member_time_of(timeline: Timeline) -> MemberTime:
    """What the coordinator's lines tell of a group, worked out when it is first asked."""
    return timeline.cached(_member_time_of)


def _member_time_of(timeline: Timeline) -> MemberTime:
    if not timeline.has_coordinator_log:
        return MemberTime(spans=_spans(()), none_in_force={})
    classic = timeline.mode != "server-side"
    return MemberTime(
        spans=_spans(_absences(timeline)),
        none_in_force={interval.rebalance: interval for interval in _without_assignment(timeline)} if classic else {},
        until=max(timeline.coverage.end, timeline.last),
        sizes=tuple(sorted(_sizes(timeline))),
    )


def _absences(timeline: Timeline) -> Iterator[MemberSpan]:
    estimator = LossEstimator(timeline)
    in_force = TimeIndex(_in_force(timeline), int)
    least = shown_ms(timeline, LEAST_SESSION) or 0
    over: dict[Participant, int | None] = {}
    for departure in timeline.departures:
        who = departure.participant
        if departure.why == "vanished" or departure.stayed or not _had_an_assignment(timeline, departure, in_force):
            continue
        before = over.get(who, 0)
        if before is None or before > departure.at:
            continue
        absence = _absence(timeline, estimator, departure, in_force.first(departure.at + 1), least)
        if timeline.coverage.is_excerpt and not _is_next(timeline, departure, absence.ended_at):
            # Whoever picked the lines may have left out the assignment: it was missed until it went, that is sure.
            absence = replace(absence, ended_at=departure.at, at_least=True)
        over[who] = absence.ended_at
        yield absence if absence.started_at >= before else replace(absence, started_at=before)


def _absence(
    timeline: Timeline, estimator: LossEstimator, departure: Departure, assigned: int | None, least_session: int
) -> MemberSpan:
    client = timeline.participants.client_of(departure.member or "") or min(
        departure.participant.client_ids, default=""
    )
    loss = estimator.departed(departure, (departure.participant, client), departure.at)
    begin = loss.at
    if not loss.bounded and departure.why == "session-expired":
        begin = departure.at - least_session
    return MemberSpan(
        member=departure.participant.name,
        started_at=begin,
        ended_at=assigned,
        client_id=client or departure.participant.name,
        why=loss.why,
        at_least=not loss.bounded or loss.why == "unknown" or timeline.mode == "server-side",
        missed_at=departure.at,
        from_earliest=loss.earliest,
    )


def _is_next(timeline: Timeline, departure: Departure, assigned: int | None) -> bool:
    """Whether this is the assignment of the rebalance that the departure caused."""
    begun = timeline.rebalances.between(departure.at - ROUND_TRIP_MS, departure.at + ROUND_TRIP_MS)
    caused = {rebalance.id for rebalance in begun}
    return any(
        at == assigned and rebalance.id in caused for rebalance, at in timeline.cached(_assignments) if at is not None
    )


def _had_an_assignment(timeline: Timeline, departure: Departure, in_force: TimeIndex[int]) -> bool:
    """Whether a generation got its assignment between its last arrival and its departure."""
    came = timeline.arrivals.of(departure.participant).last(departure.at)
    if came is None:
        return True
    return in_force.any_between(came.at, departure.at)


def _in_force(timeline: Timeline) -> Iterator[int]:
    """When assignments came into force: under KIP-848 the epoch at once, and each member in its own time."""
    empty = _empty_generations(timeline)
    for rebalance, at in timeline.cached(_assignments):
        if timeline.mode == "server-side" and rebalance.generation not in empty:
            yield rebalance.started_at
        elif at is not None:
            yield at


def _assignments(timeline: Timeline) -> Sequence[tuple[Rebalance, int | None]]:
    """Each rebalance with the time at which its assignment came into force; None for those that gave none."""
    printed = bool(timeline.own.of_type(AssignmentReceived))
    empty = _empty_generations(timeline)
    rebalances = [*timeline.rebalances]
    lost = TimeIndex(request for request in timeline.requests if request.why == "assignment-not-stored")
    found = []
    for rebalance, following in zip_longest(rebalances, rebalances[1:]):
        at = rebalance.completed_at if printed else rebalance.completed_at or rebalance.stabilized_at
        until = following.started_at if following is not None else timeline.last
        not_stored = at is not None and lost.any_between(at, min(until, at + HEARTBEAT_MS))
        found.append((rebalance, None if rebalance.generation in empty or not_stored else at))
    return found


def _without_assignment(timeline: Timeline) -> Iterator[NoneInForce]:
    """Each rebalance until its assignment, or else until the next one; the first one of all took nothing back."""
    joined: int | None = None
    begun = False
    rebalances = timeline.cached(_assignments)
    for (rebalance, assigned), following in zip_longest(rebalances, rebalances[1:]):
        joined = joined if joined is not None else rebalance.stabilized_at
        end = assigned if assigned is not None or following is None else following[0].started_at
        if begun:
            since = rebalance.started_at
            end = None if end is None else max(end, since)
            yield NoneInForce(rebalance=rebalance.id, started_at=since, ended_at=end, all_stopped_at=joined)
        if assigned is not None:
            begun, joined = True, None


def _spans(found: Iterator[MemberSpan] | Sequence[MemberSpan]) -> IntervalIndex[MemberSpan]:
    ordered = sorted(found, key=attrgetter("started_at", "member"))
    return IntervalIndex(ordered, attrgetter("started_at"), attrgetter("ended_at"))


def _empty_generations(timeline: Timeline) -> frozenset[int | None]:
    return frozenset(generation.generation for generation in timeline.generations if generation.outcome == "empty")


def _sizes(timeline: Timeline) -> Iterator[tuple[int, int]]:
    if timeline.mode == "server-side":
        yield from (
            (generation.started_at, generation.size)
            for generation in timeline.generations
            if generation.started_at and generation.size
        )
        return
    counted = members_counted(timeline)
    for rebalance, at in timeline.cached(_assignments):
        size = counted.get(rebalance.generation)
        if at is not None and size:
            yield at, size
