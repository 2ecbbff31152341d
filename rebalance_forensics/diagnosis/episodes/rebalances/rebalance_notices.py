"""A member that hears of a rebalance at every heartbeat and does not join: its poll loop is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.membership import LeaveSent, PollTimeoutExpired
from rebalance_forensics.events.partitions import PartitionsAssigned
from rebalance_forensics.events.process import ConsumerClosed
from rebalance_forensics.events.rebalances import (
    HeartbeatFailed,
    JoinFailed,
    JoinReported,
    JoinRequested,
    JoinStarted,
    JoinSucceeded,
    SyncSucceeded,
)
from rebalance_forensics.timeline.clients import logs_joins
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.replay.lost_membership import is_rebalance_notice
from rebalance_forensics.timeline.timeouts import all_have_heard_ms

_ACTED = (
    JoinStarted, JoinSucceeded, JoinReported, JoinFailed, SyncSucceeded, PartitionsAssigned, LeaveSent,
    PollTimeoutExpired, ConsumerClosed,
)  # fmt: skip
_ENDS = (*_ACTED, CoordinatorLost)
"""Whoever has no coordinator cannot join, however often it polls."""


class RebalanceNotice(Struct, frozen=True):
    """What a member was told, heartbeat after heartbeat, and what it did then: None while it has not done anything."""

    participant: Participant
    notices: tuple[Event, ...]
    ended_by: Event | None

    @property
    def began_at(self) -> int:
        """When it first heard of the rebalance."""
        return time_of(self.notices[0])

    @property
    def ended_at(self) -> int:
        """When it acted, else when it last heard of the rebalance."""
        return time_of(self.ended_by or self.notices[-1])

    @property
    def lasted_ms(self) -> int:
        """For how long it is known to have kept the others waiting."""
        return self.ended_at - self.began_at

    @property
    def ended_with_a_join(self) -> bool:
        """Whether it sent its JoinGroup at last."""
        return isinstance(self.ended_by, JoinStarted)

    def is_one_rebalance(self, timeline: Timeline) -> bool:
        """Whether it may not have joined in between; from picked lines a JoinGroup may have been left out."""
        times = [*map(time_of, self.notices), self.ended_at]
        longest = max((later - earlier for earlier, later in pairwise(times)), default=0)
        return not timeline.coverage.is_excerpt or longest <= all_have_heard_ms(timeline)

    def joined(self, timeline: Timeline) -> list[Rebalance]:
        """The rebalances that its JoinGroup was for."""
        at = self.ended_at
        return [r for r in timeline.rebalances.touching(at, at) if r.joined_at.get(self.participant) == at]


def rebalance_notices(timeline: Timeline, participant: Participant) -> Iterator[RebalanceNotice]:
    """Each time it was told of a rebalance until it acted, oldest first; once it has joined it is waiting itself."""
    is_notified = bool(timeline.events_from(participant, HeartbeatFailed, JoinRequested))
    if not is_notified or not logs_joins(timeline, participant):
        return
    notices: list[Event] = []
    waits = False
    for event in timeline.events_from(participant, *_ENDS, HeartbeatFailed, JoinRequested):
        if isinstance(event, _ENDS):
            if notices:
                yield RebalanceNotice(participant, tuple(notices), event)
            notices, waits = [], isinstance(event, JoinStarted)
        elif not waits and is_rebalance_notice(event):
            notices.append(event)
    if notices:
        yield RebalanceNotice(participant, tuple(notices), None)
