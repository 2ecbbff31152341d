"""Clients that print neither a client id nor a member id: when the coordinator gives an id tells whom it is for.

kafka-python before 2.1 is one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import (
    LeaveSent,
    MemberIdIssued,
    MemberJoined,
    PollTimeoutExpired,
    Subscribed,
)
from rebalance_forensics.events.rebalances import JoinStarted, JoinSucceeded
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, on_one_clock
from rebalance_forensics.timeline.identity.nameless import is_nameless, named
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.windows import ID_GIVEN_AFTER_MS, ID_GIVEN_BEFORE_MS


def with_introduced_names(
    events: Sequence[Event], shared: Sequence[Event], clocks: Mapping[Place, FileClock]
) -> tuple[Sequence[Event], Sequence[Event]]:
    """Both, what a nameless client says with the client id in the member id that it alone can have been given."""
    asked = _first_joins([e for e in events if is_nameless(e) and e.at is not None], clocks)
    if not asked:
        return events, shared
    told: dict[str, set[str]] = defaultdict(set)
    for at, name in _ids_given(events, clocks):
        near = [
            place
            for place, times in asked.items()
            if any(at - ID_GIVEN_BEFORE_MS <= t <= at + ID_GIVEN_AFTER_MS for t in times)
        ]
        if len(near) == 1:
            told[near[0]].add(name)
    places: dict[str, set[str]] = defaultdict(set)
    for place, found in told.items():
        for name in found:
            places[name].add(place)
    names: dict[Place | str, str] = {
        place: name for place, (name, *others) in told.items() if not others and len(places[name]) == 1
    }
    if not names:
        return events, shared
    return [named(event, names) for event in events], [named(event, names) for event in shared]


def _ids_given(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> list[tuple[int, str]]:
    """When ids were given to members that no client's log is known of, and the client ids in them."""
    known = {event.speaker.client_id for event in events if event.speaker.role != "broker"}
    given = on_one_clock(
        (e for e in events if isinstance(e, MemberIdIssued | MemberJoined) and e.at is not None), dict(clocks)
    )
    found = [(event.at or 0, name_in_member_id(event.member or "")) for event in given]
    return [(at, name) for at, name in found if name is not None and name not in known]


def _first_joins(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> dict[str, list[int]]:
    """By place, when its client asked to join for the first time in a life: it has no member id yet."""
    asked: dict[str, list[int]] = defaultdict(list)
    joined: set[str] = set()
    for event in sorted(on_one_clock(events, dict(clocks)), key=lambda e: (e.at or 0, e.origin.byte_offset)):
        place = place_name(event)
        if isinstance(event, Subscribed | LeaveSent | PollTimeoutExpired):
            joined.discard(place)
        elif isinstance(event, JoinSucceeded):
            joined.add(place)
        elif isinstance(event, JoinStarted) and place not in joined:
            asked[place].append(event.at or 0)
    return asked
