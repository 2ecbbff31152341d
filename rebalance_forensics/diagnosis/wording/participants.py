"""Words for participants: members; instances of a Streams application; workers of Connect."""

from __future__ import annotations

from collections.abc import Collection

from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

# A Streams instance has as many members as it has threads.
KINDS = {("streams", "instance"): "instance", ("connect", "worker"): "worker"}


def member(timeline: Timeline, participants: Collection[Participant]) -> str:
    """`member`; `instance` or `worker` where all of them are such."""
    kinds = {KINDS.get((timeline.kind, participant.kind), "member") for participant in participants}
    return kinds.pop() if len(kinds) == 1 else "member"


def members(timeline: Timeline, participants: Collection[Participant]) -> str:
    """Several of them."""
    return f"{member(timeline, participants)}s"


def counted_members(timeline: Timeline, participants: Collection[Participant], single: str = "one ") -> str:
    """`one member`, `3 instances`."""
    number = len(participants)
    return f"{single}{member(timeline, participants)}" if number == 1 else f"{number} {members(timeline, participants)}"
