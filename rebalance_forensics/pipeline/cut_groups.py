"""Lines of a paste whose group was cut off: they are of the one group that the other lines name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rebalance_forensics.catalog.bare_messages import LEFT_OUT
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberFailed, MemberIdIssued, MemberJoined, MemberLeft
from rebalance_forensics.timeline.group_attribution import OF_A_MEMBER

_NAME_THEIR_GROUP = (*OF_A_MEMBER, MemberFailed, MemberIdIssued, MemberJoined, MemberLeft)
_ROLES = frozenset({"broker", "consumer", "share", "streams", "connect"})
"""Who names the group in every such line."""
_BEGUN = re.compile(rf"groupId=([^\],\s{LEFT_OUT}]{{0,250}})\s?{LEFT_OUT}")


def with_their_groups(events: Iterable[Event]) -> Iterator[Event]:
    """The events of a paste; where it names several groups, or none, those without one stay without."""
    held: list[Event] = []
    failure: Exception | None = None
    try:
        held.extend(events)
    except Exception as error:  # noqa: BLE001 - what came before it stays, as in a log
        failure = error
    groups = {event.group for event in held if event.group is not None}
    only = groups.pop() if len(groups) == 1 else None
    yield from held if only is None else (replace(e, group=only) if _is_of(only, e) else e for e in held)
    if failure is not None:
        raise failure


def _is_of(group: str, event: Event) -> bool:
    """Whether the line named a group before it was cut, and this one may be it."""
    if event.group is not None or not isinstance(event, _NAME_THEIR_GROUP) or event.speaker.role not in _ROLES:
        return False
    if event.speaker.role != "broker" and event.speaker.client_id is None:
        return False  # nobody knows who speaks
    begun = _BEGUN.search(event.text)
    return LEFT_OUT in event.text and (begun is None or group.startswith(begun[1]))
