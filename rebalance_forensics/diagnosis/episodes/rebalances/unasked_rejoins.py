"""Members that joined again though nothing drove them out: all that clients before 3.0 show of enforceRebalance()."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.membership import InstanceFenced, LeaveSent, PollTimeoutExpired, Subscribed
from rebalance_forensics.events.process import ConsumerClosed
from rebalance_forensics.events.rebalances import (
    HeartbeatFailed,
    JoinFailed,
    JoinRequested,
    JoinStarted,
    JoinSucceeded,
    SyncFailed,
)
from rebalance_forensics.timeline.clients import is_java
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name

_DRIVEN = (
    CoordinatorLost, InstanceFenced, LeaveSent, PollTimeoutExpired, Subscribed, ConsumerClosed, HeartbeatFailed,
    JoinFailed, JoinRequested, SyncFailed,
)  # fmt: skip
"""What makes a member join again, or ends its membership; each has a line of its own."""


class Rejoin(Struct, frozen=True):
    """A member joined again and no reason was logged."""

    participant: Participant
    before: JoinSucceeded
    start: JoinStarted
    now: JoinSucceeded


def rejoined_unasked(timeline: Timeline) -> list[Rejoin]:
    """Members that nothing drove out joined again.

    Before 3.0 enforceRebalance is the one reason to join that no client logs, and the coordinator starts a
    rebalance for the leader alone: to any other member with the same metadata it repeats the assignment.
    """
    found: list[Rejoin] = []
    joined: dict[Participant, JoinSucceeded] = {}
    asked: dict[Participant, JoinStarted] = {}
    may_be = timeline.kind == "consumer" and len(timeline.of(JoinSucceeded)) > 1 and timeline.of(JoinStarted)
    for event in timeline.of(JoinStarted, JoinSucceeded, *_DRIVEN) if may_be else ():
        participant = timeline.participants.of_speaker(event)
        if participant is None:
            continue
        if isinstance(event, JoinStarted):
            asked[participant] = event
        elif isinstance(event, JoinSucceeded):
            before, start = joined.get(participant), asked.pop(participant, None)
            if before is not None and start is not None and _is_again(timeline, participant, before, event):
                found.append(Rejoin(participant, before, start, event))
            joined[participant] = event
        else:
            joined.pop(participant, None)
    return found


def _is_again(timeline: Timeline, participant: Participant, before: JoinSucceeded, now: JoinSucceeded) -> bool:
    same = before.member == now.member and place_name(before) == place_name(now)
    restarted = timeline.starts.of(participant).any_between(time_of(before), time_of(now))
    return same and is_java(now) and not restarted
