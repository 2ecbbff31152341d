"""How complete the picture of a group's owners is: a partition without a known owner is unread only if it is complete.

The assignment of a generation is complete where its leader printed it, or where as many members log their own
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
    """The times from which the assignment in force is completely known, or no longer is."""

    changes: tuple[tuple[int, bool], ...]
    """For each generation when its assignment came and whether all of it is known; oldest first."""
    nobody_else: bool = False
    """Every member that any line names has a log, though none proves that there are no others. A partition that passes
    between two of them, or comes back to the same one, is then taken to have had no third owner."""

    def complete_at(self, at: int) -> bool:
        """True where the assignment in force at that time is completely known."""
        place = bisect_right(self.changes, (at, True))
        return self.changes[place - 1][1] if place else self._first

    def lost_between(self, begin: int, end: int) -> int | None:
        """The first time between `begin` and `end` at which a member without a log may have been assigned some."""
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
    """The completeness of each generation's assignment, by the owners that log their own."""
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
        # A log that ended earlier does not show what its member was assigned.
        heard = [owner for owner in owners if consumers.reports_at(owner, at)]
        known.append((at, size is not None and _reporting_members(timeline, members.get(number or 0), heard) >= size))
    return Knowledge(tuple(sorted(known)))


def _reporting_members(timeline: Timeline, generation: Generation | None, owners: Collection[Owner]) -> int:
    """The number of members of a generation that log their own assignment; each stream thread is a member."""
    clients = {client for _, client in owners}
    alone = {participant for participant, _ in owners if participant.kind != "instance"}
    members = generation.members if generation is not None else ()
    return sum(m.client_id in clients or timeline.participants.of_member(m.member_id or "") in alone for m in members)


def printed_generations(timeline: Timeline) -> frozenset[int | None]:
    """The generations whose assignment the leader printed."""
    computed = timeline.own.of_type(AssignmentComputed)
    return frozenset(e.generation for e in computed if e.assignment)


def members_counted(timeline: Timeline) -> Mapping[int | None, int]:
    """Generation -> number of members as the coordinator counted them."""
    sizes: dict[int | None, int] = {}
    for event in timeline.own.of_type(GenerationStabilized, AssignmentReceived):
        assert isinstance(event, GenerationStabilized | AssignmentReceived)
        if event.member_count is not None:
            sizes[event.generation] = event.member_count
    return sizes


def _every_member_reports(timeline: Timeline, owners: Collection[Owner]) -> bool:
    """True where every known member logs its assignment; KIP-848 epochs are not counted one by one."""
    reporting = {participant for participant, _ in owners}
    return all(participant in reporting for participant in timeline.members())
