"""Loki: lines with labels; the most specific label names the host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line, instant
from rebalance_forensics.sources.envelopes.json_envelopes import JsonEnvelope
from rebalance_forensics.sources.layouts.json_field_names import LABEL
from rebalance_forensics.sources.layouts.json_fields import Fields, lookup

# The pod before its containers, and both before the machine.
_HOST_LABELS = (
    "pod",
    "pod_name",
    "instance",
    "container_name",
    "container",
    "hostname",
    "host",
    "nodename",
    "service_name",
    "job",
)
_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))\s+\{(?P<labels>"
    r'(?:[\w.]+="(?:[^"\\]|\\.)*"(?:, )?)*)\}\s?(?P<text>.*)',
    re.DOTALL,
)


class Labelled(JsonEnvelope, frozen=True, kw_only=True):
    """`logcli --output=jsonl`: labels, line and time."""

    text: tuple[str, ...] = ("line",)
    time: tuple[str, ...] = ("timestamp",)
    host: tuple[str, ...] = tuple(f"labels.{label}" for label in _HOST_LABELS)
    stream: tuple[str, ...] = ("labels.stream",)


class ApiAnswer(Labelled, frozen=True, kw_only=True):
    """The response of Loki's query API: streams of labels, each with its values."""

    def entries_of(self, fields: Fields) -> Sequence[Fields]:
        """Every line with the labels of its stream."""
        streams = lookup(fields, "data.result")
        return tuple(_values(streams)) if isinstance(streams, list) else ()


def _values(streams: list[object]) -> Iterator[Fields]:
    for stream in streams:
        if isinstance(stream, Mapping) and isinstance(values := stream.get("values"), list):
            for value in values:
                yield {"labels": stream.get("stream") or {}, **_value(value)}


def _value(value: object) -> Fields:
    """Time in nanoseconds and line, as far as a truncated or edited response has them."""
    parts = value if isinstance(value, list) else [value]
    time = {"timestamp": str(parts[0])} if len(parts) > 1 else {}
    return {**time, "line": " ".join(map(str, parts[len(time) : 2]))}


def text_line(line: Line) -> Sequence[Line] | None:
    """The line in logcli's default output: columns padded with blanks, labels quoted in braces."""
    match = _LINE.match(line.text) if line.fields is None else None
    if match is None:
        return None
    labels = dict(LABEL.findall(match["labels"]))
    host = next((labels[label] for label in _HOST_LABELS if label in labels), line.host)
    return (replace(line, text=match["text"], at=instant(match["time"]), host=host, stream=labels.get("stream", "")),)
