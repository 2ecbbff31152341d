"""Coordinators that answered a commit too late or in vain: members look for them anew and find the same ones again.

A commit is a write to `__consumer_offsets` that all replicas in sync must have. With a follower that died or froze it
waits until the coordinator gives it up (offsets.commit.timeout.ms) or the follower is out of sync. To the consumer that
answer means that its coordinator is lost (ConsumerCoordinator.OffsetCommitResponseHandler), which was there all along.
"""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorFound, CoordinatorLost
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import FOUND_AGAIN_MS

_NOT_WRITTEN = ("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE")


def answered_in_vain(timeline: Timeline, lost: Event) -> bool:
    """Whether a member gave its coordinator up over a commit that it answered, and at once found the same again."""
    who, at = timeline.participants.of_speaker(lost), time_of(lost)
    if who is None or not isinstance(lost, CoordinatorLost) or lost.coordinator is None:
        return False
    commits = timeline.said_by(who, OffsetCommitFailed).between(at - FOUND_AGAIN_MS, at)
    found = timeline.said_by(who, CoordinatorFound).between(at, at + FOUND_AGAIN_MS)
    refused = any(e.error in _NOT_WRITTEN for e in commits)
    return refused and {e.coordinator for e in found} == {lost.coordinator}
