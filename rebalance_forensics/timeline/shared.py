"""Events that name no group reach the groups they concern: by file, host and Streams client; brokers reach all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.timeline.names import streams_client


def concerning(group: str, own: Sequence[Event], shared: Iterable[Event]) -> list[Event]:
    """Those of `shared` that this group's story needs."""
    places = {_place(e) for e in own if e.speaker.role != "broker"}
    clients = {c for e in own if e.speaker.client_id and (c := streams_client(e.speaker.client_id))}
    return [event for event in shared if _concerns(event, group, places, clients)]


def _place(event: Event) -> str:
    return event.speaker.host or event.speaker.file


def _concerns(event: Event, group: str, places: set[str], clients: set[str]) -> bool:
    if event.speaker.role == "broker":
        return True
    if _place(event) not in places:
        return False
    if isinstance(event, SettingsReported):
        settings = dict(event.settings)
        named = settings.get("group.id") or settings.get("application.id")
        return named in (None, "", "null", group)
    client = streams_client(event.speaker.thread or "") or streams_client(event.speaker.client_id or "")
    return client is None or not clients or client in clients
