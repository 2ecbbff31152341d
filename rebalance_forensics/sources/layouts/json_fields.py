"""Layouts that are JSON objects: which keys hold time, level, logger, thread, message and stack trace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from rebalance_forensics.sources.layouts.base import Parsed, level_of
from rebalance_forensics.sources.layouts.json_field_names import trace_in
from rebalance_forensics.sources.lines.text import whole_characters
from rebalance_forensics.sources.times.timestamps import Stamp, read_stamp, stamp_at

Fields = Mapping[str, object]
KAFKAJS_FACTS: tuple[str, ...] = (
    "groupId",
    "memberId",
    "leaderId",
    "isLeader",
    "groupProtocol",
    "duration",
    "error",
    "clientId",
    "broker",
)
_NAMESPACES = ("Runner", "ConsumerGroup", "Consumer", "Connection", "FetchManager")
_PLACES = tuple(f"[{namespace}] " for namespace in _NAMESPACES)
_BESIDE_THEM = frozenset({"groupId", "clientId", "correlationId", "memberId"})
GO_FACTS = (
    "group", "member_id", "instance_id", "generation", "leader", "balance_protocol", "protocol", "assigned", "added",
    "revoking", "lost", "stage", "plan", "why", "is848", "err", "error",
)  # fmt: skip
"""What franz-go and its kin say beside a message, in the order in which the patterns know it."""
_HOSTS = (
    "kubernetes.pod.name", "kubernetes.pod_name", "k8s.pod.name", "host.name", "host.hostname", "hostname", "HOSTNAME",
)  # fmt: skip
"""Fields that say where a process runs; `host` alone is as often the broker that it speaks to."""
_DECODER = json.JSONDecoder(strict=False)


@lru_cache(maxsize=16)
def object_of(text: str) -> Fields | None:
    """The JSON object that a line is; None for any other text."""
    if not text.startswith("{") or not text.rstrip().endswith("}"):
        return None
    whole = whole_characters(text)
    try:
        value, end = _DECODER.raw_decode(whole)
    except (ValueError, RecursionError):
        return None
    # Whoever copies a line out of a document takes the bracket that closes the document along.
    return value if isinstance(value, dict) and not whole[end:].strip(" \t\r\n}],") else None


def lookup(fields: Fields, path: str) -> object:
    """The value at a dotted path: a dotted key, or a key of a nested object."""
    if path in fields:
        return fields[path]
    head, dot, rest = path.partition(".")
    while dot:
        inner = fields.get(head)
        if isinstance(inner, Mapping) and (found := lookup(inner, rest)) is not None:
            return found
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return None


def first_text(fields: Fields, paths: tuple[str, ...]) -> str | None:
    """The first of these values that is a text or a number, as text."""
    for path in paths:
        value = lookup(fields, path)
        if isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return repr(value)
    return None


class JsonLayout(Struct, frozen=True, kw_only=True):
    """A layout of which each record is one JSON object.

    Every path of `requires` must be there: that tells this shape from the others.
    """

    requires: tuple[str, ...]
    message: tuple[str, ...] = ("message",)
    time: tuple[str, ...] = ("@timestamp", "timestamp", "time", "ts")
    level: tuple[str, ...] = ("level",)
    logger: tuple[str, ...] = ("logger",)
    thread: tuple[str, ...] = ("thread",)
    trace: tuple[str, ...] = ("stack_trace",)
    host: tuple[str, ...] = _HOSTS
    extra: tuple[str, ...] = ()
    rank: int = 40
    starts: tuple[bytes, ...] = (b"{",)

    def is_header(self, line: str) -> bool:
        """Whether a record starts with this line."""
        return self.parse(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        fields = object_of(text)
        return self.parse_fields(fields) if fields is not None else None

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Take a record apart that an envelope has already read as JSON."""
        message = first_text(fields, self.message)
        if message is None or any(lookup(fields, path) is None for path in self.requires):
            return None
        trace = first_text(fields, self.trace) or trace_in(fields)
        whole = with_facts(message, fields, self.extra)
        return Parsed(
            stamp=_stamp(fields, self.time),
            level=level_of(first_text(fields, self.level)),
            logger=first_text(fields, self.logger) or None,
            thread=first_text(fields, self.thread) or None,
            message=f"{whole}\n{trace}" if trace and trace not in whole else whole,
            host=first_text(fields, self.host),
        )


def is_kafkajs(fields: Fields) -> bool:
    """Whether KafkaJS speaks, be it through another logger: by its name, or by what it says and what stands beside."""
    if fields.get("logger") == "kafkajs":
        return True
    message = fields.get("message") or fields.get("msg")
    placed = fields.get("namespace") in _NAMESPACES or (isinstance(message, str) and message.startswith(_PLACES))
    return placed and not _BESIDE_THEM.isdisjoint(fields)


def with_place(message: str, fields: Fields) -> str:
    """KafkaJS' message with the part of the client in front that its own logger puts there, a logCreator beside it."""
    namespace = fields.get("namespace")
    return f"[{namespace}] {message}" if namespace in _NAMESPACES and not message.startswith("[") else message


def is_franz_go(fields: Fields) -> bool:
    """Whether franz-go speaks, as the source file shows that its caller's logger prints."""
    caller = fields.get("caller")
    return isinstance(caller, str) and "/franz-go" in caller


def with_facts(message: str, fields: Fields, extra: tuple[str, ...]) -> str:
    """The message with the facts that stand beside it; KafkaJS and franz-go have theirs in whichever file it stands."""
    if is_kafkajs(fields):
        message, keys = with_place(message, fields), KAFKAJS_FACTS
    else:
        keys = extra or (GO_FACTS if is_franz_go(fields) else ())
    said = [f"{key}: {value}" for key in keys if (value := _fact(fields, key)) is not None]
    return f"{message}; {', '.join(said)}" if said else message


def _fact(fields: Fields, key: str) -> str | None:
    """A text or a number as it is; partitions by topic as Go prints them: `orders[0 1], returns[0]`."""
    value = fields.get(key)
    if not isinstance(value, Mapping):
        return first_text(fields, (key,))
    if not all(isinstance(numbers, list) for numbers in value.values()):
        return None
    return ", ".join(f"{topic}[{' '.join(map(str, numbers))}]" for topic, numbers in value.items())


def _stamp(fields: Fields, paths: tuple[str, ...]) -> Stamp | None:
    for path in paths:
        text = first_text(fields, (path,))
        if text and (stamp := read_stamp(text)):
            return stamp
    instant = fields.get("instant")
    if isinstance(instant, Mapping) and isinstance(seconds := instant.get("epochSecond"), int):
        nanos = instant.get("nanoOfSecond")
        return stamp_at(seconds, nanos if isinstance(nanos, int) else 0)
    return None
