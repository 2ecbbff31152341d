"""Generations that a static member reset without an answer of the coordinator: its poll timer had expired (KIP-345)."""

from __future__ import annotations

from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.membership import PollTimeoutExpired
from rebalance_forensics.events.partitions import OffsetCommitFailed, OwnershipGivenUp
from rebalance_forensics.events.rebalances import GenerationReset, HeartbeatFailed, JoinFailed, SyncFailed
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.replay.lost_membership import NOT_KNOWN
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

_ASKING = (CoordinatorLost, GenerationReset, HeartbeatFailed, JoinFailed, SyncFailed, PollTimeoutExpired)


def given_up_unasked(timeline: Timeline, participant: Participant, lost: int, until: int) -> OwnershipGivenUp | None:
    """The line in which a static member, removed at `lost`, reports the reset; it had not rejoined before `until`.

    Until 2.8 a static member whose poll timer expires logs only later that its generation has been reset.
    ConsumerCoordinator resets a generation after an answer of the coordinator, which is logged, or when the member
    leaves (AbstractCoordinator.maybeLeaveGroup), which is not logged for a static member.
    """
    if not participant.instance_ids:
        return None
    begin = lost - 2 * ROUND_TRIP_MS
    given_up = timeline.events_from(participant, OwnershipGivenUp).first(begin)
    if not isinstance(given_up, OwnershipGivenUp) or time_of(given_up) > until or given_up.error is not None:
        return None
    if not covering(timeline.coverage.of(participant), begin, time_of(given_up)):
        return None
    asked = timeline.events_from(participant, *_ASKING).any_between(begin, time_of(given_up))
    commits = timeline.events_from(participant, OffsetCommitFailed).between(begin, time_of(given_up))
    refused = any(isinstance(e, OffsetCommitFailed) and e.error in NOT_KNOWN for e in commits)
    return None if asked or refused else given_up
