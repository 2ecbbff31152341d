"""Members that share a client id: Kafka's default (`consumer-{group}-1`) is the same in every process.

From the coordinator's lines alone, or where some of them have no log, only their member ids tell them apart;
a new id takes the place of the namesake that has been away longest.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import (
    MemberFailed,
    MemberIdIssued,
    MemberJoined,
    MemberLeft,
    MemberLoaded,
    PendingMemberRemoved,
)
from rebalance_forensics.events.rebalancing import (
    AssignmentComputed,
    AssignmentReceived,
    GenerationStabilized,
    GroupEmptied,
    RebalanceStarted,
)
from rebalance_forensics.timeline.names import name_in_member_id, streams_client

GONE = ("member-left", "heartbeat-expired", "sync-expired")
CAME = ("member-added", "member-rejoined", "leader-rejoined")


class _Seats:
    """The members of one client id: each seat is one process, with the member ids it had one after another."""

    def __init__(self) -> None:
        self.ids: list[list[str]] = []
        self.of: dict[str, int] = {}
        self.taken: set[str] = set()
        self.free: deque[int] = deque()
        self.shared = False

    def come(self, member: str) -> None:
        if member in self.taken:
            return
        self.taken.add(member)
        if member in self.of:
            if self.of[member] in self.free:
                self.free.remove(self.of[member])
            return
        if not self.free:
            self.free.append(len(self.ids))
            self.ids.append([])
        seat = self.free.popleft()
        self.ids[seat].append(member)
        self.of[member] = seat

    def go(self, member: str) -> None:
        if member in self.taken:
            self.taken.discard(member)
            self.free.append(self.of[member])


def seats(events: Iterable[Event]) -> list[tuple[str, Sequence[str]]]:
    """Client ids that several members of one generation had at once: for each seat, its member ids."""
    by_client: dict[str, _Seats] = defaultdict(_Seats)
    for event in events:
        _hear(by_client, event)
    return [(client, ids) for client, s in by_client.items() if s.shared for ids in s.ids]


def _hear(by_client: dict[str, _Seats], event: Event) -> None:
    if isinstance(event, GroupEmptied):
        for each in by_client.values():
            for member in tuple(each.taken):
                each.go(member)
    for came, member in _moves(event):
        client = name_in_member_id(member)
        if client is not None and streams_client(client) is None:
            (by_client[client].come if came else by_client[client].go)(member)
    if isinstance(event, AssignmentComputed):
        _exactly(by_client, {member for member, _ in event.assignment})
    elif isinstance(event, GenerationStabilized):
        present = sum(len(each.taken) for each in by_client.values())
        if event.member_count == present:
            _at_once(by_client)


def _moves(event: Event) -> Iterator[tuple[bool, str]]:
    match event:
        case MemberIdIssued(member=m) | MemberLoaded(member=m):
            yield True, m
        case MemberJoined(member=m) | AssignmentReceived(leader=m) if m is not None:
            yield True, m
        case MemberLeft(member=m) if m is not None:
            yield False, m
        case PendingMemberRemoved(member=m):
            yield False, m
        case MemberFailed(members=ids):
            yield from ((False, m) for m in ids)
        case RebalanceStarted(members=ids, trigger=trigger) if trigger in GONE or trigger in CAME:
            yield from ((trigger in CAME, m) for m in ids)


def _exactly(by_client: dict[str, _Seats], told: set[str]) -> None:
    for each in by_client.values():
        for member in each.taken - told:
            each.go(member)
    for member in sorted(told):
        client = name_in_member_id(member)
        if client is not None and streams_client(client) is None:
            by_client[client].come(member)
    _at_once(by_client)


def _at_once(by_client: dict[str, _Seats]) -> None:
    """The join barrier opens only for members that are alive: two of one client id are two processes."""
    for each in by_client.values():
        each.shared = each.shared or len(each.taken) > 1
