"""An event in words: who logged it, what happened, and the details in the line."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.wording.durations import some
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.evidence import shortened
from rebalance_forensics.timeline.identity.names import broker_name, with_short_ids

LONGEST_STEP = 240
# Phrases for events whose type name does not read well.
_PHRASES: dict[type[Event], str] = {
    ev.LeaveSent: "sent LeaveGroup",
    ev.GenerationReset: "reset its generation",
    ev.SettingsReported: "logged its settings",
    ev.FollowUpRequested: "follow-up rebalance requested",
    ev.FollowUpScheduled: "follow-up rebalance scheduled",
    ev.FollowUpTriggered: "follow-up rebalance triggered",
    ev.ReplicasInsufficient: "not enough in-sync replicas",
    ev.ConnectorConfigChanged: "connector configuration changed",
    ev.MemberTransitioned: "member state changed",
}
# Java prints "null" for an exception without a message.
EMPTY = ("", "null")
# At most this many details of an event, and names in a detail.
SHOWN = 3
_END_OF_SENTENCE = re.compile(r"\.(?: (?=[A-Z])|\Z)")
_FLAGS = {"replacing": "in place of a dying one", "fatal": "fatal"}
_NUMBERED = ("generation", "epoch")
_TEXTS = ("reason", "client_reason", "error", "cause", "exception", "detail")
_NAMED = ("members", "member", "instance_id", "connector", "change", "topic", "topics", "names", "partitions", "after")


def what_happened(event: Event) -> str:
    """`payments-2: poll timeout expired`, with details; the random part of ids is shortened."""
    fields = _fields_of(type(event))
    words = f"fenced {_fenced(event)}" if _is_fencing(event) else fields.words
    text = ", ".join([f"{_who(event)}: {words}", *list(dict.fromkeys(_details(event, fields)))[:SHOWN]])
    return shortened(with_short_ids(text), LONGEST_STEP)


def _is_fencing(event: Event) -> bool:
    """True if a controller reports that it fenced other brokers, so that the speaker itself did not stop."""
    return type(event) is ev.BrokerStopped and event.phase == "fenced"


def _fenced(event: Event) -> str:
    brokers = getattr(event, "brokers", ()) or (getattr(event, "broker", None),)
    return ", ".join("a broker" if broker is None else broker_name(broker) for broker in brokers)


def _who(event: Event) -> str:
    speaker = event.speaker
    if speaker.role == "broker":
        return broker_name(speaker.broker) if speaker.broker is not None else speaker.host or "broker"
    return speaker.client_id or speaker.host or speaker.file


def _details(event: Event, fields: _Fields) -> list[str]:
    parts: list[str] = []
    for name in fields.texts:
        text = getattr(event, name)
        if isinstance(text, str) and text not in EMPTY:
            # After the first sentence, Java's messages explain in general terms and not about this event.
            parts.append(_END_OF_SENTENCE.split(text, 1)[0])
    facts: list[str] = []
    for name in fields.numbered:
        number = getattr(event, name)
        if isinstance(number, int):
            facts.append(f"{name} {number}")
    if fields.flags:
        facts += [_FLAGS[name] for name in fields.flags if getattr(event, name) is True]
    for name in fields.named:
        value = getattr(event, name)
        phrase = _without_speaker(event, _in_words(value)) if value else ""
        if phrase and not (parts and any(phrase in text for text in parts)):
            facts.append(phrase)
    if len(parts) < 2:
        return facts + parts
    return facts + [text for index, text in enumerate(parts) if not any(text in other for other in parts[:index])]


class _Fields(NamedTuple):
    """The phrase for a type of event, and the fields that its text shows, by how they are shown."""

    words: str
    """For example `poll timeout expired`."""
    texts: tuple[str, ...]
    numbered: tuple[str, ...]
    flags: tuple[str, ...]
    named: tuple[str, ...]


@cache
def _fields_of(kind: type[Event]) -> _Fields:
    known = kind.__struct_fields__
    words = _PHRASES.get(kind) or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    chosen = (tuple([name for name in names if name in known]) for names in (_TEXTS, _NUMBERED, _FLAGS, _NAMED))
    return _Fields(words, *chosen)


def _without_speaker(event: Event, name: str) -> str:
    """The name, or an empty text if it is the speaker's own member id, because the text starts with its client id."""
    client = event.speaker.client_id
    return "" if client and event.speaker.role != "broker" and name.startswith(client) else name


def _in_words(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return some(value, SHOWN)
    return ""
