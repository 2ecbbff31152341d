"""The names that typed events hold, by kind: what an anonymized report must not show, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkChanged
from rebalance_forensics.events.membership import AuthorizationFailed
from rebalance_forensics.pipeline.event_files import events_of, own_fields
from rebalance_forensics.pipeline.names_in_layouts import names_in_layouts
from rebalance_forensics.pipeline.run import Analysis

Named = tuple[str, str]
NUMBERED = re.compile(r"(.+)-\d+")
HOST = re.compile(r"(?:\w+://)?/?([^/:\s]+)(?::\d+)?/?")

_FIELDS = {
    "member": ("member", "members", "leader", "new_leader", "old_member", "current_member", "consumer"),
    "client": ("client_id",),
    "instance": ("instance_id",),
    "thread": ("thread", "client"),
    "group": ("groups",),
    "topic": ("topic", "topics", "topic_pattern"),
    "connector": ("connector", "connectors", "revoked_connectors"),
    "id": ("cluster_id",),
    "partition": ("partition", "partitions", "assigned", "owned", "added", "revoked", "revoking", "changelog"),
    "task": ("tasks", "revoked_tasks"),
    "host": ("client_host", "node", "endpoint", "leader_url", "worker"),
    "assignment": ("assignment", "participants", "assigned_active", "owned_active", "revoking_active"),
}
KINDS = {field: kind for kind, fields in _FIELDS.items() for field in fields}
"""What a field of an event names; a field that is not here names nobody."""


def names_in_events(analysis: Analysis) -> Iterator[Named]:
    """Yield (name, kind) of all that the events name, and of what stands around their messages.

    The analysis must have kept them.
    """
    texts: dict[str, None] = {}
    for event in events_of(analysis):
        yield from ((name, kind) for name, kind in _names(event) if name)
        texts[event.text] = None
    yield from names_in_layouts(texts)


def _names(event: Event) -> Iterator[tuple[str | None, str]]:
    speaker = event.speaker
    yield from ((event.group, "group"), (speaker.client_id, "client"), (speaker.instance_id, "instance"))
    yield speaker.host, "host"
    if speaker.task and "|" in speaker.task:
        yield speaker.task.partition("|")[0], "connector"
    for field, value in own_fields(event).items():
        if field in KINDS:
            yield from _named(value, KINDS[field])
    match event:
        case AuthorizationFailed():
            yield from ((name, event.resource) for name in event.names)
        case WorkChanged():
            yield from _named(event.what, "task")
            yield event.what, "connector"


def _named(value: object, kind: str) -> Iterator[tuple[str | None, str]]:
    match kind, value:
        case "assignment", tuple() if all(isinstance(pair, tuple) for pair in value):
            yield from ((owner, "member") for owner, _ in value)
            yield from _named(tuple(given for _, given in value), "partition")
        case _, tuple():
            for part in value:
                yield from _named(part, kind)
        case "partition" | "task", str():
            yield _first(NUMBERED, value), "topic" if kind == "partition" else "connector"
        case "host", str():
            yield _first(HOST, value), "host"
        case _, str():
            yield value, kind


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.fullmatch(text)
    return found.group(1) if found else None
