"""A step of a chain in words: who, what, and what the line adds to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import BrokerStopped

LONGEST_STEP = 240
EMPTY = ("", "null")
"""What Java prints for a cause that is not there."""
SHOWN = 3
DASHES = 4
"""A text with fewer holds no UUID."""
UUID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_FLAGS = {"replacing": "in place of a dying one", "fatal": "fatal"}
_NUMBERED = ("generation", "epoch")
_SAID = ("reason", "client_reason", "error", "cause", "exception", "detail")
_NAMED = ("members", "member", "instance_id", "connector", "change", "topic", "topics", "names", "partitions", "after")


def what_happened(event: Event) -> str:
    """Say it as `payments-2: poll timeout expired`; random ids are cut to their beginning."""
    words = f"fenced {_fenced(event)}" if _is_fencing(event) else _words(type(event).__name__)
    details = ", ".join(list(dict.fromkeys(_details(event)))[:SHOWN])
    text = f"{_who(event)}: {words}" + (f", {details}" if details else "")
    return (UUID.sub(r"\1…", text) if text.count("-") >= DASHES else text)[:LONGEST_STEP]


def _is_fencing(event: Event) -> bool:
    """Whether a controller says it of brokers that it heard nothing from: it is not the speaker that stopped."""
    return isinstance(event, BrokerStopped) and event.phase == "fenced"


def _fenced(event: Event) -> str:
    brokers = getattr(event, "brokers", ()) or (getattr(event, "broker", None),)
    return ", ".join("a broker" if one is None else f"broker-{one}" for one in brokers)


@cache
def _words(event: str) -> str:
    """`poll timeout expired`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", event).lower()


def _who(event: Event) -> str:
    speaker = event.speaker
    if speaker.role == "broker":
        return f"broker-{speaker.broker}" if speaker.broker is not None else speaker.host or "broker"
    return speaker.client_id or speaker.host or speaker.file


def _details(event: Event) -> Iterator[str]:
    fields = _fields_of(type(event).__name__)
    said = [
        text for name in _SAID if name in fields and isinstance(text := getattr(event, name), str) and text not in EMPTY
    ]
    for name in _NUMBERED:
        if name in fields and isinstance(number := getattr(event, name), int):
            yield f"{name} {number}"
    yield from (words for name, words in _FLAGS.items() if name in fields and getattr(event, name) is True)
    for name in _NAMED:
        if name not in fields:
            continue
        told = [_own(event, one) for one in _told(getattr(event, name))]
        yield from (one for one in told if one and not any(one in text for text in said))
    yield from (text for index, text in enumerate(said) if not any(text in other for other in said[:index]))


@cache
def _fields_of(event: str) -> frozenset[str]:
    return frozenset(EVENT_TYPES[event].__struct_fields__)


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
