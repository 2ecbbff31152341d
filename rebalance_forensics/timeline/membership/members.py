"""The live member ids of a group, in the order of arrival, indexed by participant and by the name they begin with."""

from __future__ import annotations

from collections import defaultdict

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import Participant


class Members(dict[str, Participant]):
    """Live member id -> participant, in the order of arrival; changed by item and `drop` alone, to keep its indexes."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[Participant, dict[str, None]] = defaultdict(dict)
        self._by_name: dict[str | None, dict[str, None]] = defaultdict(dict)
        self.joining: set[str] = set()
        """KIP-848 clients that logged JOINING and that no coordinator or assignment has confirmed."""

    def apply(self, event: Event) -> None:
        """Note a member that is joining, or that is confirmed."""
        if not isinstance(event, ev.MemberTransitioned | ev.MemberJoined) or event.member is None:
            return
        if isinstance(event, ev.MemberTransitioned) and event.after == "JOINING":
            self.joining.add(event.member)
        else:
            self.joining.discard(event.member)

    def of(self, participant: Participant | None) -> list[str]:
        """The ids of one participant, oldest first."""
        return list(self._of[participant]) if participant in self._of else []

    def with_name(self, name: str | None) -> list[str]:
        """The ids that begin with a client id or instance id."""
        return list(self._by_name[name]) if name in self._by_name else []

    def __setitem__(self, member: str, participant: Participant) -> None:
        """Add a member."""
        before = self.get(member)
        if before is not None and before is not participant:
            del self._of[before][member]
        super().__setitem__(member, participant)
        self._of[participant][member] = None
        self._by_name[name_in_member_id(member)][member] = None

    def drop(self, member: str) -> Participant | None:
        """Remove a member if it is in; its participant."""
        participant = self.pop(member, None)
        if participant is not None:
            del self._of[participant][member]
            del self._by_name[name_in_member_id(member)][member]
        return participant
