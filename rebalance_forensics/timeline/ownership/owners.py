"""The readers of each partition over time, and the spans in which it had none.

Sources, best first: the owners' own lines; the leader's printed assignment; Streams' and Connect's own assignments; a
KIP-848 coordinator's current assignments. Classic brokers name no partition, so from their logs alone nothing follows.
A member that was evicted, or did not call poll(), stopped reading before the group noticed: its partitions are unread
from then on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.join_barriers import LateJoin, late_joins
from rebalance_forensics.timeline.model import ReadSpan, UnreadSpan
from rebalance_forensics.timeline.ownership.consumers import Consumers
from rebalance_forensics.timeline.ownership.knowledge import knowledge_of, printed_generations
from rebalance_forensics.timeline.ownership.losses import LossEstimator
from rebalance_forensics.timeline.ownership.readings import Owner, PartitionReading
from rebalance_forensics.timeline.ownership.replay import OwnershipReplay, unit_of
from rebalance_forensics.timeline.ownership.spans import Gaps, UnknownSpan
from rebalance_forensics.timeline.time_index import IntervalIndex, TimeIndex

LateJoins = Mapping[Participant, tuple[LateJoin, ...]]


class Ownership(Struct, frozen=True, kw_only=True):
    """The unread spans of each partition, oldest first, the spans that are unknown, and the readings."""

    spans: IntervalIndex[UnreadSpan] = field(default_factory=lambda: _unread_index(()))
    unknown: IntervalIndex[UnknownSpan] = field(default_factory=lambda: _unknown_index(()))
    """The spans in which the logs do not show whether a partition was read."""
    until: int = 0
    """When the logs end."""
    partitions: frozenset[str] = frozenset()
    """The partitions of which an owner is known."""
    while_read: tuple[tuple[int, int], ...] = ()
    """The disjoint stretches of time in which any partition was read."""
    partial: tuple[tuple[int, int], ...] = ()
    """The stretches in which members without a log may have owned partitions that nobody names."""
    presumed_whole: bool = False
    """Every member that any line names has a log, though no line proves that there are no others."""
    read: tuple[ReadSpan, ...] = ()
    """The partitions that each member read, oldest first."""

    def stopped_ms(self, begin: int, end: int) -> int | None:
        """For how many ms between two times no partition of the group was read; None where that is unknown."""
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
        """True where the owners of all partitions are known throughout."""
        return not any(since < end and begin < until for since, until in self.partial)

    def known_between(self, begin: int, end: int) -> bool:
        """True where at least one reading is known at or before `end`, and the logs reach to `begin`."""
        first = self.while_read[0][0] if self.while_read else None
        return first is not None and first <= end and begin <= self.until


def ownership_of(timeline: Timeline) -> Ownership:
    """The ownership of a group's partitions; computed once."""
    return timeline.cached(_ownership_of)


def _ownership_of(timeline: Timeline) -> Ownership:
    unit = unit_of(timeline)
    if not unit:
        return Ownership()
    end = max(timeline.coverage.end, timeline.last)
    consumers = Consumers(timeline, timeline.own.of_type(*unit))
    ledger = OwnershipReplay(timeline, LossEstimator(timeline), unit, consumers).run()
    late = late_joins(timeline) if timeline.mode == "eager" else {}  # a cooperative member reads while it rejoins
    reporting, printed = frozenset(consumers.reporting), printed_generations(timeline)
    unprinted = TimeIndex([r for r in timeline.rebalances if r.generation not in printed], attrgetter("started_at"))
    ends = ((owner, _known_until(timeline, reporting, unprinted, owner)) for owner in ledger.owned)
    ends_by_owner = {owner: until for owner, until in ends if until is not None}
    knowledge = knowledge_of(timeline, consumers)
    found = [
        part
        for reading in (*ledger.readings, *ledger.still_read(ends_by_owner, end))
        for part in _while_polling(late, reading)
    ]
    readings = sorted(found, key=lambda r: (r.begin, r.partition, r.client or ""))
    gaps = [*_gaps(readings, Gaps(timeline, knowledge, end))]
    return Ownership(
        spans=_unread_index(gap for gap in gaps if isinstance(gap, UnreadSpan)),
        unknown=_unknown_index(gap for gap in gaps if isinstance(gap, UnknownSpan)),
        until=end,
        partitions=frozenset(reading.partition for reading in readings),
        while_read=tuple(_united(readings)),
        partial=tuple(knowledge.partial(end)) if readings else (),
        presumed_whole=knowledge.nobody_else,
        read=tuple(_read(readings)),
    )


def _known_until(
    timeline: Timeline, reporting: Collection[Owner], unprinted: TimeIndex[Rebalance], owner: Owner
) -> int | None:
    """The first rebalance after an owner's log ended: until then it is known to have kept its partitions."""
    # A live member would log that it rejoins. None where there was no such rebalance, where the leader printed its
    # assignment, and under KIP-848, where a member whose assignment stays logs nothing.
    over = timeline.coverage.ends(owner[0]) if owner in reporting and timeline.mode != "server-side" else None
    later = unprinted.first(over + 1) if over is not None else None
    return later.started_at if later is not None else None


def _while_polling(late: LateJoins, reading: PartitionReading) -> Iterator[PartitionReading]:
    """A reading without the times in which its owner held up a join barrier: it did not call poll() then."""
    begin = reading.begin
    for join in late.get(reading.participant, ()):
        since = join.rebalance.started_at
        if begin < since < reading.end:
            yield replace(reading, begin=begin, end=since, why="stuck", certain=False, earliest=begin)
            begin = min(join.joined_at, reading.end)
    if begin < reading.end or begin == reading.begin:
        yield replace(reading, begin=begin)


def _gaps(readings: Sequence[PartitionReading], gaps: Gaps) -> Iterator[UnreadSpan | UnknownSpan]:
    """The gaps between the readings of each partition, from its first one on, oldest first."""
    by_partition = sorted(readings, key=attrgetter("partition"))
    together = groupby(by_partition, key=attrgetter("partition"))
    found = [gap for _, of_partition in together for gap in gaps.between([*of_partition])]
    yield from sorted(found, key=lambda gap: (gap.started_at, gap.partition))


def _unread_index(spans: Iterable[UnreadSpan]) -> IntervalIndex[UnreadSpan]:
    return IntervalIndex(spans, attrgetter("started_at"), attrgetter("ended_at"))


def _unknown_index(spans: Iterable[UnknownSpan]) -> IntervalIndex[UnknownSpan]:
    return IntervalIndex(spans, attrgetter("started_at"), attrgetter("ended_at"))


def _read(readings: Sequence[PartitionReading]) -> Iterator[ReadSpan]:
    """Partitions that one member read from the same moment to the same moment stand together."""
    together: dict[tuple[int, int | None, str], list[str]] = {}
    for reading in readings:
        end = None if reading.why is None else reading.end
        together.setdefault((reading.begin, end, reading.participant.name), []).append(reading.partition)
    for (begin, end, member), partitions in together.items():
        yield ReadSpan(partitions=tuple(partitions), member=member, started_at=begin, ended_at=end)


def _united(readings: Sequence[PartitionReading]) -> Iterator[tuple[int, int]]:
    """The stretches that the readings cover together."""
    since = until = None
    for reading in readings:
        if until is None or since is None or reading.begin > until:
            if since is not None and until is not None:
                yield since, until
            since, until = reading.begin, reading.end
        until = max(until, reading.end)
    if since is not None and until is not None:
        yield since, until
