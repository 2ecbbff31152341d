"""Values that clients log next to a message: as keys of an object, as pairs, as JSON after it.

The catalog reads them in one form: `message; key: value, key: value`, as franz-go's basic logger prints them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.header_remainder import begins_as_kafka_does, brings_a_header
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text, object_of

KAFKAJS_FACTS: tuple[str, ...] = (
    "groupId",
    "generationId",
    "memberId",
    "leaderId",
    "isLeader",
    "memberAssignment",
    "groupProtocol",
    "duration",
    "error",
    "clientId",
    "broker",
)
# The values that franz-go and similar clients log next to a message, in the order of the patterns.
GO_FACTS = (
    "group", "member_id", "instance_id", "instance", "generation", "leader", "balance_protocol", "protocol", "assigned",
    "added", "revoking", "lost", "stage", "now_assigned", "plan", "why", "is848", "req", "addr", "broker", "with",
    "context_expired", "err", "error", "consecutive_errors",
)  # fmt: skip
FACTS_BEHIND = re.compile(rf"; (?:{'|'.join(GO_FACTS)}): ")
_KAFKAJS_NAMESPACES = ("Runner", "ConsumerGroup", "Consumer", "Connection", "FetchManager")
_NAMESPACE_TAGS = tuple(f"[{namespace}] " for namespace in _KAFKAJS_NAMESPACES)
_KAFKAJS_KEYS = frozenset({"groupId", "clientId", "correlationId", "memberId"})
# A client's message, or one of librdkafka, Sarama or an exception within a program's own message.
_CLIENTS_ERROR = re.compile(
    r"(?:kafka(?: server)?: |\[\d{1,3}\] [A-Z]|(?:fetching|committing) message: )"
    r"|(?:[^\n]{0,400}?[\s(\"':])?(?:(?:Broker|Local|kafka server): |KafkaError\{|\[Error \d+\] "
    r"|(?:Kafka::|KafkaJS|org\.apache\.kafka\.|(?:aio)?kafka\.errors\.)[\w.]*(?:: |\Z))"
)
_PAIR = re.compile(r" (?=[a-z][a-z_]{0,30}=)")
_GROUP = " group="
_OBJECT_BEHIND = re.compile(r"[ \t]+(?=\{\")")


def is_kafkajs(fields: Fields) -> bool:
    """True if KafkaJS logged it, possibly through another logger: by its name, or by its namespace and keys."""
    if fields.get("logger") == "kafkajs":
        return True
    message = fields.get("message") or fields.get("msg")
    namespaced = fields.get("namespace") in _KAFKAJS_NAMESPACES or (
        isinstance(message, str) and message.startswith(_NAMESPACE_TAGS)
    )
    return namespaced and not _KAFKAJS_KEYS.isdisjoint(fields)


def with_namespace(message: str, fields: Fields) -> str:
    """A KafkaJS message after its namespace, as its own logger prints it and a logCreator receives it."""
    namespace = fields.get("namespace")
    return f"[{namespace}] {message}" if namespace in _KAFKAJS_NAMESPACES and not message.startswith("[") else message


def _is_franz_go(fields: Fields) -> bool:
    """True if franz-go logged it, by the source file in the caller field."""
    caller = fields.get("caller")
    return isinstance(caller, str) and "/franz-go" in caller


def with_facts(message: str, fields: Fields, keys: tuple[str, ...] = ()) -> str:
    """The message with the values next to it, which KafkaJS and franz-go log as keys of objects in any layout.

    Keys next to the message of another logger, or of a Java client, do not belong to it.
    """
    if is_kafkajs(fields):
        message, keys = with_namespace(message, fields), KAFKAJS_FACTS
    elif begins_as_kafka_does(message) or brings_a_header(message) or FACTS_BEHIND.search(message):
        return message
    elif not keys and _is_franz_go(fields):
        keys = GO_FACTS
    facts = [f"{key}: {value}" for key in keys if (value := _fact(fields, key)) is not None]
    if not facts and (error := client_error(fields)) is not None and error not in message:
        return f"{message}: {error}"
    return f"{message}; {', '.join(facts)}" if facts else message


def client_error(fields: Fields) -> str | None:
    """The error that a client returned or threw, which programs log as a field next to their own message."""
    error = first_text(fields, ("error", "err", "exception", "reason", "error.message"))
    return error if error is not None and _CLIENTS_ERROR.match(error) else None


def _fact(fields: Fields, key: str) -> str | None:
    """A text or a number as text; partitions by topic as Go prints them: `orders[0 1], returns[0]`."""
    value = fields.get(key)
    if not isinstance(value, Mapping):
        return first_text(fields, (key,))
    if not all(isinstance(numbers, list) for numbers in value.values()):
        return None
    return ", ".join(f"{topic}[{' '.join(map(str, numbers))}]" for topic, numbers in value.items())


def with_pairs(parsed: Parsed) -> Parsed:
    """Convert `msg key=value key=value` of custom franz-go loggers to the basic logger's `msg; key: value`."""
    # A logfmt line is left as it is.
    if _GROUP not in parsed.message or "; " in parsed.message or " msg=" in parsed.message:
        return parsed
    message, *pairs = _PAIR.split(parsed.message)
    facts = ", ".join(pair.strip().replace("=", ": ", 1) for pair in pairs)
    return replace(parsed, message=f"{message}; {facts}")


def with_json_behind(parsed: Parsed) -> Parsed:
    """Add the values that zap's console encoder prints as JSON after the message."""
    message, *behind = _OBJECT_BEHIND.split(parsed.message, maxsplit=1)
    fields = object_of(behind[0].strip()) if behind else None
    return replace(parsed, message=with_facts(message, fields, GO_FACTS)) if fields is not None else parsed
