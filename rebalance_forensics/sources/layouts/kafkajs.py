"""KafkaJS: JSON objects, and their text as printed by NestJS, pino-pretty or an application's logger."""

from __future__ import annotations

import json
import re
from typing import Literal

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.client_facts import KAFKAJS_FACTS, is_kafkajs, with_namespace
from rebalance_forensics.sources.layouts.json_fields import Fields, object_of
from rebalance_forensics.sources.layouts.json_layouts import JsonLayout

_TEXT = re.compile(
    r"(?P<level>NOTHING|ERROR|WARN|INFO|DEBUG) (?P<message>\[\w{1,40}\] [^\n{]{1,2000}?) (?P<facts>\{[^\n]*\})"
    r"(?: \+\d{1,9}(?:ms|[smhd]))?\s*(?:\n|$)"
)
_NAMESPACE = re.compile(r"\[[A-Z]\w{1,40}\] ")
# Some loggers print a stack trace after the values.
_STACK = " CallStack:"
# In the logger name of a custom logCreator, KafkaJS' namespace is included.
_LOG_CREATOR = re.compile(r"Kafka(?:JS)?(?:: ?|[ /.-])(?P<namespace>[A-Z]\w{1,40})")
_KEY_BELOW = re.compile(r"\n {2,8}(?P<key>\w{1,40}): (?P<value>[^\n]{0,2000})")


class KafkaJsObject(JsonLayout, frozen=True, kw_only=True):
    """A KafkaJS object; lines of a consumer name its group, those of its connections only the client id."""

    requires: tuple[str, ...] = ("logger",)
    facts: Literal["franz-go", "kafkajs"] | None = "kafkajs"

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Parse a record that is already decoded from JSON."""
        return JsonLayout.parse_fields(self, fields) if is_kafkajs(fields) or "groupId" in fields else None


_OBJECT = KafkaJsObject()


def text_before_facts(text: str) -> Parsed | None:
    """NestJS' KafkaLogger: level, namespace and message as text, followed by values as JSON, including the time."""
    found = _TEXT.match(text)
    facts = object_of(found["facts"]) if found is not None else None
    if found is None or facts is None or facts.get("logger") != "kafkajs":
        return None
    return _OBJECT.parse_fields({**facts, "level": found["level"], "message": found["message"]})


def with_kafkajs_facts(parsed: Parsed) -> Parsed:
    """The record of any logger that prints KafkaJS' message followed by its values as JSON."""
    # A custom logCreator may print the namespace first and a colon before the values.
    if '"logger":"kafkajs"' not in parsed.message:
        return parsed
    words, brace, rest = parsed.message.partition("\n")[0].partition("{")
    namespace, facts = _NAMESPACE.search(words), object_of(brace + rest.partition(_STACK)[0])
    if namespace is None or facts is None:
        return parsed
    found = _OBJECT.parse_fields({**facts, "message": words[namespace.start() :].rstrip(": ")})
    return (
        replace(found, stamp=parsed.stamp or found.stamp, level=parsed.level, thread=parsed.thread) if found else parsed
    )


def with_facts_behind(parsed: Parsed) -> Parsed:
    """NestJS' Kafka server and client log KafkaJS' output, including its time, as one text."""
    return text_before_facts(parsed.message) or _from_log_creator(parsed) or parsed


def _from_log_creator(parsed: Parsed) -> Parsed | None:
    """A KafkaJS record with its namespace in the logger's name and its values, if any, as JSON after the message."""
    logger = _LOG_CREATOR.fullmatch(parsed.logger or "")
    if logger is None:
        return None
    words, brace, rest = parsed.message.partition(" {")
    facts = (object_of(brace.lstrip() + rest) if brace else None) or {}
    found = _OBJECT.parse_fields({**facts, "logger": "kafkajs", "message": f"[{logger['namespace']}] {words}"})
    return replace(found, stamp=parsed.stamp, level=parsed.level, thread=parsed.thread) if found else None


def with_keys_below(parsed: Parsed) -> Parsed:
    """Add the values that pino-pretty prints on lines below the message."""
    facts = {found["key"]: _plain(found["value"]) for found in _KEY_BELOW.finditer(parsed.message)}
    if not any(key in facts for key in KAFKAJS_FACTS):
        return parsed
    first = with_namespace(parsed.message.partition("\n")[0], facts)
    shown = ", ".join(f"{key}: {facts[key]}" for key in KAFKAJS_FACTS if key in facts)
    return replace(parsed, logger=facts.get("logger"), message=f"{first}; {shown}")


def _plain(value: str) -> str:
    try:
        text = json.loads(value)
    except ValueError:
        return value.strip()
    return text if isinstance(text, str) else value.strip()
