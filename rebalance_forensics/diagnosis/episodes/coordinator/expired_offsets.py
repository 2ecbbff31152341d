"""Committed offsets that a broker removed while the group was empty."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import OffsetsExpired
from rebalance_forensics.events.rebalances import GroupDied, GroupEmptied
from rebalance_forensics.records import elapsed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline


class ExpiredOffsets(Struct, frozen=True):
    """The lines about the offsets, and those that say when the group became empty."""

    expired: tuple[OffsetsExpired, ...]
    emptied: tuple[Event, ...]

    @property
    def empty_for_ms(self) -> int | None:
        """How long the group had been empty; None where no line shows when it became empty, or none has a time."""
        return elapsed(self.emptied[0].at, self.expired[0].at) if self.emptied else None


def expired_offsets(timeline: Timeline) -> ExpiredOffsets | None:
    """Expirations that concern this group: named, or counted while it was empty."""
    told = timeline.of(OffsetsExpired)
    expired = [e for e in told if _names(timeline, e) or (_counts(timeline, e) and _is_empty(timeline, time_of(e)))]
    if not expired:
        return None
    empty = (e for e in timeline.of(GroupEmptied, GroupDied) if e.group == timeline.group)
    return ExpiredOffsets(tuple(expired), tuple(e for e in empty if (e.at or 0) <= (expired[0].at or 0)))


def _names(timeline: Timeline, event: OffsetsExpired) -> bool:
    return event.group == timeline.group or timeline.group in event.groups


def _counts(timeline: Timeline, event: OffsetsExpired) -> bool:
    """Whether it tells how many expired of groups that it does not name, this one perhaps among them."""
    if event.group is not None or event.groups or not event.count:
        return False
    places = {(e.speaker.broker, e.speaker.offsets_partition) for e in timeline.said_of_it_by_brokers}
    broker, partition = event.speaker.broker, event.speaker.offsets_partition
    return any(b == broker and (partition is None or p is None or p == partition) for b, p in places)


def _is_empty(timeline: Timeline, at: int) -> bool:
    """Whether the last member has left by then, and nobody has come since; KIP-848 has no line for it."""
    told = [time_of(e) for e in timeline.of(GroupEmptied, GroupDied).between(0, at - 1) if e.group == timeline.group]
    reached = [g.started_at or g.completed_at or at for g in timeline.generations if g.outcome == "empty"]
    emptied = max([*told, *(t for t in reached if t < at)], default=None)
    return emptied is not None and not timeline.arrivals.any_between(emptied + 1, at)
