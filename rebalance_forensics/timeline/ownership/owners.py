"""The readers of each partition over time, and its unread spans.

Sources, best first: lines of the owners; the assignment that the leader logs; the assignments of Streams and Connect;
the current assignments that a KIP-848 coordinator logs. Classic brokers name no partitions, so their logs alone are not
enough. A member that was evicted, or did not call poll(), stopped reading before the group noticed: its partitions are
unread from that time on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import broker_name, topic_of
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.join_barriers import LateJoin, late_joins
from rebalance_forensics.timeline.model import Generation, PartitionLeader, ReadSpan, UnreadSpan, WhyUnread
from rebalance_forensics.timeline.ownership.ledger import Consumers, Loss, Owner, PartitionReading
from rebalance_forensics.timeline.ownership.replay import OwnershipReplay, dropped, unit_of
from rebalance_forensics.timeline.time_index import IntervalIndex, TimeIndex, grouped, lists_by_key, united
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS, SHORTEST_UNREAD_MS

S = TypeVar("S", UnreadSpan, "UnknownSpan")
LateJoins = Mapping[Participant, Sequence[LateJoin]]


class Ownership(Struct, frozen=True, kw_only=True):
    """The unread spans of each partition, oldest first, the unknown spans, and the read spans."""

    spans: IntervalIndex[UnreadSpan] = field(default_factory=lambda: _index(()))
    unknown: IntervalIndex[UnknownSpan] = field(default_factory=lambda: _index(()))
    """The spans in which the logs do not show whether a partition was read."""
    until: int = 0
    """The end of the logs."""
    partitions: frozenset[str] = frozenset()
    """The partitions with a known owner."""
    while_read: tuple[tuple[int, int], ...] = ()
    """The disjoint spans in which at least one partition was read."""
    partial: tuple[tuple[int, int], ...] = ()
    """The spans in which members without a log may have owned partitions that no line names."""
    presumed_whole: bool = False
    """True if every member that a line names has a log, although no line proves that there are no others."""
    read: tuple[ReadSpan, ...] = ()
    """The partitions that each member read, oldest first."""

    def stopped_ms(self, begin: int, end: int) -> int | None:
        """The time in ms between two times in which no partition of the group was read; None if that is unknown."""
        if not self.while_read or not self.whole_between(begin, end):
            return None
        begin, end = max(begin, self.while_read[0][0]), min(end, self.until)
        place = max(bisect_left(self.while_read, (begin, begin)) - 1, 0)
        read = 0
        for since, until in islice(self.while_read, place, None):
            if since >= end:
                break
            read += max(0, min(until, end) - max(since, begin))
        return max(0, end - begin - read)

    def whole_between(self, begin: int, end: int) -> bool:
        """True if the owners of all partitions are known throughout the span."""
        return not any(since < end and begin < until for since, until in self.partial)

    def known_between(self, begin: int, end: int) -> bool:
        """True if at least one reading is known at or before `end`, and the logs extend to `begin`."""
        first = self.while_read[0][0] if self.while_read else None
        return first is not None and first <= end and begin <= self.until


@cached_answer
def ownership_of(timeline: Timeline) -> Ownership:
    """The ownership of a group's partitions."""
    unit = unit_of(timeline)
    if not unit:
        return Ownership()
    end = max(timeline.coverage.end, timeline.last)
    consumers = Consumers(timeline, timeline.group_events.of_type(*unit))
    ledger = OwnershipReplay(timeline, unit, consumers).run()
    late = late_joins(timeline) if timeline.mode == "eager" else {}  # a cooperative member reads while it rejoins
    reporting, printed = frozenset(consumers.reporting), _printed_generations(timeline)
    unprinted = TimeIndex([r for r in timeline.rebalances if r.generation not in printed], attrgetter("started_at"))
    ends = ((owner, _known_until(timeline, reporting, unprinted, owner)) for owner in ledger.owned)
    ends_by_owner = {owner: until for owner, until in ends if until is not None}
    knowledge = _knowledge_of(timeline, consumers)
    found = [
        part
        for reading in (*ledger.readings, *ledger.still_read(ends_by_owner, end))
        for part in _while_polling(late, reading)
    ]
    readings = sorted(found, key=lambda r: (r.begin, r.partition, r.client))
    gaps = [*_gaps(readings, Gaps(timeline, knowledge, end))]
    return Ownership(
        spans=_index(gap for gap in gaps if isinstance(gap, UnreadSpan)),
        unknown=_index(gap for gap in gaps if isinstance(gap, UnknownSpan)),
        until=end,
        partitions=frozenset(reading.partition for reading in readings),
        while_read=tuple(united((reading.begin, reading.end) for reading in readings)),
        partial=tuple(knowledge.partial(end)) if readings else (),
        presumed_whole=knowledge.nobody_else,
        read=tuple(_read(readings)),
    )


