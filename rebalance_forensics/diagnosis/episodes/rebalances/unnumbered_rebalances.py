"""Rebalances without a generation number: KafkaJS, Spring and others log none.

Java clients do, but an excerpt may hold only their notices that the group is rebalancing.
"""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import RegistryLeaderElected
from rebalance_forensics.events.partitions import AssignmentNotified, PartitionsAssigned, PartitionsRevoked
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinRequested
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.membership.lost_membership import is_rebalance_notice
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

_GIVEN = (AssignmentNotified, PartitionsAssigned)


def unnumbered_rebalances(timeline: Timeline) -> list[list[Event]]:
    """The members' lines, one list for each rebalance, where no log shows a generation of the group."""
    if timeline.rebalances:
        return []
    notices = [e for e in timeline.of(HeartbeatFailed, JoinRequested) if e.at is not None and is_rebalance_notice(e)]
    # A Java client repeats the notice at each heartbeat until it rejoins.
    again = any(isinstance(e, JoinRequested) for e in notices)
    found = runs(notices, time_of, 2 * heartbeat_interval_ms(timeline) if again else ROUND_TRIP_MS)
    shown = [*_reassignments(timeline), *_elections(timeline)]
    together = runs(shown, lambda s: time_of(s[0]), ROUND_TRIP_MS, until=lambda s: time_of(s[-1]))
    return found or [[event for steps in rebalance for event in steps] for rebalance in together]


def topics_gained(rebalance: list[Event]) -> list[str]:
    """Topics of the partitions that a member was newly assigned, where it also revoked partitions of other topics."""
    before = _topics(rebalance, (PartitionsRevoked,))
    return sorted(_topics(rebalance, _GIVEN) - before) if before else []


def _topics(events: list[Event], kinds: tuple[type[Event], ...]) -> set[str]:
    partitions = (p for e in events if isinstance(e, kinds) for p in getattr(e, "partitions", ()))
    return {partition.rpartition("-")[0] for partition in partitions}


def _reassignments(timeline: Timeline) -> Iterator[list[Event]]:
    """A revocation and the next assignment of the same member, as in every eager rebalance."""
    revoked: dict[object, Event] = {}
    for event in timeline.own.of_type(PartitionsRevoked, *_GIVEN):
        speaker = timeline.participants.of_speaker(event) or place_name(event)
        if event.at is None:
            continue
        if isinstance(event, PartitionsRevoked):
            revoked[speaker] = event
        elif speaker in revoked:
            yield [revoked.pop(speaker), event]


def _elections(timeline: Timeline) -> Iterator[list[Event]]:
    """Each line in which a Schema Registry instance names a new leader."""
    before: str | None = None
    for event in timeline.own.of_type(RegistryLeaderElected):
        assert isinstance(event, RegistryLeaderElected)
        if event.at is not None and before is not None and event.leader != before:
            yield [event]
        before = event.leader or before
