"""Whether the logs tell of everybody who may own partitions: without that, one that nobody is known to have is unknown.

A generation is known as a whole where its leader printed the assignment, or where as many members tell their own
partitions as the coordinator counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from rebalance_forensics.events.rebalances import AssignmentComputed, AssignmentReceived, GenerationStabilized
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Generation
from rebalance_forensics.timeline.ownership.consumers import Consumers
from rebalance_forensics.timeline.ownership.readings import Owner


class Knowledge(Struct, frozen=True):
    """From which moments on everybody's partitions are known, and from which they are not."""

    changes: tuple[tuple[int, bool], ...]
    """When a generation got its assignment, and whether all of it is known; oldest first."""
    nobody_else: bool = False
    """No line names a member without a log, though none says that there is none: who gives up a partition and gets it
    back, or hands it to another that tells, leaves it to nobody in between."""

    def complete_at(self, at: int) -> bool:
        """Whether the assignment in force is known as a whole."""
        place = bisect_right(self.changes, (at, True))
        return self.changes[place - 1][1] if place else self._first

    def lost_between(self, begin: int, end: int) -> int | None:
        """When, after `begin` and before `end`, others may first have been given what nobody is known to have."""
        for place in range(bisect_right(self.changes, (begin, True)), len(self.changes)):
            at, whole = self.changes[place]
            if at >= end:
                break
            if not whole:
                return at
        return None

    def partial(self, end: int) -> Iterator[tuple[int, int]]:
        """The stretches in which a part of the assignment is unknown."""
        since = None if self._first else 0
        for at, whole in self.changes:
            if whole and since is not None:
                yield since, at
                since = None
            elif not whole and since is None:
                since = at
        if since is not None:
            yield since, end

    @property
    def _first(self) -> bool:
        return self.changes[0][1] if self.changes else True


def knowledge_of(timeline: Timeline, consumers: Consumers) -> Knowledge:
    """What is known of each generation, by what its members tell of their own partitions."""
    owners = consumers.reporting
    if timeline.mode == "server-side":
        all_report = _every_member_reports(timeline, owners)
        return Knowledge(((0, all_report and timeline.has_coordinator_log),), nobody_else=all_report)
    printed = printed_generations(timeline)
    counted = members_counted(timeline)
    members = {g.generation: g for g in timeline.generations}
    known = []
    for rebalance in timeline.rebalances:
        at, number = rebalance.completed_at, rebalance.generation
        if at is None:
            continue
        size = counted.get(number)
        if number in printed or size == 0:
            known.append((at, True))
            continue
        # A log that ended before does not tell what its member was given.
        heard = [owner for owner in owners if consumers.reports_at(owner, at)]
        known.append((at, size is not None and _reporting_members(timeline, members.get(number or 0), heard) >= size))
    return Knowledge(tuple(sorted(known)))


def _reporting_members(timeline: Timeline, generation: Generation | None, owners: Collection[Owner]) -> int:
    """How many members of a generation tell their own partitions; each thread of an instance is one of its own."""
    clients = {client for _, client in owners}
    alone = {participant for participant, _ in owners if participant.kind != "instance"}
    members = generation.members if generation is not None else ()
    return sum(m.client_id in clients or timeline.participants.of_member(m.member_id or "") in alone for m in members)


def printed_generations(timeline: Timeline) -> frozenset[int | None]:
    """Those whose assignment a leader printed."""
    computed = timeline.own.of_type(AssignmentComputed)
    return frozenset(e.generation for e in computed if e.assignment)


def members_counted(timeline: Timeline) -> Mapping[int | None, int]:
    """How many members the coordinator counted in each generation."""
    sizes: dict[int | None, int] = {}
    for event in timeline.own.of_type(GenerationStabilized, AssignmentReceived):
        assert isinstance(event, GenerationStabilized | AssignmentReceived)
        if event.member_count is not None:
            sizes[event.generation] = event.member_count
    return sizes


def _every_member_reports(timeline: Timeline, owners: Collection[Owner]) -> bool:
    """Epochs have no assignment of their own: either every member that anybody names has a log, or not."""
    reporting = {participant for participant, _ in owners}
    return all(participant in reporting for participant in timeline.members())
