"""logcli's default output: time in seconds, labels in braces, line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line, instant
from rebalance_forensics.sources.envelopes.loki_jsonl import HOST_LABELS

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f'2026-11-20T10:15:30Z {{app="kafka", pod="kafka-0"}} {INSIDE}'
REJECT = "2026-11-20T10:15:30Z {trace} INFO joined"

_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))\s+\{(?P<labels>"
    r'(?:[\w.]+="(?:[^"\\]|\\.)*"(?:, )?)*)\}\s?(?P<text>.*)',
    re.DOTALL,
)
_LABEL = re.compile(r'(?<![\w.])([\w.]++)="((?:[^"\\]|\\.)*)"')


class _LokiText:
    """Its columns are padded with blanks, its labels quoted."""

    rank = 12
    certain = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        match = _LINE.match(line.text) if line.fields is None else None
        if match is None:
            return None
        labels = dict(_LABEL.findall(match["labels"]))
        host = next((labels[label] for label in HOST_LABELS if label in labels), line.host)
        return (
            replace(
                line,
                text=match["text"],
                at=instant(match["time"]),
                host=host,
                file=labels.get("filename"),
                stream=labels.get("stream", ""),
            ),
        )


ENVELOPE = _LokiText()
