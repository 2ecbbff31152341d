"""Members with the same client id ("namesakes"): Kafka's default (`consumer-{group}-1`) is the same in every process.

If not all of them have a log, only member ids distinguish them, so they are replayed by member id before participants
are known. A new id gets the slot of the namesake that has been absent longest, unless all of them left long ago. A
process that restarts within a session joins before its former id expires: if the generation with both ids is as large
as the previous one, the new id gets the slot of the old one.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.identity.names import is_default_client_id, name_in_member_id, streams_client
from rebalance_forensics.timeline.identity.participant_drafts import ParticipantDraft, ParticipantDrafts
from rebalance_forensics.timeline.membership.members import MOVES_BY_TRIGGER, Members
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex
from rebalance_forensics.timeline.windows import ANOTHER_LIFE_MS, NEXT_HEARTBEAT_MS

_MEMBERSHIP_EVENTS = (
    ev.MemberIdIssued, ev.MemberLoaded, ev.MemberJoined, ev.MemberLeft, ev.MemberFailed, ev.PendingMemberRemoved,
    ev.RebalanceStarted, ev.AssignmentReceived, ev.AssignmentComputed, ev.GenerationStabilized, ev.GroupEmptied,
)  # fmt: skip
# Lines that show a member before the coordinator names it, so that it does not get the slot of one that left since.
_CLIENT_EVENTS = (ev.JoinSucceeded, ev.SyncSucceeded)


class _Slots:
    """The members with one client id: each slot is a process with its successive member ids."""

    def __init__(self) -> None:
        self.ids: list[list[str]] = []
        self.of: dict[str, int] = {}
        self.free: OrderedDict[int, int | None] = OrderedDict()
        """Slot of a member that left -> when it left; the longest absent one comes first."""
        self.shared = False
        self.uncounted = False
        self.heard_at = -NEXT_HEARTBEAT_MS
        """The time of the last arrival."""

    def give(self, member: str, at: int | None) -> None:
        """Assign a member its former slot, else a free slot, else a new one."""
        if member in self.of:
            self.free.pop(self.of[member], None)
            return
        while self.free and at is not None and at - (next(iter(self.free.values())) or at) > ANOTHER_LIFE_MS:
            self.free.popitem(last=False)
        if self.free:
            slot, _ = self.free.popitem(last=False)
        else:
            slot = len(self.ids)
            self.ids.append([])
        self.ids[slot].append(member)
        self.of[member] = slot

    def succeed(self, former: str, newcomer: str) -> bool:
        """Move a newcomer from its own slot to the free slot of a former member; False if that is not possible."""
        old, new = self.of.get(former), self.of.get(newcomer)
        if old is None or new is None or old not in self.free or self.ids[new] != [newcomer]:
            return False
        del self.free[old]
        self.ids[new] = []
        self.ids[old].append(newcomer)
        self.of[newcomer] = old
        return True


class _NamesakeTable:
    """The slots of all client ids."""

    def __init__(self) -> None:
        self.by_client: dict[str, _Slots] = defaultdict(_Slots)
        self.live = Members[_Slots]()
        self.opened_at: int | None = None
        self._size: int | None = None
        self._came: dict[str, list[str]] = defaultdict(list)
        self._failed: list[tuple[str, str]] = []
        self._doubled: dict[str, None] = {}

    def move(self, member: str, *, came: bool, at: int | None = None) -> None:
        """Assign a member a slot, or free its slot; member ids without a client id or of stream threads have none."""
        # With a default client id, a member that joins just after another one with this id is a different member.
        client = name_in_member_id(member)
        if client is None or streams_client(client) is not None:
            return
        slots = self.by_client[client]
        is_another = came and member not in slots.of and self.live.number_of(slots) > 0
        if is_another:
            self._came[client].append(member)
        if came and member not in self.live:
            slots.give(member, at)
            self.live[member] = slots
        elif not came and self.live.drop(member) is not None:
            slots.free[slots.of[member]] = at
        if is_another and at is not None and at - slots.heard_at < NEXT_HEARTBEAT_MS and is_default_client_id(client):
            slots.shared = True
        slots.heard_at = at if came and at is not None else slots.heard_at
        if self.live.number_of(slots) > 1:
            self._doubled[client] = None
        else:
            self._doubled.pop(client, None)

    def fail(self, member: str, at: int | None) -> None:
        """Free the slot of a member whose session expired."""
        if (client := name_in_member_id(member)) is not None:
            self._failed.append((client, member))
        self.move(member, came=False, at=at)

    def _succeed(self, size: int) -> None:
        """Move the members that joined in this rebalance to the slots of expired ones, if the group did not grow."""
        for client, former in self._failed if size == self._size else ():
            came = self._came[client]
            taken = next((m for m in came if self.by_client[client].succeed(former, m)), None)
            if taken is not None:
                came.remove(taken)
        self._size = size
        self._came.clear()
        self._failed.clear()

    def stabilized(self, event: ev.GenerationStabilized) -> None:
        """Mark the namesakes as members of one generation, if all members with a slot are in it."""
        # Before 2.7 no line counts the members, but a barrier that completes at once did not wait for a dead member.
        if event.member_count == len(self.live):
            self.mark_shared()
        self._succeed(len(self.live) if event.member_count is None else event.member_count)
        soon = self.opened_at is not None and (event.at or 0) - self.opened_at < NEXT_HEARTBEAT_MS
        if event.member_count is None and soon:
            for client in self._doubled:
                self.by_client[client].uncounted = True

    def mark_shared(self) -> None:
        """Mark client ids with several members in one generation as shared by several processes."""
        for client in self._doubled:
            self.by_client[client].shared = True


def members_by_client_id(lines: EventIndex, only_log: Callable[[str], bool]) -> list[tuple[str, Sequence[str]]]:
    """Client ids that several members of a generation had at the same time, each with the member ids of its slots.

    If only one log has a client id, members that no line counts are assumed to be from this log.
    """
    table = _NamesakeTable()
    for event in lines.of_type(
        *_MEMBERSHIP_EVENTS, *(_CLIENT_EVENTS if lines.has_type(ev.GenerationStabilized) else ())
    ):
        _apply(table, event)
    found = table.by_client.items()
    shared = [(c, s) for c, s in found if s.shared or (s.uncounted and not only_log(c))]
    return [(client, ids) for client, s in shared for ids in s.ids if ids]


def _apply(table: _NamesakeTable, event: Event) -> None:
    if type(event) is ev.GenerationStabilized:
        table.stabilized(event)
        return
    if type(event) is ev.GroupEmptied:
        for member in [*table.live]:
            table.move(member, came=False, at=event.at)
    elif type(event) is ev.RebalanceStarted:
        table.opened_at = event.at
    for came, member in member_moves(event):
        if type(event) is ev.MemberFailed:
            table.fail(member, event.at)
        else:
            table.move(member, came=came, at=event.at)
    if type(event) is ev.AssignmentComputed:
        assigned = {member for member, _ in event.assignment}
        for member in [member for member in table.live if member not in assigned]:
            table.move(member, came=False)
        for member in sorted(assigned):
            table.move(member, came=True)
        table.mark_shared()


_MOVES = frozenset({
    ev.RebalanceStarted, ev.AssignmentReceived, ev.MemberIdIssued, ev.MemberLoaded, ev.MemberJoined, ev.JoinSucceeded,
    ev.SyncSucceeded, ev.MemberFailed, ev.MemberLeft, ev.PendingMemberRemoved,
})  # fmt: skip


def member_moves(event: Event) -> Sequence[tuple[bool, str]]:
    """The member ids in a line, each with True if it joined or is in the group, False if it left."""
    if type(event) not in _MOVES:
        return ()
    match event:
        case ev.RebalanceStarted(members=ids, trigger=trigger):
            move = MOVES_BY_TRIGGER.get(trigger, "replaced")
            # No separate line reports that the former id of a static member left; its slot stays the same.
            return [(move in ("came", "is in"), m) for m in ids] if move != "replaced" else ()
        case ev.AssignmentReceived(leader=m):
            return ((True, m),) if m is not None else ()
        case (
            ev.MemberIdIssued(member=m)
            | ev.MemberLoaded(member=m)
            | ev.MemberJoined(member=m)
            | ev.JoinSucceeded(member=m)
            | ev.SyncSucceeded(member=m)
        ):
            return ((True, m),) if m is not None else ()
        case ev.MemberFailed(members=ids):
            return [(False, m) for m in ids]
        case ev.MemberLeft(member=m) | ev.PendingMemberRemoved(member=m):
            return ((False, m),) if m is not None else ()
    return ()


# A member that is removed while it joins (PendingMemberRemoved) was never in the group, so no rebalance removes it.
_REMOVED = (ev.MemberLeft, ev.MemberFailed, ev.RebalanceStarted)
_ANSWERS = (ev.HeartbeatFailed, ev.JoinStarted, ev.JoinFailed, ev.GenerationReset)


# Before 2.7 no client logs its member id, and by default all processes have the same client id. A client that learns of
# a rebalance from a heartbeat response is still a member: the coordinator began the rebalance to remove another one.
def foreign_members(participants: ParticipantDrafts, lines: EventIndex) -> Iterator[tuple[str, str]]:
    """The client id and member id of each member that did not write any of the logs with this client id."""
    answers: dict[ParticipantDraft | None, TimeIndex[Event]] | None = None
    for at, member in _removed(lines):
        client = name_in_member_id(member)
        # The client id of a stream thread starts with the id of its process, so it is unique.
        if not client or streams_client(client) is not None or participants.knows_member(member):
            continue
        logged = [participant for participant in participants.with_client_id(client) if participant.has_log]
        if logged and answers is None:
            answers = lines.of_type(*_ANSWERS).by(participants.of_speaker)
        if logged and answers and all(_is_still_in(answers.get(participant, NOTHING), at) for participant in logged):
            yield client, member


def _removed(lines: EventIndex) -> Iterator[tuple[int, str]]:
    for event in lines.of_type(*_REMOVED):
        if event.at is not None and event.speaker.role == "broker":
            yield from ((event.at, member) for came, member in member_moves(event) if not came)


def _is_still_in(answers: TimeIndex[Event], at: int) -> bool:
    """True if the first response after that time is that the group is rebalancing."""
    # A client often rejoins in the millisecond in which it learns of the rebalance; its log preserves the order.
    first = answers.first(at + 1)
    is_notice = isinstance(first, ev.HeartbeatFailed) and first.error == "REBALANCE_IN_PROGRESS"
    return first is not None and is_notice and time_of(first) - at <= NEXT_HEARTBEAT_MS
