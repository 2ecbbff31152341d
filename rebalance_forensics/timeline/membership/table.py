"""The membership table of a group: every transition of its members, and who is in, how many, who left last."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple, TypeVar

from rebalance_forensics.events.rebalances import AssignmentReceived, GenerationStabilized, GroupEmptied, JoinSucceeded
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, StaticReturn, Transition, amend
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.time_index import TimeIndex

T = TypeVar("T", bound=Transition)


class Count(NamedTuple):
    """A coordinator's count of the members of a new generation, and its line."""

    at: int
    members: int
    line: GenerationStabilized


class MembershipTable:
    """The transitions of a group's members, oldest first, complete once the replay and its revision are over."""

    def __init__(self, participants: Participants, transitions: Iterable[Transition], lines: EventIndex) -> None:
        self.participants = participants
        self.transitions = TimeIndex(transitions)
        self.departures = self._of_kind(Departure, "departure")
        self.arrivals = self._of_kind(Arrival, "arrival")
        self.returns = self._of_kind(StaticReturn, "return")
        self._lines = lines
        # A member that asked to rejoin and gave up before it was admitted is in no list, but its departure refers to
        # it.
        for departure in self.departures:
            if departure.returned is not None and not departure.returned.id:
                amend(departure.returned, id=f"{departure.id}-returned")

    def _of_kind(self, kind: type[T], name: str) -> TimeIndex[T]:
        found = [transition for transition in self.transitions if isinstance(transition, kind)]
        for number, transition in enumerate(found, 1):
            amend(transition, id=f"{name}-{number}")
        return TimeIndex(found, attrgetter("at"), ordered=True)

    @cached_property
    def members(self) -> list[Participant]:
        """The participants that were members at any time, in the order in which the logs show them."""
        known = {transition.participant for transition in self.transitions}
        return [participant for participant in self.participants.everybody if participant in known]

    def is_in(self, participant: Participant, at: int) -> bool:
        """True if the participant is a member at that time, as far as the logs show it.

        A Streams instance is in with any of its threads. Before the first line that shows it, a member that left, or
        that was in without a logged arrival, is taken to have been in.
        """
        moves_so_far = ((moves, moves.last(at)) for moves in self._by_client.get(participant, ()))
        return any(moves[0].before != "out" if last is None else last.after == "in" for moves, last in moves_so_far)

    def members_at(self, at: int, within_ms: int = 0) -> list[Participant]:
        """The participants that are in at a time, and `within_ms` before and after it."""
        times = {at - within_ms, at + within_ms}
        return [member for member in self.members if all(self.is_in(member, time) for time in times)]

    def size_at(self, at: int) -> int:
        """The number of participants that are in at a time, or that the last generation counted, if those are more."""
        return max(self.number_at(at), self.counted_before(at + 1))

    def number_at(self, at: int) -> int:
        """The number of participants that are in at a time, as far as the logs show them."""
        times, sizes = self._sizes_over_time
        return sizes[bisect_right(times, at)]

    def counted_before(self, at: int) -> int:
        """The size of the last generation before, by the coordinator's count; 0 if unknown."""
        # A coordinator counts threads, not instances, of a Streams application.
        last = self.counts.last(at) if self.participants.kind == "consumer" else None
        return last.members if last is not None else 0

    def is_unknown_at(self, at: int) -> bool:
        """True if no line up to that time, and no later departure, shows a member: all may have joined unseen."""
        first = self.transitions.first(0)
        return first is None or (first.at > at and self._all_arrive)

    def final_departure(self, participant: Participant) -> Departure | None:
        """The participant's last departure, if it did not come back."""
        if any(moves[-1].after == "in" for moves in self._by_client.get(participant, ())):
            return None
        return next(iter(self.departures.of(participant)[-1:]), None)

    @cached_property
    def all_left_at(self) -> int | None:
        """When the last member left for good; None while one remains."""
        departures = [self.final_departure(participant) for participant in self.members]
        return max((left.at for left in departures if left is not None), default=0) if all(departures) else None

    @cached_property
    def sizes(self) -> Mapping[int | None, int]:
        """Generation -> its number of members, as the coordinator or its leader counted them."""
        sizes: dict[int | None, int] = {}
        for event in self._lines.of_type(GenerationStabilized, AssignmentReceived, JoinSucceeded):
            assert isinstance(event, GenerationStabilized | AssignmentReceived | JoinSucceeded)
            if event.member_count is not None:
                sizes[event.generation] = max(event.member_count, sizes.get(event.generation, 0))
        return sizes

    @cached_property
    def counts(self) -> TimeIndex[Count]:
        """The members of each new generation as its coordinator counted them; from 2.4 on it prints their number."""
        created = self._lines.of_type(GenerationStabilized)
        counted = (Count(time_of(e), e.member_count, e) for e in created if e.member_count is not None)
        return TimeIndex(counted, ordered=True)

    def all_static_at(self, at: int) -> bool:
        """True if the generation nearest to that time has static members only, by the coordinator's count."""
        # From 2.7 on a coordinator counts each generation's static members; logs may begin after it named them.
        nearest = self._static_counts.last(at) or self._static_counts.first(at)
        return nearest is not None and nearest.static_count == nearest.member_count

    @cached_property
    def _static_counts(self) -> TimeIndex[AssignmentReceived]:
        received = self._lines.of_type(AssignmentReceived)
        return TimeIndex((e for e in received if e.member_count and e.static_count is not None), time_of, ordered=True)

    def formed_at_last(self, at: int) -> bool:
        """True if the last that the coordinator logs by then is a generation with members, not an empty group."""
        last = self._lines.of_type(GenerationStabilized, GroupEmptied).last(at)
        return isinstance(last, GenerationStabilized) and last.member_count != 0

    @cached_property
    def _sizes_over_time(self) -> tuple[list[int], list[int]]:
        """The times at which members came and left, and the number of members before the first and after each."""
        # Computed once: a storm of restarts asks for the size of the group again and again.
        steps: dict[int, int] = defaultdict(int)
        size = 0
        for clients in self._by_client.values():
            threads = sum(moves[0].before != "out" for moves in clients)
            size += threads > 0
            changes = [change for moves in clients for change in _changes(moves)]
            for at, change in changes if len(clients) == 1 else sorted(changes):
                steps[at] += (threads + change > 0) - (threads > 0)
                threads += change
        times = sorted(steps)
        return times, [*accumulate((steps[at] for at in times), initial=size)]

    @cached_property
    def _by_client(self) -> dict[Participant, list[TimeIndex[Transition]]]:
        moves = TimeIndex((m for m in self.transitions if not (isinstance(m, Departure) and m.stayed)), ordered=True)
        return {
            participant: [*of_participant.by(self._thread_of).values()]
            for participant, of_participant in moves.by(attrgetter("participant")).items()
        }

    def _thread_of(self, move: Transition) -> str | None:
        return self.participants.client_of(move.member or "") if move.participant.kind == "instance" else None

    @cached_property
    def _all_arrive(self) -> bool:
        return all(moves[0].before == "out" for of_client in self._by_client.values() for moves in of_client)


def _changes(moves: TimeIndex[Transition]) -> Iterator[tuple[int, int]]:
    """The times at which one client came, with 1, and left, with -1."""
    was_in = moves[0].before != "out"
    for move in moves:
        is_in = move.after == "in"
        if is_in != was_in:
            yield move.at, is_in - was_in
        was_in = is_in
