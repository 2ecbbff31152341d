"""One file with the lines of several Streams instances, as `kubectl logs -l app=shop` writes it without a prefix.

Every line of a stream thread and of its clients names its instance. Instances that speak in one file at the same time
are of different processes; one after another they may be the lives of one, unless a broker speaks there as well: no
process writes the lines of its coordinator.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ProcessStopping
from rebalance_forensics.events.streams import StreamsStateChanged, ThreadAdded, ThreadFailed
from rebalance_forensics.timeline.group_attribution import streams_client_of
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS

_STREAM_CLIENT = re.compile(r"stream-client \[([^\]\s]+)\]")

Spans = dict[str, tuple[int, int]]
"""From when to when each instance speaks."""


def by_instance(mine: Sequence[Event], beside: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
    """The same lines; those of instances that share a file have their instance for a place."""
    together = {*_sharing_a_file(mine), *_beside_their_coordinator(mine, beside)}
    if not together:
        return mine, beside
    return [_placed(event, together) for event in mine], [_placed(event, together) for event in beside]


def _placed(event: Event, together: set[str]) -> Event:
    client = instance_of(event)
    return replace(event, speaker=replace(event.speaker, place=client)) if client in together else event


def instance_of(event: Event) -> str | None:
    """The Streams client that speaks, or whose state a line tells."""
    if event.speaker.role == "broker":
        return None
    match event:
        case StreamsStateChanged(client=str(told)):
            return told
        case ThreadAdded() | ThreadFailed() | ProcessStopping():
            found = _STREAM_CLIENT.search(event.text)
            return found[1] if found else streams_client_of(event)
    return streams_client_of(event)


def _beside_their_coordinator(mine: Sequence[Event], beside: Sequence[Event]) -> Iterator[str]:
    """The instances that speak in a file with a broker."""
    files = {(e.speaker.host, e.speaker.file) for e in mine if e.speaker.role == "broker"}
    if not files:
        return
    here: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for event in (*mine, *beside):
        file = event.speaker.host, event.speaker.file
        if file in files and (client := instance_of(event)) is not None:
            here[file].add(client)
    yield from (client for clients in here.values() for client in clients)


def _sharing_a_file(events: Iterable[Event]) -> Iterator[str]:
    spans: dict[tuple[str | None, str], Spans] = defaultdict(dict)
    for event in events:
        client = instance_of(event) if event.at is not None else None
        if client is not None and event.at is not None:
            said = spans[event.speaker.host, event.speaker.file]
            first, last = said.get(client, (event.at, event.at))
            said[client] = min(first, event.at), max(last, event.at)
    for said in spans.values():
        if any(min(one[1], other[1]) - other[0] > NEXT_HEARTBEAT_MS for one, other in pairwise(sorted(said.values()))):
            yield from said
