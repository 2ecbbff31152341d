"""One file with the lines of several Streams instances, as `kubectl logs -l app=shop` writes it without a prefix.

Every line of a stream thread and of its clients names its instance. Instances that write to one file at the same time
are different processes. One after another they may be restarts of one process, unless a broker writes there as well: no
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
"""Instance -> times of its first and last line."""


def with_instance_places(own: Sequence[Event], nearby: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
    """Both lists; lines of instances that share a file have their instance as their place."""
    together = {*_sharing_a_file(own), *_sharing_with_coordinator(own, nearby)}
    if not together:
        return own, nearby
    return [_placed(event, together) for event in own], [_placed(event, together) for event in nearby]


def _placed(event: Event, together: set[str]) -> Event:
    client = instance_of(event)
    return replace(event, speaker=replace(event.speaker, place=client)) if client in together else event


def instance_of(event: Event) -> str | None:
    """The Streams client that writes a line, or whose state the line reports."""
    if event.speaker.role == "broker":
        return None
    match event:
        case StreamsStateChanged(client=str(client)):
            return client
        case ThreadAdded() | ThreadFailed() | ProcessStopping():
            found = _STREAM_CLIENT.search(event.text)
            return found[1] if found else streams_client_of(event)
    return streams_client_of(event)


def _sharing_with_coordinator(own: Sequence[Event], nearby: Sequence[Event]) -> Iterator[str]:
    """The instances that write to a file with a broker."""
    files = {(e.speaker.host, e.speaker.file) for e in own if e.speaker.role == "broker"}
    if not files:
        return
    instances: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for event in (*own, *nearby):
        file = event.speaker.host, event.speaker.file
        if file in files and (client := instance_of(event)) is not None:
            instances[file].add(client)
    yield from (client for clients in instances.values() for client in clients)


def _sharing_a_file(events: Iterable[Event]) -> Iterator[str]:
    spans: dict[tuple[str | None, str], Spans] = defaultdict(dict)
    for event in events:
        client = instance_of(event) if event.at is not None else None
        if client is not None and event.at is not None:
            by_instance = spans[event.speaker.host, event.speaker.file]
            first, last = by_instance.get(client, (event.at, event.at))
            by_instance[client] = min(first, event.at), max(last, event.at)
    for by_instance in spans.values():
        if any(
            min(earlier[1], later[1]) - later[0] > NEXT_HEARTBEAT_MS
            for earlier, later in pairwise(sorted(by_instance.values()))
        ):
            yield from by_instance
