"""Group epochs of KIP-848, KIP-1071 and KIP-932 groups, as generations and rebalances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import (
    GroupEpochBumped,
    MemberReconciled,
    MemberTransitioned,
    TargetAssignmentComputed,
)
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.model import Generation, Member
from rebalance_forensics.timeline.replay.generations import Slot
from rebalance_forensics.timeline.replay.members import Members
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

OF_EPOCHS = (GroupEpochBumped, TargetAssignmentComputed, MemberReconciled, MemberTransitioned)
"""The events about an epoch."""


@dataclass(slots=True, eq=False)
class EpochSlot:
    """The lines about one group epoch."""

    epoch: int
    bumped: Event | None = None
    computed: Event | None = None
    first_at: int | None = None
    stable_times: list[int] = field(default_factory=list)
    members: dict[str, Participant | None] = field(default_factory=dict)
    lagging: set[str] = field(default_factory=set)
    """Members that came later: from 4.3 on they are given the target assignment of an older epoch until the next is
    computed."""


class GroupEpochs:
    """Sorts a group's events, in time order, into a slot for each epoch."""

    def __init__(self, participants: Participants) -> None:
        self.participants = participants
        self.slots: dict[int, EpochSlot] = {}

    def apply(self, event: Event, live: Members) -> None:
        """Apply one event; `live` are the members that are in at this time."""
        match event:
            case GroupEpochBumped():
                slot = self._slot(event.epoch, event)
                slot.bumped = slot.bumped or event
                slot.members.update(_admitted(live))
            case TargetAssignmentComputed():
                slot = self._slot(event.epoch, event)
                slot.computed = slot.computed or event
                slot.members.update(_admitted(live))
            case MemberReconciled(epoch=n, member=m) if n:
                self._slot(n, event).members.setdefault(m, self.participants.of_member(m))
            case MemberTransitioned(epoch=n) if n and n > 0:
                self._transitioned(event, n, live)

    def _transitioned(self, event: MemberTransitioned, epoch: int, live: Members) -> None:
        if event.after not in ("RECONCILING", "ACKNOWLEDGING", "STABLE"):
            return
        slot = self._slot(epoch, event)
        participant = self.participants.of_speaker(event)
        if event.member:
            if event.member not in slot.members and any(n > epoch for n in self.slots):
                slot.lagging.add(event.member)
            slot.members.setdefault(event.member, participant)
        if slot.bumped is None and slot.computed is None:
            slot.members.update({m: a for m, a in live.items() if not m.startswith("?")})
        if event.after == "STABLE" and event.at is not None:
            slot.stable_times.append(event.at)

    def _slot(self, epoch: int, event: Event) -> EpochSlot:
        slot = self.slots.setdefault(epoch, EpochSlot(epoch))
        if event.at is not None:
            slot.first_at = event.at if slot.first_at is None else min(slot.first_at, event.at)
        return slot

    def absorbs(self, slot: Slot) -> bool:
        """Merge a slot of classic members into the epoch of that number; False where it is no such epoch.

        Classic members of a KIP-848 group print the epoch as their generation.
        """
        epoch = self.slots.get(slot.number)
        if epoch is None or slot.prepared or slot.stabilized or slot.received or slot.emptied:
            return False
        if abs(slot.first_at() - (epoch.first_at or 0)) > ONE_REBALANCE_MS:
            return False
        epoch.members.update({m: a for m, a in slot.joined.items() if not m.startswith("?")})
        epoch.stable_times += slot.sync_times
        return True

    def finished(self) -> list[EpochSlot]:
        """All epochs, in the order of their numbers."""
        return [self.slots[n] for n in sorted(self.slots)]


def _admitted(live: Members) -> dict[str, Participant]:
    return {m: a for m, a in live.items() if not m.startswith("?") and m not in live.joining}


def generations_of(slots: Sequence[EpochSlot]) -> list[Generation]:
    """The epochs as generations."""
    found: list[Generation] = []
    for index, slot in enumerate(slots):
        earlier = slots[index - 1].lagging if index else frozenset()
        before = {m.member_id for m in found[-1].members if m.member_id} - earlier if found else set()
        members = tuple(
            sorted(
                (
                    Member(
                        member_id=m,
                        client_id=min(a.client_ids, default=None) if a else None,
                        instance_id=min(a.instance_ids, default=None) if a else None,
                        host=min(a.hosts or a.endpoints, default=None) if a else None,
                    )
                    for m, a in slot.members.items()
                ),
                key=lambda m: (m.client_id or "", m.member_id or ""),
            )
        )
        ids = {m.member_id for m in members if m.member_id} - slot.lagging
        last = index == len(slots) - 1
        found.append(
            Generation(
                generation=slot.epoch,
                started_at=slot.first_at,
                completed_at=max(slot.stable_times, default=None),
                trigger=None,
                leader=None,
                members=members,
                joined=tuple(sorted(ids - before)),
                left=tuple(sorted(before - ids)),
                outcome="stable"
                if slot.stable_times
                else "empty"
                if not members
                else "unknown"
                if last
                else "superseded",
            )
        )
    return found


def rebalances_of(slots: Sequence[EpochSlot]) -> list[Rebalance]:
    """Each bump of the epoch as a rebalance."""
    return [
        Rebalance(
            generation=slot.epoch,
            started_at=slot.first_at or 0,
            stabilized_at=slot.computed.at if slot.computed else None,
            completed_at=max(slot.stable_times, default=None),
            events=tuple(e for e in (slot.bumped, slot.computed) if e is not None),
        )
        for slot in slots
    ]
