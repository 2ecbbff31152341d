"""Layouts with one JSON object per record: known by its keys, or any object with a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rebalance_forensics.sources.layouts import json_field_names as names
from rebalance_forensics.sources.layouts.base import Layout, Parsed, level_of
from rebalance_forensics.sources.layouts.client_facts import GO_FACTS, KAFKAJS_FACTS, with_facts
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text, lookup, object_of
from rebalance_forensics.sources.times.timestamps import Stamp, read_stamp, stamp_at

# Fields that name the place where a process runs; `host` alone is just as often a broker that it connects to.
_HOSTS = (
    "kubernetes.pod.name", "kubernetes.pod_name", "k8s.pod.name", "k8s_pod_name", "kubernetes_pod_name", "pod_name",
    "podName", "pod.name", "pod", "host.name", "host.hostname", "hostname", "HOSTNAME",
)  # fmt: skip
_FACTS: dict[str | None, tuple[str, ...]] = {"franz-go": GO_FACTS, "kafkajs": KAFKAJS_FACTS}


class ObjectLayout(Layout, frozen=True, kw_only=True):
    """A layout with one JSON object per record."""

    rank: int = 40
    starts: tuple[bytes, ...] = (b"{",)

    def parse(self, text: str) -> Parsed | None:
        """Parse a whole record; None if it does not have this layout."""
        fields = object_of(text)
        return self.parse_fields(fields) if fields is not None else None

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Parse a record that is already decoded from JSON."""
        raise NotImplementedError


class JsonLayout(ObjectLayout, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object with known keys: those in `requires` identify the layout.

    For each other name, the first path with a text or a number counts. `facts` names the client that logs values next
    to the message.
    """

    requires: tuple[str, ...]
    message: tuple[str, ...] = ("message",)
    time: tuple[str, ...] = ("@timestamp", "timestamp", "time", "ts")
    level: tuple[str, ...] = ("level",)
    logger: tuple[str, ...] = ("logger",)
    thread: tuple[str, ...] = ("thread",)
    trace: tuple[str, ...] = ("stack_trace",)
    host: tuple[str, ...] = _HOSTS
    facts: Literal["franz-go", "kafkajs"] | None = None

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Parse a record that is already decoded from JSON."""
        message = first_text(fields, self.message)
        if message is None or any(lookup(fields, path) is None for path in self.requires):
            return None
        trace = first_text(fields, self.trace) or names.trace_in(fields)
        return Parsed(
            stamp=_stamp(fields, self.time),
            level=level_of(first_text(fields, self.level)),
            logger=first_text(fields, self.logger) or None,
            thread=first_text(fields, self.thread) or None,
            message=_with_trace(with_facts(message, fields, _FACTS.get(self.facts, ())), trace),
            host=first_text(fields, self.host),
        )


class AnyObject(ObjectLayout, frozen=True, kw_only=True):
    """The fallback JSON layout: any object with a text and a level, a logger or a time."""

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Parse a record that is already decoded from JSON."""
        leaves = names.leaves_of(fields)
        message = names.text_in(leaves, lambda text: False)  # noqa: ARG005 - by its name only
        level, logger, stamp = names.level_in(leaves), names.logger_in(leaves), names.stamp_in(leaves)
        if not message or not (level or logger or stamp):
            return None
        return Parsed(
            stamp=stamp,
            level=level_of(level),
            logger=logger,
            thread=names.first_called(leaves, names.THREADS),
            message=_with_trace(with_facts(message, fields), names.trace_in(fields)),
            host=names.first_called(leaves, names.OWN_HOSTS),
        )


def _with_trace(message: str, trace: str | None) -> str:
    return f"{message}\n{trace}" if trace and trace not in message else message


def _stamp(fields: Fields, paths: tuple[str, ...]) -> Stamp | None:
    for path in paths:
        text = first_text(fields, (path,))
        if text and (stamp := read_stamp(text)):
            return stamp
    # log4j2's JsonLayout writes an Instant in two numbers.
    instant = fields.get("instant")
    if isinstance(instant, Mapping) and isinstance(seconds := instant.get("epochSecond"), int):
        nanos = instant.get("nanoOfSecond")
        return stamp_at(seconds, nanos if isinstance(nanos, int) else 0)
    return None
