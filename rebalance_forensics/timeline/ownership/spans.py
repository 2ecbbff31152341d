"""The gaps between the readings of a partition: unread spans with reasons and bounds, and spans that are unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged
from rebalance_forensics.events.coordinator import TopicChanged
from rebalance_forensics.events.rebalances import AssignmentFailed, AssignmentNotStored, SyncFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import UnreadSpan, WhyUnread
from rebalance_forensics.timeline.ownership.connect_work import dropped
from rebalance_forensics.timeline.ownership.knowledge import Knowledge
from rebalance_forensics.timeline.ownership.readings import PartitionReading
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS, SHORTEST_UNREAD_MS

_GIVEN_BACK = frozenset({"revoked", "unknown"})


class UnknownSpan(Struct, frozen=True, kw_only=True):
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
            timeline.own.of_type(AssignmentFailed, AssignmentNotStored, SyncFailed), time_of
        )
        self._in_force = TimeIndex((r.completed_at for r in timeline.rebalances if r.completed_at is not None), int)
        self._vanished = _vanished(timeline)
        self._configured = TimeIndex(timeline.own.of_type(ConnectorConfigChanged), time_of)

    def between(self, readings: Sequence[PartitionReading]) -> Iterator[UnreadSpan | UnknownSpan]:
        """The gaps of one partition; `readings` are in the order of their begins."""
        yield from (_doubt(reading) for reading in readings if not reading.bounded)
        latest = readings[0]
        for reading in readings[1:]:
            if reading.begin - latest.end > SHORTEST_UNREAD_MS:
                yield from self._gap(latest, reading.begin)
            if reading.end > latest.end:
                latest = reading
        if latest.why is not None and self._end - latest.end > SHORTEST_UNREAD_MS:
            yield from self._gap(latest, None)
        elif latest.why == "dead":
            yield UnknownSpan(partition=latest.partition, started_at=latest.end, ended_at=None)

    def _gap(self, before: PartitionReading, until: int | None) -> Iterator[UnreadSpan | UnknownSpan]:
        begin, name = before.end, before.partition
        vanished_at = self._gone(name, begin, until)
        if vanished_at is not None:
            if vanished_at - begin > SHORTEST_UNREAD_MS:
                yield self._span(before, vanished_at, certain=True)
            return
        since = self._unknown_from(before, until)
        if since is None or (until is not None and until - since <= ROUND_TRIP_MS):
            yield self._span(before, until, certain=True)
            return
        if since - begin > SHORTEST_UNREAD_MS:
            yield self._span(before, since, certain=False)
        yield UnknownSpan(partition=name, started_at=since, ended_at=until)

    def _unknown_from(self, before: PartitionReading, until: int | None) -> int | None:
        """The time from which a member without a log may have owned the partition; None where none can have."""
        if before.why == "unknown" and before.missed_at is None:
            return before.end
        if self._knowledge.nobody_else and until is not None:
            return None
        end = until if until is not None else self._end
        handed_on = self._knowledge.lost_between(before.end, end)
        # A coordinator that assigns by itself (KIP-848) hands on what was revoked without a generation of its own.
        kept_back = before.why == "revoked" and not self._hands_on_unseen
        if handed_on is not None or self._knowledge.complete_at(before.end) or kept_back:
            return handed_on
        return max(before.end, before.missed_at or before.end)

    def _gone(self, partition: str, begin: int, until: int | None) -> int | None:
        """When the partition or task ceased to exist within a gap: topic deleted, connector removed or cut in tasks."""
        end = until if until is not None else self._end
        for at in self._vanished.get(partition.rpartition("-")[0], ()):
            if begin <= at < end:
                return at
        if until is None:
            changes = self._configured.between(begin - ROUND_TRIP_MS, end)
            return next((max(begin, time_of(e)) for e in changes if dropped(e, partition)), None)
        return None

    def _span(self, before: PartitionReading, until: int | None, *, certain: bool) -> UnreadSpan:
        certain = certain and not (self._knowledge.nobody_else and not self._knowledge.complete_at(before.end))
        return UnreadSpan(
            partition=before.partition,
            started_at=before.end,
            ended_at=until,
            client_id=before.client,
            why=self._why(before, until),
            certain=certain and before.certain,
            from_earliest=before.earliest,
        )

    def _why(self, before: PartitionReading, until: int | None) -> WhyUnread:
        """The reason of a gap: what ended the reading, or an assignment after it that failed or left this out."""
        end, why = until if until is not None else self._end, before.why or "unknown"
        if why not in _GIVEN_BACK:
            return why
        if self._failures.any_between(before.end, end):
            return "assignment-failed"
        given = self._in_force.first(before.end + 1)
        left_out = given is not None and end - given > ROUND_TRIP_MS and self._knowledge.complete_at(given)
        return "unassigned" if left_out else why


def _doubt(reading: PartitionReading) -> UnknownSpan:
    """The span before a loss without a known timeout: nothing bounds how early the member had stopped reading."""
    begin = reading.begin if reading.earliest is None else reading.earliest
    return UnknownSpan(partition=reading.partition, started_at=begin, ended_at=max(begin, reading.end))


def _vanished(timeline: Timeline) -> Mapping[str, Sequence[int]]:
    """When each topic was deleted."""
    found: dict[str, list[int]] = {}
    for event in timeline.of(TopicChanged):
        if event.change == "deleted":
            found.setdefault(event.topic, []).append(time_of(event))
    return found
