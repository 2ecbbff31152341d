"""Members that share a client id: Kafka's default (`consumer-{group}-1`) is the same in every process.

From the coordinator's lines alone, or where some of them have no log, only their member ids tell them apart;
a new id takes the place of the namesake that has been away longest.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import (
    MemberFailed,
    MemberIdIssued,
    MemberJoined,
    MemberLeft,
    MemberLoaded,
    PendingMemberRemoved,
)
from rebalance_forensics.events.rebalances import (
    AssignmentComputed,
    AssignmentReceived,
    GenerationStabilized,
    GroupEmptied,
    JoinSucceeded,
    RebalanceStarted,
    SyncSucceeded,
)
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.identity.names import is_default_client_id, name_in_member_id, streams_client
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS

GONE = ("member-left", "heartbeat-expired", "sync-expired")
CAME = ("member-added", "member-rejoined", "leader-rejoined")
_HEARD = (
    MemberIdIssued, MemberLoaded, MemberJoined, MemberLeft, MemberFailed, PendingMemberRemoved, RebalanceStarted,
    AssignmentReceived, AssignmentComputed, GenerationStabilized, GroupEmptied,
)  # fmt: skip
_BY_ITSELF = (JoinSucceeded, SyncSucceeded)
"""A member with a log was in before the coordinator first names it: its slot is not that of one that went since."""


class _Namesakes:
    """The members of one client id: each slot is one process, with the member ids it had one after another."""

    def __init__(self) -> None:
        self.ids: list[list[str]] = []
        self.of: dict[str, int] = {}
        self.taken: dict[str, None] = {}
        self.free: deque[int] = deque()
        self.shared = False
        self.uncounted = False
        self.heard_at = -NEXT_HEARTBEAT_MS
        """When one of them was last heard of."""

    def come(self, member: str) -> None:
        if member in self.taken:
            return
        self.taken[member] = None
        if member in self.of:
            if self.of[member] in self.free:
                self.free.remove(self.of[member])
            return
        if not self.free:
            self.free.append(len(self.ids))
            self.ids.append([])
        slot = self.free.popleft()
        self.ids[slot].append(member)
        self.of[member] = slot

    def go(self, member: str) -> None:
        if member in self.taken:
            del self.taken[member]
            self.free.append(self.of[member])


class _NamesakeTable:
    """The namesakes of all client ids."""

    def __init__(self) -> None:
        self.by_client: dict[str, _Namesakes] = defaultdict(_Namesakes)
        self.present = 0
        self.opened_at: int | None = None
        self._doubled: dict[str, None] = {}

    def move(self, member: str, *, came: bool, at: int | None = None) -> None:
        """Seat a member or let it go; one whose id names no client, or a thread, has none.

        Where a library chose the client id, one that comes while another can only just have been heard is another one.
        """
        client = name_in_member_id(member)
        if client is None or streams_client(client) is not None:
            return
        namesakes = self.by_client[client]
        before = len(namesakes.taken)
        new = came and member not in namesakes.of and before > 0
        (namesakes.come if came else namesakes.go)(member)
        if new and at is not None and at - namesakes.heard_at < NEXT_HEARTBEAT_MS and is_default_client_id(client):
            namesakes.shared = True
        namesakes.heard_at = at if came and at is not None else namesakes.heard_at
        self.present += len(namesakes.taken) - before
        if len(namesakes.taken) > 1:
            self._doubled[client] = None
        else:
            self._doubled.pop(client, None)

    def members(self) -> list[str]:
        """Everybody who has a slot."""
        return [member for namesakes in self.by_client.values() for member in namesakes.taken] if self.present else []

    def stabilized(self, event: GenerationStabilized) -> None:
        """All that have a slot are in: before 2.7 no line counts, but the barrier waits for the dead."""
        if event.member_count == self.present:
            self.at_once()
        soon = self.opened_at is not None and (event.at or 0) - self.opened_at < NEXT_HEARTBEAT_MS
        if event.member_count is None and soon:
            for client in self._doubled:
                self.by_client[client].uncounted = True

    def at_once(self) -> None:
        """The join barrier opens only for members that are alive: two of one client id are two processes."""
        for client in self._doubled:
            self.by_client[client].shared = True


def members_by_client_id(lines: EventIndex, only_log: Callable[[str], bool]) -> list[tuple[str, Sequence[str]]]:
    """Client ids that several members of one generation had at once: for each slot, its member ids.

    Where one log alone has a client id, whatever no line counts is taken for its own.
    """
    table = _NamesakeTable()
    for event in lines.of_type(*_HEARD, *(_BY_ITSELF if lines.has_type(GenerationStabilized) else ())):
        _apply(table, event)
    found = table.by_client.items()
    shared = [(c, s) for c, s in found if s.shared or (s.uncounted and not only_log(c))]
    return [(client, ids) for client, s in shared for ids in s.ids]


def _apply(table: _NamesakeTable, event: Event) -> None:
    if isinstance(event, GenerationStabilized):
        table.stabilized(event)
        return
    if isinstance(event, GroupEmptied):
        for member in table.members():
            table.move(member, came=False)
    elif isinstance(event, RebalanceStarted):
        table.opened_at = event.at
    for came, member in moves(event):
        table.move(member, came=came, at=event.at)
    if isinstance(event, AssignmentComputed):
        assigned = {member for member, _ in event.assignment}
        for member in table.members():
            if member not in assigned:
                table.move(member, came=False)
        for member in sorted(assigned):
            table.move(member, came=True)
        table.at_once()


def moves(event: Event) -> Sequence[tuple[bool, str]]:
    """The member ids that came or were in by this line, and those that went."""
    match event:
        case RebalanceStarted(members=ids, trigger=trigger):
            return [(trigger in CAME, m) for m in ids] if trigger in GONE or trigger in CAME else ()
        case AssignmentReceived(leader=m):
            return ((True, m),) if m is not None else ()
        case (
            MemberIdIssued(member=m)
            | MemberLoaded(member=m)
            | MemberJoined(member=m)
            | JoinSucceeded(member=m)
            | SyncSucceeded(member=m)
        ):
            return ((True, m),) if m is not None else ()
        case MemberFailed(members=ids):
            return [(False, m) for m in ids]
        case MemberLeft(member=m) | PendingMemberRemoved(member=m):
            return ((False, m),) if m is not None else ()
    return ()
