"""The live member ids of a group, and the members that join or leave by the reason of a rebalance.

Used by both replays: the replay of member ids that distinguishes members with the same client id (namesakes.py) before
there are participants, and the replay of participants (replay.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal, TypeVar

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import DepartureWhy
from rebalance_forensics.timeline.identity.names import name_in_member_id

P = TypeVar("P")
"""The owner of a member id: a participant, or the slots of its client id while there are no participants."""

MOVES_BY_TRIGGER: Mapping[str | None, DepartureWhy | Literal["came", "is in", "replaced"]] = {
    "member-added": "came",
    "member-rejoined": "is in",
    "leader-rejoined": "is in",
    "static-member-changed": "replaced",
    "member-left": "left",
    "heartbeat-expired": "session-expired",
    "sync-expired": "sync-timeout",
}
"""Trigger of a rebalance (RebalanceStarted) -> how the member that its line names joins or leaves."""


class Members(dict[str, P]):
    """Live member id -> owner, in the order of arrival; change it only by item assignment and `drop`."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[P, dict[str, None]] = defaultdict(dict)
        self._by_name: dict[str | None, dict[str, None]] = defaultdict(dict)
        self.joining: set[str] = set()
        """KIP-848 clients that logged JOINING and that no coordinator or assignment has confirmed."""

    def apply(self, event: Event) -> None:
        """Record a member that is joining, or whose join is confirmed."""
        if type(event) is ev.MemberTransitioned and event.member is not None and event.after == "JOINING":
            self.joining.add(event.member)
        elif (type(event) is ev.MemberTransitioned or type(event) is ev.MemberJoined) and event.member is not None:
            self.joining.discard(event.member)

    def of(self, owner: P | None) -> list[str]:
        """The member ids of an owner, oldest first."""
        return list(self._of[owner]) if owner in self._of else []

    def number_of(self, owner: P) -> int:
        """The number of member ids of an owner."""
        return len(self._of[owner]) if owner in self._of else 0

    def with_name(self, name: str | None) -> list[str]:
        """The member ids that start with this client id or instance id."""
        return list(self._by_name[name]) if name in self._by_name else []

    def __setitem__(self, member: str, owner: P) -> None:
        """Add a member."""
        before = self.get(member)
        if before is not None and before is not owner:
            del self._of[before][member]
        super().__setitem__(member, owner)
        self._of[owner][member] = None
        self._by_name[name_in_member_id(member)][member] = None

    def drop(self, member: str) -> P | None:
        """Remove a member; return its owner, or None if it is not in the group."""
        owner = self.pop(member, None)
        if owner is not None:
            del self._of[owner][member]
            del self._by_name[name_in_member_id(member)][member]
        return owner
