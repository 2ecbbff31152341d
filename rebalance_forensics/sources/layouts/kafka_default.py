"""Kafka's own log4j pattern `[%d] %p %m (%c)%n`: brokers, tools, Connect, Confluent images, Amazon MSK."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, Parsed, TextLayout, pattern
from rebalance_forensics.sources.layouts.message_trailer import logger_in_parentheses

SAMPLE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
REJECT = (
    "2026-11-20 10:15:30,123 INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)

# Only names that threads have: `[GroupId g] ` and `[KafkaApi-1] ` belong to the message.
_THREAD = re.compile(
    r"\[(?P<thread>main|[^\]=|:]{0,400}?StreamThread-\d+|[^\]=|:]{0,400}?[Tt]hread[^\]=:]*"
    r"|pool-[^\]=:]*|executor-[^\]=:]*"
    r"|[^\]=|: ]{0,400}?(?:processor|worker|scheduler|manager|container|listener)"
    r"[\w#]{0,80}-[\w#-]{0,80}?\d+(?:-C-\d+)?)\] (?=\S)"
)


def _finish(parsed: Parsed) -> Parsed:
    """Take the logger off the end and a thread off the front."""
    done = logger_in_parentheses(parsed)
    message = done.message
    behind = message.find("]") + 1
    if message[:1] == "[" and message[behind : behind + 1] == " " and (thread := _THREAD.match(message)):
        return replace(done, thread=thread["thread"], message=message[thread.end() :])
    return done


LAYOUT = TextLayout(
    header=pattern(rf"\[(?P<time>{DATED})\]\s+(?P<level>{LEVEL})\s(?P<message>.*)"),
    starts=(b"[20", b"[19"),
    finish=_finish,
    rank=20,
)
