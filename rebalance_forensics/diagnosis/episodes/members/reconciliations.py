"""Reconciliations of KIP-848 members that gave partitions up: from the new assignment to its acknowledgement.

A member gives up partitions in three steps: it commits their offsets, calls the rebalance listener from poll(), and
acknowledges with its next heartbeat (AbstractMembershipManager.revokeAndAssign). Until then the coordinator assigns
them to no other member.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

_REVOKED = (ev.PartitionsRevoked, ev.TasksRevoked)
# What delays the commit before the listener is called, without the application's doing.
_NOT_COMMITTED = (ev.CoordinatorLost, ev.OffsetCommitFailed)


class Reconciliation(Struct, frozen=True):
    """A reconciliation with partitions to give up, from the first to the last of its lines."""

    participant: Participant
    began_by: ev.MemberTransitioned
    revoked: tuple[Event, ...]
    """The lines about the revoked partitions: of the member and, since 3.7, of the call of its listener."""
    ended_by: ev.MemberTransitioned

    @property
    def began_at(self) -> int:
        """Time of its new assignment."""
        return time_of(self.began_by)

    @property
    def ended_at(self) -> int:
        """Time of the acknowledgement."""
        return time_of(self.ended_by)

    @property
    def lasted_ms(self) -> int:
        """How long the partitions had no reader at most, in ms."""
        return self.ended_at - self.began_at

    @property
    def in_listener(self) -> bool:
        """True if most of it passed after the last line about the revoked partitions, thus in the listener."""
        return 2 * (self.ended_at - time_of(self.revoked[-1])) > self.lasted_ms


def reconciliations(timeline: Timeline, participant: Participant) -> Iterator[Reconciliation]:
    """Each reconciliation in which a member gave partitions up, in the order of their ends."""
    if timeline.is_classic or not timeline.events_from(participant, ev.MemberTransitioned):
        return
    began: dict[str | None, tuple[ev.MemberTransitioned, list[Event]]] = {}
    for event in timeline.events_from(participant, ev.MemberTransitioned, *_REVOKED, *_NOT_COMMITTED):
        client = event.speaker.client_id  # a Streams instance has one for each thread
        if isinstance(event, ev.MemberTransitioned):
            before, revoked = began.pop(client, (None, []))
            if event.after == "RECONCILING":
                began[client] = before or event, revoked
            elif before is not None and revoked and event.after == "ACKNOWLEDGING":
                yield Reconciliation(participant, before, tuple(revoked), event)
        elif isinstance(event, _NOT_COMMITTED):
            began.pop(client, None)
        elif client in began and isinstance(event, _REVOKED) and _revoked(event):
            began[client][1].append(event)


def _revoked(event: ev.PartitionsRevoked | ev.TasksRevoked) -> tuple[str, ...]:
    return event.partitions if isinstance(event, ev.PartitionsRevoked) else event.active
