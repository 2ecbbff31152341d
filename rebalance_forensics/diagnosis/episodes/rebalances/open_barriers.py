"""The join barrier that stands open when the logs end: the others have sent JoinGroup and wait.

A member that does not poll hears at every heartbeat that the group rebalances, and its log repeats it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.rebalances.hearings import Hearing, hearings
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import JoinStarted, JoinSucceeded, SyncSucceeded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import all_have_heard_ms


class OpenBarrier(Struct, frozen=True):
    """Who heard of the rebalance in vain, the lines that repeat it, and the joins of those who wait.

    Nobody is seen to wait where no other member's log is there.
    """

    participants: tuple[Participant, ...]
    told: tuple[Event, ...]
    waiting: tuple[Event, ...]
    is_one: bool
    """Whether all of it is surely one rebalance: of picked lines a JoinGroup may have been left out."""

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
    # Whom the coordinator tells of a rebalance is a member, be it that no line shows how it became one.
    heard = {one: last for one in timeline.participants.everybody if (last := _heard_in_vain(timeline, one))}
    if not heard:
        return None
    lines = sorted((e for last in heard.values() for e in last.told), key=time_of)
    others = [a for a in timeline.members() if a not in heard]
    waiting = [e for a in others if (e := _waits(timeline, a, time_of(lines[0])))]
    if not waiting and any(timeline.coverage.of(a) for a in others):
        return None
    is_one = bool(waiting) or all(last.is_one_rebalance(timeline) for last in heard.values())
    return OpenBarrier(tuple(heard), tuple(lines), tuple(waiting), is_one)


def _heard_in_vain(timeline: Timeline, participant: Participant) -> Hearing | None:
    """What it was told since it last took a step of its own; None if it is gone."""
    last = next(iter([*hearings(timeline, participant)][-1:]), None)
    if last is None or last.ended_by is not None:
        return None
    gone = timeline.departures.of(participant).any_between(last.began_at, timeline.last)
    return None if gone else last


def _waits(timeline: Timeline, participant: Participant, since: int) -> Event | None:
    """Its JoinGroup without an answer, sent when the other one first heard of the rebalance."""
    last = timeline.said_by(participant, JoinStarted, JoinSucceeded, SyncSucceeded).last(timeline.last)
    return last if isinstance(last, JoinStarted) and abs(time_of(last) - since) <= all_have_heard_ms(timeline) else None
