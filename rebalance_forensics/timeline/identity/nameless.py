"""Clients that print no client id, as those in Python: the member id they are given names them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import own_member_id, place_name


def with_client_ids(events: Sequence[Event], shared: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
    """Both, what a client says in a log of its own with the client id that its member ids begin with."""
    by_file: dict[Place | str, set[str]] = defaultdict(set)
    by_place: dict[Place | str, set[str]] = defaultdict(set)
    for event in events:
        if is_nameless(event) and (member := own_member_id(event)):
            name = name_in_member_id(member) or ""
            by_file[place_of(event)].add(name)
            by_place[place_name(event)].add(name)
    # In a rolled log only one of the files may tell.
    names = {place: name for place, (name, *others) in (by_place | by_file).items() if name and not others}
    if not names:
        return events, shared
    return [named(event, names) for event in events], [named(event, names) for event in shared]


def is_nameless(event: Event) -> bool:
    """Whether a client that is none of Java's says it without its name."""
    return event.speaker.role == "other" and event.speaker.client_id is None


def named(event: Event, names: Mapping[Place | str, str]) -> Event:
    """What a nameless client says, with the name of its file or place."""
    if not is_nameless(event):
        return event
    name = names.get(place_of(event)) or names.get(place_name(event))
    return replace(event, speaker=replace(event.speaker, client_id=name)) if name else event
