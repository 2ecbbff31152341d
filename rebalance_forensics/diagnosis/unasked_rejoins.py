"""Members that joined again though nothing drove them out: all that clients before 3.0 show of enforceRebalance()."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.membership import InstanceFenced, LeaveSent, PollTimeoutExpired, Subscribed
from rebalance_forensics.events.process import ConsumerClosed
from rebalance_forensics.events.rebalancing import (
    HeartbeatFailed,
    JoinFailed,
    JoinRequested,
    JoinStarted,
    JoinSucceeded,
    SyncFailed,
)
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor, place_name

_DRIVEN = (
    CoordinatorLost, InstanceFenced, LeaveSent, PollTimeoutExpired, Subscribed, ConsumerClosed, HeartbeatFailed,
    JoinFailed, JoinRequested, SyncFailed,
)  # fmt: skip
"""What makes a member join again, or ends its membership; each has a line of its own."""


@dataclass(frozen=True, slots=True)
class Rejoin:
    """A member joined again though no line says why."""

    actor: Actor
    before: JoinSucceeded
    start: JoinStarted
    now: JoinSucceeded


def rejoined_unasked(timeline: Timeline) -> list[Rejoin]:
    """Members that nothing drove out joined again.

    Before 3.0 enforceRebalance is the one reason to join that no client logs, and the coordinator starts a
    rebalance for the leader alone: to any other member with the same metadata it repeats the assignment.
    """
    found: list[Rejoin] = []
    joined: dict[Actor, JoinSucceeded] = {}
    asked: dict[Actor, JoinStarted] = {}
    for event in timeline.of(JoinStarted, JoinSucceeded, *_DRIVEN) if timeline.kind == "consumer" else ():
        actor = timeline.cast.of_speaker(event)
        if actor is None:
            continue
        if isinstance(event, JoinStarted):
            asked[actor] = event
        elif isinstance(event, JoinSucceeded):
            before, start = joined.get(actor), asked.pop(actor, None)
            if before is not None and start is not None and _is_again(timeline, actor, before, event):
                found.append(Rejoin(actor, before, start, event))
            joined[actor] = event
        else:
            joined.pop(actor, None)
    return found


def _is_again(timeline: Timeline, actor: Actor, before: JoinSucceeded, now: JoinSucceeded) -> bool:
    same = before.member == now.member and place_name(before) == place_name(now)
    restarted = timeline.starts.of(actor).any_between(time_of(before), time_of(now))
    return same and now.pattern.startswith("consumer/") and not restarted
