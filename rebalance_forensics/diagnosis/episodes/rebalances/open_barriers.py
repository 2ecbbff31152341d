"""The join barrier that stands open when the logs end: the others have sent JoinGroup and wait.

A member that does not poll hears at every heartbeat that the group rebalances, and its log repeats it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.group_settings import all_have_heard_ms
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent, PollTimeoutExpired
from rebalance_forensics.events.process import ConsumerClosed
from rebalance_forensics.events.rebalances import (
    HeartbeatFailed,
    JoinRequested,
    JoinStarted,
    JoinSucceeded,
    SyncSucceeded,
)
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

_ACTED = (JoinStarted, JoinSucceeded, SyncSucceeded, LeaveSent, PollTimeoutExpired, ConsumerClosed)


class OpenBarrier(Struct, frozen=True):
    """Who heard of the rebalance in vain, the lines that repeat it, and the joins of those who wait."""

    participants: tuple[Participant, ...]
    told: tuple[Event, ...]
    waiting: tuple[Event, ...]

    @property
    def began_at(self) -> int:
        """When the first of them all heard of it, or joined."""
        return min(time_of(e) for e in (*self.told, *self.waiting))

    @property
    def open_ms(self) -> int:
        """How long a member is known to have kept the others waiting."""
        return max(map(time_of, self.told)) - min(map(time_of, self.told))

    def rebalances(self, timeline: Timeline) -> list[Rebalance]:
        """The rebalances that have not ended."""
        since = timeline.rebalances.since(self.began_at - all_have_heard_ms(timeline))
        return [r for r in since if r.stabilized_at is None and r.completed_at is None]

    def arrivals(self, timeline: Timeline) -> Sequence[Arrival]:
        """Who came since it opened."""
        return timeline.arrivals.since(self.began_at - all_have_heard_ms(timeline))


def open_barrier(timeline: Timeline) -> OpenBarrier | None:
    """The barrier at the end of the logs, if one stands open there."""
    if timeline.kind != "consumer" or timeline.protocol not in ("classic", "unknown"):
        return None
    heard = {participant: told for participant in timeline.members() if (told := _heard_in_vain(timeline, participant))}
    if not heard:
        return None
    lines = sorted((e for told in heard.values() for e in told), key=time_of)
    waiting = [e for a in timeline.members() if a not in heard and (e := _waits(timeline, a, time_of(lines[0])))]
    return OpenBarrier(tuple(heard), tuple(lines), tuple(waiting)) if waiting else None


def _heard_in_vain(timeline: Timeline, participant: Participant) -> Sequence[Event]:
    """What it was told since it last took a step of its own; nothing if it is gone."""
    acted = timeline.said_by(participant, *_ACTED).last(timeline.last)
    since = time_of(acted) + 1 if acted is not None else 0
    told = [e for e in timeline.said_by(participant, HeartbeatFailed, JoinRequested).since(since) if _rebalances(e)]
    gone = bool(told) and timeline.departures.of(participant).any_between(time_of(told[0]), timeline.last)
    return () if gone else told


def _rebalances(event: Event) -> bool:
    if isinstance(event, JoinRequested):
        return event.why == "already-rebalancing"
    return isinstance(event, HeartbeatFailed) and event.error == "REBALANCE_IN_PROGRESS"


def _waits(timeline: Timeline, participant: Participant, since: int) -> Event | None:
    """Its JoinGroup without an answer, sent when the other one first heard of the rebalance."""
    last = timeline.said_by(participant, JoinStarted, JoinSucceeded, SyncSucceeded).last(timeline.last)
    return last if isinstance(last, JoinStarted) and abs(time_of(last) - since) <= all_have_heard_ms(timeline) else None
