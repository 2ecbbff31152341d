"""Fluent Bit and Fluentd, from a container or a file, with or without Kubernetes' metadata."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.sources.envelopes.base import JsonEnvelope, Line
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"date":1795169730.123,"time":"2026-11-20T10:15:30.123Z","stream":"stdout","_p":"F"'
    ',"log":"[2026-11-20 10:15:30,123] INFO '
    '[GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)",'
    '"kubernetes":{"pod_name":"kafka-0","namespace_name":"k","container_name":"kafka","host":"n1"}}'
)
REJECT = '{"log":"Stabilized group g\\n","stream":"stdout","time":"2026-11-20T10:15:30.123456789Z"}'


def _goes_on(fields: Fields) -> bool:
    return any(str(fields.get(key, "")).startswith(("P", "true")) for key in ("_p", "logtag", "partial_message"))


def _shared(requires: tuple[str, ...], rank: int) -> JsonEnvelope:
    return JsonEnvelope(
        requires=requires,
        text=("log", "message"),
        time=("time", "date", "@timestamp", "timestamp"),
        host=("kubernetes.pod_name", "pod_name", "container_name", "hostname", "host"),
        file=("path", "file", "filename"),
        partial=_goes_on,
        rank=rank,
    )


_MARKS = (("kubernetes.namespace_name",), ("_p", "stream"), ("logtag", "stream"), ("date", "log"))
_SHAPES = tuple(_shared(marks, 15) for marks in _MARKS)


class _Fluent:
    """Either of the marks that only these shippers leave."""

    rank = 15
    certain = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        return next((inside for shape in _SHAPES if (inside := shape.peel(line)) and _said(inside)), None)


def _said(inside: Sequence[Line]) -> bool:
    return all(first_text(line.fields or {}, ("log", "message")) is not None for line in inside)


ENVELOPE = _Fluent()
