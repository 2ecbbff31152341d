"""Members that gave up a JoinGroup or SyncGroup request: the rebalance outlasted it, and nothing else was wrong.

A coordinator answers both only when the last member has come, so a client waits longer for a JoinGroup than for other
requests (AbstractCoordinator.sendJoinGroupRequest: its own max.poll.interval.ms and 5 s, at least request.timeout.ms).
When that is over it closes the connection, and logs its coordinator as lost.
"""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import JoinStarted, JoinSucceeded, SyncSucceeded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import JOIN_LAPSE, POLL, REQUEST, configured_ms
from rebalance_forensics.timeline.windows import GAVE_UP_MS


def gave_up_waiting(timeline: Timeline, lost: Event) -> bool:
    """Whether a coordinator was lost just when the member's own JoinGroup or SyncGroup request timed out."""
    participant = timeline.participants.of_speaker(lost)
    if participant is None:
        return False
    asked = timeline.said_by(participant, JoinStarted, JoinSucceeded, SyncSucceeded).last(time_of(lost))
    if asked is None or isinstance(asked, SyncSucceeded):
        return False
    waited = time_of(lost) - time_of(asked)
    limits = timeline.remembered(_join_limits) if isinstance(asked, JoinStarted) else timeline.remembered(_requests)
    return any(limit <= waited <= limit + GAVE_UP_MS for limit in limits)


def _join_limits(timeline: Timeline) -> frozenset[int]:
    polls = configured_ms(timeline, POLL)
    return frozenset(max(request, poll + JOIN_LAPSE) for request in _requests(timeline) for poll in polls)


def _requests(timeline: Timeline) -> frozenset[int]:
    return configured_ms(timeline, REQUEST)
