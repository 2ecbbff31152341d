"""Rebalance notices: heartbeat responses that report a rebalance to a member that does not call poll() and join."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.rebalances import (
    HeartbeatFailed,
    JoinRequested,
    JoinStarted,
)
from rebalance_forensics.timeline.clients import ANSWERS_TO_NOTICE, logs_joins
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import is_rebalance_notice
from rebalance_forensics.timeline.timeouts import all_have_heard_ms

# A member without a coordinator cannot join, however often it polls.
_ENDS = (*ANSWERS_TO_NOTICE, CoordinatorLost)


class RebalanceNotice(Struct, frozen=True):
    """A run of heartbeats that reported a rebalance, and the member's next action; None where it took none."""

    participant: Participant
    notices: tuple[Event, ...]
    ended_by: Event | None

    @property
    def began_at(self) -> int:
        """The first notice."""
        return time_of(self.notices[0])

    @property
    def ended_at(self) -> int:
        """The member's action, else the last notice."""
        return time_of(self.ended_by or self.notices[-1])

    @property
    def lasted_ms(self) -> int:
        """How long the member is known to have kept the others waiting."""
        return self.ended_at - self.began_at

    @property
    def ended_with_a_join(self) -> bool:
        """True if it sent its JoinGroup in the end."""
        return isinstance(self.ended_by, JoinStarted)

    def is_one_rebalance(self, timeline: Timeline) -> bool:
        """True if it cannot have joined in between; an excerpt may leave out a JoinGroup."""
        times = [*map(time_of, self.notices), self.ended_at]
        longest = max((later - earlier for earlier, later in pairwise(times)), default=0)
        return not timeline.coverage.is_excerpt or longest <= all_have_heard_ms(timeline)

    def joined(self, timeline: Timeline) -> list[Rebalance]:
        """The rebalances that its JoinGroup was for."""
        at = self.ended_at
        return [r for r in timeline.rebalances.touching(at, at) if r.joined_at.get(self.participant) == at]


def rebalance_notices(timeline: Timeline, participant: Participant) -> Iterator[RebalanceNotice]:
    """Each run of notices until the member acted, oldest first."""
    # A member that has joined waits itself: notices after its JoinGroup do not count.
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