def leaders_of(timeline: Timeline) -> tuple[PartitionLeader, ...]:
    """The partition leaders that the group's members fetched from, in time order."""
    partitions, last, found = ownership_of(timeline).partitions, dict[str, int](), list[PartitionLeader]()
    for event in timeline.of(ev.FetchPositionSet):
        if event.partition in partitions and event.at is not None and last.get(event.partition) != event.node:
            last[event.partition] = event.node
            found.append(PartitionLeader(partition=event.partition, broker=broker_name(event.node), at=event.at))
    return tuple(found)


def _known_until(
    timeline: Timeline, reporting: Collection[Owner], unprinted: TimeIndex[Rebalance], owner: Owner
) -> int | None:
    # The first rebalance after an owner's log ended: until then it kept its partitions, since a live member would log
    # that it rejoins. None if there was no such rebalance, if the leader logged the owner's assignment, and for
    # KIP-848, where a member whose assignment does not change logs nothing.
    over = timeline.coverage.ends(owner[0]) if owner in reporting and timeline.mode != "server-side" else None
    later = unprinted.first(over + 1) if over is not None else None
    return later.started_at if later is not None else None


def _while_polling(late: LateJoins, reading: PartitionReading) -> Iterator[PartitionReading]:
    # A reading without the times in which its owner held up a join barrier: it did not call poll() then.
    begin = reading.begin
    for join in late.get(reading.owner[0], ()):
        since = join.rebalance.started_at
        if begin < since < reading.end:
            yield replace(reading, begin=begin, loss=Loss(at=since, why="stuck", certain=False, earliest=begin))
            begin = min(join.joined_at, reading.end)
    if begin < reading.end or begin == reading.begin:
        yield replace(reading, begin=begin)


def _gaps(readings: Sequence[PartitionReading], gaps: Gaps) -> Iterator[UnreadSpan | UnknownSpan]:
    by_partition = sorted(readings, key=attrgetter("partition"))
    together = groupby(by_partition, key=attrgetter("partition"))
    found = [gap for _, of_partition in together for gap in gaps.between([*of_partition])]
    yield from sorted(found, key=lambda gap: (gap.started_at, gap.partition))


def _index(spans: Iterable[S]) -> IntervalIndex[S]:
    return IntervalIndex(spans, attrgetter("started_at"), attrgetter("ended_at"))


def _read(readings: Sequence[PartitionReading]) -> Iterator[ReadSpan]:
    """The read spans: partitions that a member read from the same time to the same time are combined."""
    spans = (((r.begin, None if r.loss.why is None else r.end, r.owner[0].name), r.partition) for r in readings)
    for (begin, end, member), partitions in lists_by_key(spans).items():
        yield ReadSpan(partitions=tuple(partitions), member=member, started_at=begin, ended_at=end)


