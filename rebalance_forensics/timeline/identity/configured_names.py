"""Java consumers before 1.0 print their group and no client id: their configuration, logged as they start, has it.

Since 1.0 every line of a consumer begins with `[Consumer clientId=…, groupId=…]`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.timeline.group_attribution import group_in
from rebalance_forensics.timeline.identity.participants import place_name


def with_configured_names(group: str, own: Sequence[Event], shared: Sequence[Event]) -> Sequence[Event]:
    """The group's own lines; where one client alone was configured, and none says its name, they are that client's."""
    nameless = {place_name(e) for e in own if _is_javas(e)} - {place_name(e) for e in own if _names_its_speaker(e)}
    names = _configured(group, nameless, shared) if nameless else {}
    if not names:
        return own
    return [_named(event, names) for event in own]


def _configured(group: str, places: set[str], shared: Iterable[Event]) -> dict[str, str]:
    """By place, the client id in the configuration of its consumers, if all of them are of this group and have one."""
    told: dict[str, set[str | None]] = defaultdict(set)
    for event in shared:
        if isinstance(event, SettingsReported) and event.kind == "ConsumerConfig" and place_name(event) in places:
            told[place_name(event)].add(dict(event.settings).get("client.id") if group_in(event) == group else None)
    return {place: name for place, (name, *others) in told.items() if name and not others}


def _is_javas(event: Event) -> bool:
    return event.speaker.role == "consumer" and event.group is not None


def _names_its_speaker(event: Event) -> bool:
    return event.speaker.role != "broker" and event.speaker.client_id is not None


def _named(event: Event, names: dict[str, str]) -> Event:
    name = names.get(place_name(event)) if _is_javas(event) else None
    return replace(event, speaker=replace(event.speaker, client_id=name)) if name else event
