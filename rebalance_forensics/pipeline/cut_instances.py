"""Static members in a paste whose lines were cut: which they are, and whether they are new or came back."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.events.membership import MemberFailed, MemberJoined, StaticMemberKept, StaticMemberReplaced
from rebalance_forensics.records import LEFT_OUT
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.windows import SAME_STEP_MS

_JOINS = re.compile(r"\bStatic member with groupInstanceId=")
"""How the line begins that tells of a new static member and of one that came back alike (since 3.0)."""
_TAKEN_IN = re.compile(r"\badd(?:ed)? to the group")
_ENOUGH = 4
"""So many letters of a group.instance.id tell it from the few of a paste."""


def restore_static_members(events: Sequence[Event], clients: Collection[str | None]) -> Iterator[Event]:
    """The events of a paste, with what its other lines tell of static members; `clients` are all that it names."""
    shown: dict[str | None, set[str]] = defaultdict(set)
    for event in events:
        if isinstance(event, MemberJoined | StaticMemberReplaced) and event.instance_id:
            shown[event.group].add(event.instance_id)
    known = [_known_as_static(event, shown, clients) for event in events] if shown else events
    return _classify_cut_joins(list(_restore_instance_ids(known)))


def _known_as_static(
    event: Event, shown: Mapping[str | None, Collection[str]], clients: Collection[str | None]
) -> Event:
    """A member that was given up is static if its id begins with a group.instance.id that another line shows.

    Of that one the end may be cut off, as long as no client is called so.
    """
    if not (isinstance(event, MemberFailed) and len(event.members) == 1):
        return event
    name = name_in_member_id(event.members[0])
    if name is None or name in clients:
        return event
    is_static = any(_is_or_begins(each, name) for each in shown.get(event.group, ()))
    return replace(event, instance_id=name) if is_static else event


def _restore_instance_ids(events: Sequence[Event]) -> Iterator[Event]:
    """A group.instance.id of which the end was cut off is the one that begins so; else the line names none."""
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
        elif not isinstance(event, StaticMemberReplaced):  # which tells nothing without
            yield replace(event, instance_id=None)


def _is_or_begins(instance_id: str, name: str) -> bool:
    """Whether a name is this group.instance.id, of which the end may be cut off."""
    begun = instance_id.removesuffix(LEFT_OUT)
    return name == instance_id if begun == instance_id else len(begun) >= _ENOUGH and name.startswith(begun)


def _classify_cut_joins(events: Sequence[Event]) -> Iterator[Event]:
    """Cut lines about a static member that joined: whether it is new or came back, the line behind them may tell.

    Where nothing tells, they say neither. Lines of one millisecond that somebody put in order by time may have changed
    places.
    """
    for place, event in enumerate(events):
        if not (isinstance(event, MemberJoined) and event.member is None and _is_open(event)):
            yield event
        elif event.instance_id and any(_is_kept(event, each) for each in events[max(0, place - 1) : place + 2]):
            yield StaticMemberReplaced(**in_common(event), instance_id=event.instance_id, state=event.state)


def _is_open(event: Event) -> bool:
    """Whether a static member's line was cut before it says that the coordinator took it in."""
    _, cut, behind = event.text.partition(LEFT_OUT)
    return bool(cut) and _JOINS.search(event.text) is not None and _TAKEN_IN.search(behind) is None


def _is_kept(event: Event, following: Event) -> bool:
    """Whether the coordinator says next that this join starts no rebalance."""
    if not isinstance(following, StaticMemberKept):
        return False
    is_behind = following.origin.byte_offset > event.origin.byte_offset
    if event.at is None or following.at is None:
        return is_behind
    return 0 <= following.at - event.at <= (SAME_STEP_MS if is_behind else 0)