class Knowledge(Struct, frozen=True):
    """The times since when the current assignment is completely known, or no longer is."""

    changes: tuple[tuple[int, bool], ...]
    """The time of each generation's assignment and whether all of it is known; oldest first."""
    nobody_else: bool = False
    """True if every member that a line names has a log, although no line proves that there are no others. A partition
    that moves between two of them, or returns to the same one, is then assumed to have had no third owner."""

    def complete_at(self, at: int) -> bool:
        """True if the current assignment at that time is completely known."""
        place = bisect_right(self.changes, (at, True))
        return self.changes[place - 1][1] if place else self._first

    def lost_between(self, begin: int, end: int) -> int | None:
        """The first time between `begin` and `end` when a member without a log may have been assigned partitions."""
        for place in range(bisect_right(self.changes, (begin, True)), len(self.changes)):
            at, whole = self.changes[place]
            if at >= end:
                break
            if not whole:
                return at
        return None

    def partial(self, end: int) -> Iterator[tuple[int, int]]:
        """The spans in which a part of the assignment is unknown."""
        since = None if self._first else 0
        for at, whole in (*self.changes, (end, True)):
            if whole and since is not None:
                yield since, at
                since = None
            elif not whole and since is None:
                since = at

    @property
    def _first(self) -> bool:
        return self.changes[0][1] if self.changes else True


# A partition without a known owner is unread only if all owners are known: the assignment of a generation is complete
# if its leader logged it, or if as many members log their partitions as the coordinator counted.
def _knowledge_of(timeline: Timeline, consumers: Consumers) -> Knowledge:
    """Whether each generation's assignment is completely known, by the owners that log their partitions."""
    owners = consumers.reporting
    if timeline.mode == "server-side":
        # KIP-848 epochs have no member count: every known member has to log its assignment.
        all_report = {participant for participant, _ in owners}.issuperset(timeline.membership.members)
        return Knowledge(((0, all_report and timeline.has_coordinator_log),), nobody_else=all_report)
    printed = _printed_generations(timeline)
    counted = timeline.membership.sizes
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
        # A log that ended earlier does not show the assignment of its member.
        heard = [owner for owner in owners if consumers.reports_at(owner, at)]
        known.append((at, size is not None and _reporting_members(timeline, members.get(number or 0), heard) >= size))
    return Knowledge(tuple(sorted(known)))


def _reporting_members(timeline: Timeline, generation: Generation | None, owners: Collection[Owner]) -> int:
    # The number of members of a generation that log their assignment; each stream thread is a member.
    clients = {client for _, client in owners}
    alone = {participant for participant, _ in owners if participant.kind != "instance"}
    members = generation.members if generation is not None else ()
    return sum(m.client_id in clients or timeline.participants.of_member(m.member_id or "") in alone for m in members)


def _printed_generations(timeline: Timeline) -> frozenset[int | None]:
    """The generations whose assignment the leader logged."""
    computed = timeline.group_events.of_type(ev.AssignmentComputed)
    return frozenset(e.generation for e in computed if e.assignment)


_GIVEN_BACK = frozenset({"revoked", "unknown"})


class UnknownSpan(Struct, frozen=True):
    """A span in which the logs do not show whether a partition was read; `ended_at` is None at the end of the logs."""

    partition: str
    started_at: int
    ended_at: int | None


