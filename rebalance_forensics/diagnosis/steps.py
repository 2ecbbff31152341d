"""A step of a chain in words: who, what, and what the line adds to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.events.base import Event

LONGEST_STEP = 240
SHOWN = 3
UUID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_FLAGS = {"replacing": "in place of a dying one", "fatal": "fatal"}
_NUMBERED = ("generation", "epoch")
_SAID = ("reason", "client_reason", "error", "cause", "exception", "detail")
_NAMED = ("members", "member", "instance_id", "connector", "change", "topic", "topics", "names", "partitions", "after")


def what_happened(event: Event) -> str:
    """Say it as `payments-2: poll timeout expired`; random ids are cut to their beginning."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).lower()
    details = ", ".join(list(dict.fromkeys(_details(event)))[:SHOWN])
    text = f"{_who(event)}: {words}" + (f", {details}" if details else "")
    return UUID.sub(r"\1…", text)[:LONGEST_STEP]


def _who(event: Event) -> str:
    speaker = event.speaker
    if speaker.role == "broker":
        return f"broker-{speaker.broker}" if speaker.broker is not None else speaker.host or "broker"
    return speaker.client_id or speaker.host or speaker.file


def _details(event: Event) -> Iterator[str]:
    said = [text for name in _SAID if isinstance(text := getattr(event, name, None), str) and text]
    for name in _NUMBERED:
        if isinstance(number := getattr(event, name, None), int):
            yield f"{name} {number}"
    yield from (words for name, words in _FLAGS.items() if getattr(event, name, None) is True)
    for name in _NAMED:
        told = [_own(event, one) for one in _told(getattr(event, name, None))]
        yield from (one for one in told if one and not any(one in text for text in said))
    yield from (text for index, text in enumerate(said) if not any(text in other for other in said[:index]))


def _own(event: Event, name: str) -> str:
    """Leave out the member id of whoever speaks: its client id stands there already."""
    client = event.speaker.client_id
    return "" if client and event.speaker.role != "broker" and name.startswith(client) else name


def _told(value: object) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, tuple) and value:
        more = f" and {len(value) - SHOWN} more" if len(value) > SHOWN else ""
        yield ", ".join(map(str, value[:SHOWN])) + more
