"""Completes names that were cut off in a pasted excerpt from the lines that show them in full."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.pipeline.short_logs import on_the_brokers_clock
from rebalance_forensics.records import LEFT_OUT
from rebalance_forensics.timeline.group_attribution import OF_A_MEMBER
from rebalance_forensics.timeline.identity.log_writers import instance_of
from rebalance_forensics.timeline.identity.names import (
    is_bare_member_id,
    letters_of_its_own,
    name_in_member_id,
    process_of_streams_client,
    thread_of,
)
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS, TICK_MS

_NAME_THEIR_GROUP = (
    *OF_A_MEMBER, ev.GroupHeartbeatFailed, ev.GroupLoaded, ev.MemberFailed, ev.MemberIdIssued, ev.MemberJoined,
    ev.MemberLeft, ev.OffsetCommitFailed,
)  # fmt: skip
# Processes that name the group in every line.
_ROLES = frozenset({"broker", "consumer", "share", "streams", "connect"})
_CUT_GROUP = re.compile(rf"groupId=([^\],\s{LEFT_OUT}]{{0,250}})\s?{LEFT_OUT}")
_HEARTBEATS = re.compile(r"kafka-coordinator-heartbeat-thread \| (\S{1,250})")
_CLIENTS = re.compile(r"[\[ ]clientId=([^\],\s\u2026]{1,250})[\],]")
_GROUPS = re.compile(r"[\[ ]groupId=([^\],\s\u2026]{1,250})[\],]")
_OF_MEMBERS = ("member", "members", "old_member")
# Characters that distinguish a group.instance.id, or one of Kafka's random ids, from the few others in a paste.
_MIN_LETTERS = 4


class Named:
    """The clients and groups that are named in full by lines too truncated to become events."""

    def __init__(self) -> None:
        self.clients: set[str] = set()
        self.groups: set[str] = set()

    def read(self, text: str) -> None:
        """Add the client and the group that a line names; its message may be cut off."""
        self.clients.update(_CLIENTS.findall(text))
        self.groups.update(_GROUPS.findall(text))


def restore_names(read: Iterable[Event], named: Named | None = None) -> Sequence[Event]:
    """The events of a paste, with groups and member ids completed from its other events and from `named`."""
    events: Sequence[Event] = on_the_brokers_clock(list(read))
    if any(map(_is_cut, events)):
        groups = {
            g
            for event in events
            if (g := event.group or _group_of_heartbeat_thread(event)) and not g.endswith(LEFT_OUT)
        }
        members = _Members(events, groups, named.clients if named is not None else ())
        groups |= named.groups if named is not None else set()
        events = [_with_its_group(groups, members.restore_ids(event)) for event in events]
        spoken = {event.speaker.client_id for event in events} | (named.clients if named is not None else set())
        events = list(restore_static_members(events, spoken))
        events = [_with_its_client(events, event) for event in events]
    return events


def _is_cut(event: Event) -> bool:
    # True if part of the line was left out, or the line ends within an id.
    return LEFT_OUT in event.text or any(member.endswith(LEFT_OUT) for member in _members_of(event))


def _with_its_group(groups: set[str], event: Event) -> Event:
    # The event has no group if none or several of the groups in the paste fit.
    if event.group is not None and not event.group.endswith(LEFT_OUT):
        return event
    prefix = "" if event.group is None else event.group.removesuffix(LEFT_OUT)
    if event.group is None and not _named_a_group(event):
        return event
    if event.group is None and (inside := _CUT_GROUP.search(event.text)):
        prefix = inside[1]
    if (of_its_thread := _group_of_heartbeat_thread(event)) is not None:
        return replace(event, group=of_its_thread)
    fitting = [group for group in groups if group.startswith(prefix)]
    return replace(event, group=fitting[0] if len(fitting) == 1 else None)


def _named_a_group(event: Event) -> bool:
    if LEFT_OUT not in event.text or not isinstance(event, _NAME_THEIR_GROUP) or event.speaker.role not in _ROLES:
        return False
    return (
        event.speaker.role == "broker"
        or event.speaker.client_id is not None
        or _group_of_heartbeat_thread(event) is not None
    )


def _group_of_heartbeat_thread(event: Event) -> str | None:
    # The group in the name of a consumer's heartbeat thread (AbstractCoordinator).
    named = _HEARTBEATS.fullmatch(event.speaker.thread or "")
    return named[1] if named else None


def _with_its_client(events: Sequence[Event], event: Event) -> Event:
    # If the client id of a heartbeat thread's line was cut off, it is the client that leaves the group at that time.
    if event.speaker.client_id is not None or _group_of_heartbeat_thread(event) is None or event.at is None:
        return event
    near = [e for e in events if isinstance(e, ev.MemberLeft) and e.group == event.group and _soon_after(event, e)]
    clients = {name_in_member_id(e.member) if e.member else None for e in near}
    (client, *others) = clients or {None}
    return event if client is None or others else replace(event, speaker=replace(event.speaker, client_id=client))


def _soon_after(event: Event, later: Event) -> bool:
    return event.at is not None and later.at is not None and 0 <= later.at - event.at <= ROUND_TRIP_MS


def _members_of(event: Event) -> Iterator[str]:
    for name in _OF_MEMBERS:
        value = getattr(event, name, None)
        yield from (value,) if isinstance(value, str) else (value or ())


class _Members:
    """The members and clients that a paste names."""

    def __init__(self, events: Sequence[Event], groups: set[str], clients: Collection[str]) -> None:
        self.ids = {member for event in events for member in _members_of(event)}
        self.clients = {event.speaker.client_id or "" for event in events}
        self.clients.update(clients)
        self.clients |= {name_in_member_id(member) or "" for member in self.ids if not member.endswith(LEFT_OUT)}
        self.streams = {client for event in events if (client := instance_of(event)) is not None}
        self.groups = groups
        self.issued = [e for e in events if isinstance(e, ev.MemberIdIssued) and e.member is not None]

    def restore_ids(self, event: Event) -> Event:
        """The event, with its member ids completed from the other lines."""
        if not any(member.endswith(LEFT_OUT) for member in _members_of(event)):
            return event
        if (newcomer := self._issued_id(event)) is not None:
            return replace(event, members=(newcomer,))
        changed: dict[str, object] = {}
        for name in _OF_MEMBERS:
            value = getattr(event, name, None)
            if isinstance(value, str):
                changed[name] = self._whole(value)
            elif value:
                changed[name] = tuple(whole for each in value if (whole := self._whole(each)) is not None)
        return replace(event, **changed)

    def _issued_id(self, event: Event) -> str | None:
        # A new member joins with the id that the coordinator has just issued (KIP-394).
        if not isinstance(event, ev.RebalanceStarted) or event.trigger != "member-added" or len(event.members) != 1:
            return None
        prefix = event.members[0].removesuffix(LEFT_OUT)
        issued = [e.member for e in self.issued if e.group == event.group and _soon_after(e, event)]
        return next((member for member in reversed(issued) if member is not None and member.startswith(prefix)), None)

    def _whole(self, member: str) -> str | None:
        # The member id with this prefix that another line shows in full, else the name of its Streams thread, if any.
        prefix = member.removesuffix(LEFT_OUT)
        if prefix == member or _is_whole(prefix):
            return prefix
        longer = {each for each in self.ids if each.removesuffix(LEFT_OUT).startswith(prefix)}
        longest = {each for each in longer if not any(_is_cut_prefix(each, other) for other in longer)}
        if len(longest) == 1:
            (whole,) = longest
            own = whole if is_bare_member_id(whole) else letters_of_its_own(whole)
            shown = len(prefix) - len(whole.removesuffix(LEFT_OUT)) + len(own)
            if shown >= _MIN_LETTERS and (_is_whole(whole) or self._ends_in_member_suffix(whole)):
                return whole
        return self._streams_thread_of(prefix)

    def _streams_thread_of(self, prefix: str) -> str | None:
        """The name of the thread of the only Streams client whose member ids have this prefix; None if several fit."""
        known = [client for client in self.streams if client.startswith(prefix) or prefix.startswith(f"{client}-S")]
        if len(known) != 1:
            return None
        uuid = process_of_streams_client(known[0]) or known[0]
        return thread_of(known[0]) if len(prefix) - len(known[0]) + len(uuid) >= _MIN_LETTERS else None

    def _ends_in_member_suffix(self, member: str) -> bool:
        # True if the end of a cut id certainly belongs to the member id's suffix, not to the client id.
        # A Streams client id is `{group}-{uuid}`, and its member ids append another uuid.
        name = name_in_member_id(member)
        return name not in self.groups and (name in self.clients or "-" in letters_of_its_own(member))


def _is_whole(member: str) -> bool:
    return not member.endswith(LEFT_OUT) and (name_in_member_id(member) is not None or is_bare_member_id(member))


def _is_cut_prefix(prefix: str, other: str) -> bool:
    return prefix.endswith(LEFT_OUT) and prefix != other and other.startswith(prefix.removesuffix(LEFT_OUT))


# The start of the line that is logged both for new static members and for those that rejoin (since 3.0).
_JOINS = re.compile(r"\bStatic member with groupInstanceId=")
_ADDED = re.compile(r"\badd(?:ed)? to the group")


def restore_static_members(events: Sequence[Event], clients: Collection[str | None]) -> Iterator[Event]:
    """The events of a paste, with static members recognized from its other lines; `clients`: all client ids in it."""
    shown: dict[str | None, set[str]] = defaultdict(set)
    for event in events:
        if isinstance(event, ev.MemberJoined | ev.StaticMemberReplaced) and event.instance_id:
            shown[event.group].add(event.instance_id)
    known = [_known_as_static(event, shown, clients) for event in events] if shown else events
    return _classify_cut_joins(list(_restore_instance_ids(known)))


def _known_as_static(
    event: Event, shown: Mapping[str | None, Collection[str]], clients: Collection[str | None]
) -> Event:
    # A failed member is static if its id starts with a group.instance.id that another line shows.
    # The end of that group.instance.id may be cut off, as long as no client id equals the name.
    if not (isinstance(event, ev.MemberFailed) and len(event.members) == 1):
        return event
    name = name_in_member_id(event.members[0])
    if name is None or name in clients:
        return event
    is_static = any(_is_or_begins(each, name) for each in shown.get(event.group, ()))
    return replace(event, instance_id=name) if is_static else event


def _restore_instance_ids(events: Sequence[Event]) -> Iterator[Event]:
    # A cut group.instance.id is completed if only one fits; otherwise it is dropped.
    ids = {getattr(event, "instance_id", None) or event.speaker.instance_id for event in events}
    whole = [each for each in ids if each and not each.endswith(LEFT_OUT)]
    for event in events:
        instance_id = getattr(event, "instance_id", None)
        if not (isinstance(instance_id, str) and instance_id.endswith(LEFT_OUT)):
            yield event
            continue
        longer = [each for each in whole if _is_or_begins(instance_id, each)]
        if len(longer) == 1:
            yield replace(event, instance_id=longer[0])
        elif not isinstance(event, ev.StaticMemberReplaced):  # meaningless without the id
            yield replace(event, instance_id=None)


def _is_or_begins(instance_id: str, name: str) -> bool:
    # True if the name is this group.instance.id, whose end may be cut off.
    prefix = instance_id.removesuffix(LEFT_OUT)
    return name == instance_id if prefix == instance_id else len(prefix) >= _MIN_LETTERS and name.startswith(prefix)


def _classify_cut_joins(events: Sequence[Event]) -> Iterator[Event]:
    # Whether a static member in a cut join line is new or has rejoined may be shown by the next line. If nothing shows
    # it, the event is dropped. Lines of the same millisecond may be swapped if a person sorted them by time.
    for place, event in enumerate(events):
        if not (isinstance(event, ev.MemberJoined) and event.member is None and _is_open(event)):
            yield event
        elif event.instance_id and any(_is_kept(event, each) for each in events[max(0, place - 1) : place + 2]):
            yield ev.StaticMemberReplaced(**in_common(event), instance_id=event.instance_id, state=event.state)


def _is_open(event: Event) -> bool:
    # True if a static member's line was cut before the part that shows whether it was added to the group.
    _, cut, rest = event.text.partition(LEFT_OUT)
    return bool(cut) and _JOINS.search(event.text) is not None and _ADDED.search(rest) is None


def _is_kept(event: Event, following: Event) -> bool:
    """True if the coordinator logs next that this join starts no rebalance."""
    if not isinstance(following, ev.StaticMemberKept):
        return False
    is_after = following.origin.byte_offset > event.origin.byte_offset
    if event.at is None or following.at is None:
        return is_after
    return 0 <= following.at - event.at <= (TICK_MS if is_after else 0)
