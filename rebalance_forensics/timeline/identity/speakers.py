"""The speaker of each line: its process, where a host runs several, and its client id, where the line prints none.

A client id comes from the process's configuration, from member ids in the same log, or from a member id that the
coordinator issued when only this client had asked to join.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import (
    LeaveSent,
    MemberIdIssued,
    MemberJoined,
    PollTimeoutExpired,
    Subscribed,
)
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.events.rebalances import JoinStarted, JoinSucceeded
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, on_one_clock, place_of, read_clocks
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.group_attribution import group_in
from rebalance_forensics.timeline.group_lines import GroupLines
from rebalance_forensics.timeline.identity.copied_logs import without_copies
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import own_member_id, place_name
from rebalance_forensics.timeline.identity.processes_per_host import with_process_places
from rebalance_forensics.timeline.windows import REQUEST_MS, TICK_MS


def identified(lines: GroupLines, ungrouped: UngroupedEvents) -> GroupLines:
    """The lines, each with the process and the client that wrote it."""
    own_lines, nearby = with_process_places(*without_copies(lines.own, lines.nearby))
    own, other = _with_names_from_member_ids(_with_configured_names(lines.group, own_lines, nearby), nearby)
    if any(_lacks_client_id(event) for event in own):
        # When an id was given and when a client asked for it stand in different logs. This is a first look at the
        # clocks: whose the other lines are, and with them the clocks of their logs, is known only with these names.
        own, other = _with_introduced_names(own, other, read_clocks([*own, *ungrouped.witnesses]))
    return GroupLines(lines.group, tuple(own), tuple(other))


def _with_configured_names(group: str, own: Sequence[Event], shared: Sequence[Event]) -> Sequence[Event]:
    """The group's own lines, those without a client id with the only one that their process configured."""
    nameless = {place_name(e) for e in own if _is_java_line(e)} - {place_name(e) for e in own if _names_its_speaker(e)}
    names = _configured(group, nameless, shared) if nameless else {}
    if not names:
        return own
    return [_with_configured_name(event, names) for event in own]


def _configured(group: str, places: set[str], shared: Iterable[Event]) -> dict[str, str]:
    """Place -> client id, where all consumers configured there have the same one and are of this group."""
    names_by_place: dict[str, set[str | None]] = defaultdict(set)
    for event in shared:
        if isinstance(event, SettingsReported) and event.kind == "ConsumerConfig" and place_name(event) in places:
            names_by_place[place_name(event)].add(
                dict(event.settings).get("client.id") if group_in(event) == group else None
            )
    return {place: name for place, (name, *others) in names_by_place.items() if name and not others}


def _is_java_line(event: Event) -> bool:
    return event.speaker.role == "consumer" and event.group is not None


def _names_its_speaker(event: Event) -> bool:
    return event.speaker.role != "broker" and event.speaker.client_id is not None


def _with_configured_name(event: Event, names: dict[str, str]) -> Event:
    name = names.get(place_name(event)) if _is_java_line(event) else None
    return replace(event, speaker=replace(event.speaker, client_id=name)) if name else event


def _with_names_from_member_ids(
    events: Sequence[Event], shared: Sequence[Event]
) -> tuple[Sequence[Event], Sequence[Event]]:
    """Both lists, lines of clients that print no client id (Python's) with the one that their member ids begin with."""
    by_file: dict[Place | str, set[str]] = defaultdict(set)
    by_place: dict[Place | str, set[str]] = defaultdict(set)
    for event in events:
        if _lacks_client_id(event) and (member := own_member_id(event)):
            name = name_in_member_id(member) or ""
            by_file[place_of(event)].add(name)
            by_place[place_name(event)].add(name)
    # In a rolled log a member id may stand in only one of the files.
    names = {place: name for place, (name, *others) in (by_place | by_file).items() if name and not others}
    if not names:
        return events, shared
    return [_with_name(event, names) for event in events], [_with_name(event, names) for event in shared]


def _with_introduced_names(
    events: Sequence[Event], shared: Sequence[Event], clocks: Mapping[Place, FileClock]
) -> tuple[Sequence[Event], Sequence[Event]]:
    """Both lists, the lines of such clients with the client id in a member id that only they can have been issued."""
    asked = _first_joins([e for e in events if _lacks_client_id(e) and e.at is not None], clocks)
    if not asked:
        return events, shared
    names_by_place: dict[str, set[str]] = defaultdict(set)
    for at, name in _ids_given(events, clocks):
        near = [place for place, times in asked.items() if any(at - TICK_MS <= t <= at + REQUEST_MS for t in times)]
        if len(near) == 1:
            names_by_place[near[0]].add(name)
    places: dict[str, set[str]] = defaultdict(set)
    for place, found in names_by_place.items():
        for name in found:
            places[name].add(place)
    names: dict[Place | str, str] = {
        place: name for place, (name, *others) in names_by_place.items() if not others and len(places[name]) == 1
    }
    if not names:
        return events, shared
    return [_with_name(event, names) for event in events], [_with_name(event, names) for event in shared]


def _ids_given(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> list[tuple[int, str]]:
    """The times at which ids were issued to members without a known log, with the client ids in them."""
    known = {event.speaker.client_id for event in events if event.speaker.role != "broker"}
    given = on_one_clock(
        (e for e in events if isinstance(e, MemberIdIssued | MemberJoined) and e.at is not None), dict(clocks)
    )
    found = [(event.at or 0, name_in_member_id(event.member or "")) for event in given]
    return [(at, name) for at, name in found if name is not None and name not in known]


def _first_joins(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> dict[str, list[int]]:
    """Place -> the times at which its client asked to join while it had no member id."""
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


def _lacks_client_id(event: Event) -> bool:
    """True for a line of a client other than Java's that prints no client id."""
    return event.speaker.role == "other" and event.speaker.client_id is None


def _with_name(event: Event, names: Mapping[Place | str, str]) -> Event:
    """A line with the client id of its file or place, if it prints none itself."""
    if not _lacks_client_id(event):
        return event
    name = names.get(place_of(event)) or names.get(place_name(event))
    return replace(event, speaker=replace(event.speaker, client_id=name)) if name else event
