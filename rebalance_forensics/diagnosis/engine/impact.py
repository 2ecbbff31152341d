"""What an incident cost: partitions that nobody read, stops of the whole group, pauses of members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rebalance_forensics.diagnosis.model import Impact
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.ownership import ownership_of
from rebalance_forensics.timeline.windows import AFTERMATH_MS


def impact_of(timeline: Timeline, started: int, ended: int, rebalances: Sequence[Rebalance]) -> Impact:
    """Spans and pauses that overlap the incident; each counts whole or not at all."""
    until = ended + AFTERMATH_MS
    pauses = timeline.pauses.touching(started, until)
    owners = ownership_of(timeline)
    by_partition: dict[str, int] = defaultdict(int)
    begin = started
    for span in owners.unread_between(started, until):
        over = span.ended_at if span.ended_at is not None else owners.until
        by_partition[span.partition] += over - span.started_at
        begin = min(begin, span.started_at)
    known = owners.partitions
    longest = max(by_partition, key=lambda name: (by_partition[name], name), default=None)
    return Impact(
        unread_partition_ms=sum(by_partition.values()) if known else None,
        unread_partitions=_concerned(by_partition) if known else None,
        known_partitions=len(known) or None,
        longest_unread_ms=by_partition[longest] if longest is not None else 0 if known else None,
        longest_unread_partition=longest,
        stopped_ms=owners.stopped_ms(begin, until),
        pause_ms=sum((p.ended_at or max(ended, p.started_at)) - p.started_at for p in pauses),
        members=len({p.client_id or p.member_id for p in pauses}),
        partitions=len({x for p in pauses for x in p.partitions}),
        rebalances=len(rebalances),
    )


def _concerned(by_partition: Mapping[str, int]) -> int:
    """How many partitions were unread for about as long as the longest: those that only changed hands do not count."""
    longest = max(by_partition.values(), default=0)
    return sum(2 * ms >= longest for ms in by_partition.values())


def leaves_unread(timeline: Timeline, started: int, ended: int) -> bool:
    """Whether partitions that nobody read in the incident have no reader when the logs end: then it is not over."""
    spans = ownership_of(timeline).unread_between(started, ended + AFTERMATH_MS)
    return any(span.ended_at is None and span.why != "stopped" and span.started_at >= started for span in spans)