class Gaps:
    """Classifies the gaps between the readings of a partition."""

    def __init__(self, timeline: Timeline, knowledge: Knowledge, end: int) -> None:
        self._knowledge = knowledge
        self._end = end
        self._hands_on_unseen = timeline.mode == "server-side"
        self._failures: TimeIndex[Event] = TimeIndex(
            timeline.group_events.of_type(ev.AssignmentFailed, ev.AssignmentNotStored, ev.SyncFailed), time_of
        )
        self._in_force = TimeIndex((r.completed_at for r in timeline.rebalances if r.completed_at is not None), int)
        deleted = (event for event in timeline.of(ev.TopicChanged) if event.change == "deleted")
        self._deleted = grouped(deleted, attrgetter("topic"))
        self._configured = TimeIndex(timeline.group_events.of_type(ev.ConnectorConfigChanged), time_of)

    def between(self, readings: Sequence[PartitionReading]) -> Iterator[UnreadSpan | UnknownSpan]:
        """The gaps of a partition; `readings` are ordered by their start."""
        for reading in readings:
            if not reading.loss.bounded:  # without a timeout nothing bounds how early the member had stopped reading
                begin = reading.begin if reading.loss.earliest is None else reading.loss.earliest
                yield UnknownSpan(reading.partition, begin, max(begin, reading.end))
        latest = readings[0]
        for reading in readings[1:]:
            if reading.begin - latest.end > SHORTEST_UNREAD_MS:
                yield from self._gap(latest, reading.begin)
            if reading.end > latest.end:
                latest = reading
        if latest.loss.why is not None and self._end - latest.end > SHORTEST_UNREAD_MS:
            yield from self._gap(latest, None)
        elif latest.loss.why == "dead":
            yield UnknownSpan(latest.partition, latest.end, None)

    def _gap(self, before: PartitionReading, until: int | None) -> Iterator[UnreadSpan | UnknownSpan]:
        begin, name = before.end, before.partition
        vanished_at = self._removed_at(name, begin, until)
        if vanished_at is not None:
            if vanished_at - begin > SHORTEST_UNREAD_MS:
                yield self._span(before, vanished_at, latest=vanished_at)
            return
        since = self._unknown_from(before, until)
        if since is None or (until is not None and until - since <= ROUND_TRIP_MS):
            yield self._span(before, until, latest=until)
            return
        if since - begin > SHORTEST_UNREAD_MS:
            yield self._span(before, since, latest=until)
        yield UnknownSpan(name, since, until)

    def _unknown_from(self, before: PartitionReading, until: int | None) -> int | None:
        """The time since when a member without a log may have owned the partition; None if none can have owned it."""
        if before.loss.why == "unknown" and before.loss.missed_at is None:
            return before.end
        if self._knowledge.nobody_else and until is not None:
            return None
        end = until if until is not None else self._end
        handed_on = self._knowledge.lost_between(before.end, end)
        # A coordinator that assigns partitions itself (KIP-848) reassigns revoked partitions without a new generation.
        kept_back = before.loss.why == "revoked" and not self._hands_on_unseen
        if handed_on is not None or self._knowledge.complete_at(before.end) or kept_back:
            return handed_on
        return max(before.end, before.loss.missed_at or before.end)

    def _removed_at(self, partition: str, begin: int, until: int | None) -> int | None:
        """When the partition or task was removed within a gap: topic or connector deleted, or fewer tasks."""
        end = until if until is not None else self._end
        for event in self._deleted.get(topic_of(partition), ()):
            if begin <= time_of(event) < end:
                return time_of(event)
        if until is None:
            changes = self._configured.between(begin - ROUND_TRIP_MS, end)
            return next((max(begin, time_of(e)) for e in changes if dropped(e, partition)), None)
        return None

    def _span(self, before: PartitionReading, until: int | None, *, latest: int | None) -> UnreadSpan:
        presumed = self._knowledge.nobody_else and not self._knowledge.complete_at(before.end)
        certain = until == latest and not presumed
        return UnreadSpan(
            partition=before.partition,
            started_at=before.end,
            ended_at=until,
            client_id=before.client,
            why=self._why(before, until),
            certain=certain and before.loss.certain,
            from_earliest=before.loss.earliest,
            to_latest=latest,
            missed_at=before.loss.missed_at,
        )

    def _why(self, before: PartitionReading, until: int | None) -> WhyUnread:
        """The reason of a gap: the end of the reading, or a later assignment that failed or lacks this partition."""
        end, why = until if until is not None else self._end, before.loss.why or "unknown"
        if why not in _GIVEN_BACK:
            return why
        if self._failures.any_between(before.end, end):
            return "assignment-failed"
        given = self._in_force.first(before.end + 1)
        left_out = given is not None and end - given > ROUND_TRIP_MS and self._knowledge.complete_at(given)
        return "unassigned" if left_out else why
