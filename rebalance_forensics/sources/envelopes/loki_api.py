"""Loki's query API: streams of labels with their values, nanoseconds and line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rebalance_forensics.sources.envelopes.base import JsonEnvelope
from rebalance_forensics.sources.envelopes.loki_jsonl import HOST_LABELS
from rebalance_forensics.sources.layouts.json_fields import Fields, lookup

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"status":"success","data":{"resultType":"streams","result":[{"stream":{"pod":"kafka-0"},"values":'
    '[["1795169730123456789","[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group '
    'g (kafka.coordinator.group.GroupCoordinator)"]]}]}}'
)
REJECT = '{"data":{"result":[]},"message":"joined"}'


def _values(streams: list[object]) -> Iterator[Fields]:
    for stream in streams:
        if isinstance(stream, Mapping) and isinstance(values := stream.get("values"), list):
            for value in values:
                yield {"labels": stream.get("stream") or {}, **_value(value)}


def _value(value: object) -> Fields:
    """Nanoseconds and line; of a response that was cut or edited, what is there."""
    parts = value if isinstance(value, list) else [value]
    time = {"timestamp": str(parts[0])} if len(parts) > 1 else {}
    return {**time, "line": " ".join(map(str, parts[len(time) : 2]))}


def _entries(fields: Fields) -> Sequence[Fields]:
    streams = lookup(fields, "data.result")
    return tuple(_values(streams)) if isinstance(streams, list) else ()


ENVELOPE = JsonEnvelope(
    requires=("data.result", "status"),
    text=("line",),
    time=("timestamp",),
    host=tuple(f"labels.{label}" for label in HOST_LABELS),
    file=("labels.filename",),
    stream=("labels.stream",),
    entries=_entries,
    rank=12,
)
