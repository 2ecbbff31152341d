"""The group of a client whose log names none, by the coordinator's lines: member ids begin with the client id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.events.membership import MemberFailed, MemberLeft, PollTimeoutExpired
from rebalance_forensics.events.rebalances import RebalanceStarted
from rebalance_forensics.timeline.group_attribution import OF_A_MEMBER
from rebalance_forensics.timeline.identity.names import is_default_client_id, name_in_member_id
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

_MEMBER_EVENTS = (*OF_A_MEMBER, CoordinatorLost, NodeDisconnected)
Lost = tuple[int, str]
"""The time at which the coordinator removed a member, and its id."""
Losses = dict[str, TimeIndex[Lost]]
"""By client id."""


class UnnamedClients:
    """Lines of clients in one cluster about their membership that name no group."""

    def __init__(self) -> None:
        self._events: dict[str, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))

    def add(self, event: Event) -> None:
        """Add a client's line that names no group."""
        client = event.speaker.client_id
        by_a_member = isinstance(event, PollTimeoutExpired) or (
            isinstance(event, _MEMBER_EVENTS) and event.speaker.role == "other"
        )
        if client and by_a_member:
            self._events[client][place_name(event)].append(event)

    def of_group(self, group: str, own: Sequence[Event]) -> Iterator[Event]:
        """The lines of those clients that this group's coordinator knows as its members."""
        if not self._events:
            return
        by_broker = [event for event in own if event.speaker.role == "broker"]
        known = {name for event in by_broker for member in _members(event) if (name := name_in_member_id(member))}
        losses = _losses(by_broker)
        times = [event.at for event in by_broker if event.at is not None]
        heard = (min(times), max(times)) if times else None
        for client in sorted(self._events.keys() & (known | losses.keys())):
            for events in self._events[client].values():
                seen = {
                    id(event): member for event in events if (member := _member_lost_then(event, losses.get(client)))
                }
                if seen or not is_default_client_id(client):
                    yield from (
                        _of_the_group(event, group, seen.get(id(event)))
                        for event in events
                        if id(event) in seen or not _would_be_seen(event, heard)
                    )


def _of_the_group(event: Event, group: str, member: str | None) -> Event:
    if isinstance(event, PollTimeoutExpired):
        return replace(event, group=group, member=member)
    return replace(event, group=group)


def _members(event: Event) -> Iterator[str]:
    names = (getattr(event, "member", None), *getattr(event, "members", ()))
    return (name for name in names if isinstance(name, str))


def _losses(events: Iterable[Event]) -> Losses:
    found: dict[str, list[Lost]] = defaultdict(list)
    for event in events:
        lost = isinstance(event, MemberLeft | MemberFailed)
        lost |= isinstance(event, RebalanceStarted) and event.trigger in ("member-left", "heartbeat-expired")
        if lost and event.at is not None:
            for member in _members(event):
                client = getattr(event, "client_id", None) or name_in_member_id(member)
                if client:
                    found[client].append((event.at, member))
    return {client: TimeIndex(lost, itemgetter(0)) for client, lost in found.items()}


def _member_lost_then(event: Event, losses: TimeIndex[Lost] | None) -> str | None:
    """The member that the coordinator removed when the client logs that it lost its membership."""
    lost = isinstance(event, PollTimeoutExpired) or (isinstance(event, CoordinatorLost) and event.for_ms is not None)
    if not lost or event.at is None or losses is None:
        return None
    first = losses.first(event.at - HEARTBEAT_MS)
    return first[1] if first is not None and first[0] <= event.at + HEARTBEAT_MS else None


def _would_be_seen(event: Event, heard: tuple[int, int] | None) -> bool:
    """True for a poll timeout within the coordinator's log that it does not show: the client left another group."""
    if not isinstance(event, PollTimeoutExpired) or event.at is None or heard is None:
        return False
    return heard[0] <= event.at <= heard[1]
