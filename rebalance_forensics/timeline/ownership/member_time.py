"""Unread time from coordinators' logs alone: per member, and for the group while no assignment is in effect.

Coordinators name no partitions at INFO, so this counts members. The partitions of a member were unread from the time it
could no longer read until the assignment of a generation without it, or with it again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import attrgetter

from rebalance_forensics.events.rebalances import AssignmentReceived
from rebalance_forensics.timeline.facts import Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.model import WhyUnread
from rebalance_forensics.timeline.ownership.losses import client_of, loss_of
from rebalance_forensics.timeline.time_index import IntervalIndex, TimeIndex
from rebalance_forensics.timeline.timeouts import LEAST_SESSION, shown_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ROUND_TRIP_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpan:
    """A span in which the partitions of a former owner had no reader; `ended_at` is None without a later assignment.

    `at_least`: it may have started earlier, if the reason or the timeout is unknown, or lasted longer, until the
    members that took over had reconciled (KIP-848, not logged).
    """

    member: str
    started_at: int
    ended_at: int | None
    client_id: str | None
    why: WhyUnread
    at_least: bool
    missed_at: int
    """When the coordinator removed it."""
    from_earliest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoneInForce:
    """A span without an assignment: from the start of a rebalance to its assignment or to the next rebalance.

    Since `all_stopped_at`, no eager member had partitions, because all had rejoined; None if the join did not complete.
    """

    rebalance: str
    """The id of the rebalance."""
    started_at: int
    ended_at: int | None
    all_stopped_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTime:
    """The unread spans of members, oldest first, and the spans without an assignment by rebalance id.

    `until` is the end of the logs. `sizes` contains the time of each assignment with its number of members.
    """

    spans: IntervalIndex[MemberSpan]
    none_in_force: Mapping[str, NoneInForce]
    until: int = 0
    sizes: tuple[tuple[int, int], ...] = ()
    _small: dict[int, list[tuple[int, int]]] = field(default_factory=dict, repr=False, compare=False)

    def size_before(self, at: int) -> int | None:
        """The number of members of the assignment just before `at`; None if no coordinator logged it."""
        place = bisect_left(self.sizes, (at, 0))
        return self.sizes[place - 1][1] if place else None

    def with_at_most(self, members: int, begin: int, end: int) -> Sequence[tuple[int, int]]:
        """The spans between two times in which the current assignment had at most that many members."""
        # Cached by the number of members, which is the same for many incidents of a group.
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


@cached_answer
def member_time_of(timeline: Timeline) -> MemberTime:
    """The unread time of a group by the lines of its coordinators."""
    has_log, classic = timeline.has_coordinator_log, timeline.mode != "server-side"
    absences = sorted(_absences(timeline) if has_log else (), key=attrgetter("started_at", "member"))
    spans = IntervalIndex(absences, attrgetter("started_at"), attrgetter("ended_at"))
    if not has_log:
        return MemberTime(spans=spans, none_in_force={})
    return MemberTime(
        spans=spans,
        none_in_force={interval.rebalance: interval for interval in _without_assignment(timeline)} if classic else {},
        until=max(timeline.coverage.end, timeline.last),
        sizes=tuple(sorted(_sizes(timeline))),
    )


def _absences(timeline: Timeline) -> Iterator[MemberSpan]:
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
        absence = _absence(timeline, departure, in_force.first(departure.at + 1), least)
        if timeline.coverage.is_excerpt and not _is_next(timeline, departure, absence.ended_at):
            # An excerpt may lack the assignment that ended it; only the time until the removal is certain.
            absence = replace(absence, ended_at=departure.at, at_least=True)
        over[who] = absence.ended_at
        yield absence if absence.started_at >= before else replace(absence, started_at=before)


def _absence(timeline: Timeline, departure: Departure, assigned: int | None, least_session: int) -> MemberSpan:
    loss = loss_of(timeline, departure)
    expired = not loss.bounded and departure.why == "session-expired"
    return MemberSpan(
        member=departure.participant.name,
        started_at=departure.at - least_session if expired else loss.at,
        ended_at=assigned,
        client_id=client_of(timeline, departure) or departure.participant.name,
        why=loss.why or "unknown",
        at_least=not loss.bounded or loss.why == "unknown" or timeline.mode == "server-side",
        missed_at=departure.at,
        from_earliest=loss.earliest,
    )


def _is_next(timeline: Timeline, departure: Departure, assigned: int | None) -> bool:
    """True if `assigned` is the assignment of the rebalance that the departure caused."""
    begun = timeline.rebalances.between(departure.at - ROUND_TRIP_MS, departure.at + ROUND_TRIP_MS)
    caused = {rebalance.id for rebalance in begun}
    times = (at for rebalance, at in _assignments(timeline) if rebalance.id in caused)
    return assigned is not None and assigned in times


def _had_an_assignment(timeline: Timeline, departure: Departure, in_force: TimeIndex[int]) -> bool:
    """True if a generation got its assignment between the member's last arrival and its departure."""
    came = timeline.arrivals.of(departure.participant).last(departure.at)
    return came is None or in_force.any_between(came.at, departure.at)


def _in_force(timeline: Timeline) -> Iterator[int]:
    """The times of assignments; for KIP-848, the time of the epoch, before members reconcile."""
    empty = _empty_generations(timeline)
    for rebalance, at in _assignments(timeline):
        if timeline.mode == "server-side" and rebalance.generation not in empty:
            yield rebalance.started_at
        elif at is not None:
            yield at


@cached_answer
def _assignments(timeline: Timeline) -> Sequence[tuple[Rebalance, int | None]]:
    """Each rebalance with the time of its assignment; None if it had no assignment."""
    printed = bool(timeline.group_events.of_type(AssignmentReceived))
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
    """The span from each rebalance to its assignment or the next rebalance, once the group had an assignment."""
    joined: int | None = None
    was_assigned = False
    rebalances = _assignments(timeline)
    for (rebalance, assigned), following in zip_longest(rebalances, rebalances[1:]):
        joined = joined if joined is not None else rebalance.stabilized_at
        end = assigned if assigned is not None or following is None else following[0].started_at
        if was_assigned:
            since = rebalance.started_at
            end = None if end is None else max(end, since)
            yield NoneInForce(rebalance=rebalance.id, started_at=since, ended_at=end, all_stopped_at=joined)
        if assigned is not None:
            was_assigned, joined = True, None


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
    counted = timeline.membership.sizes
    for rebalance, at in _assignments(timeline):
        size = counted.get(rebalance.generation)
        if at is not None and size:
            yield at, size
