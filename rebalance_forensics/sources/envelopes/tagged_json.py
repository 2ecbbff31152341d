"""A JSON object behind a time, a tag or a key: Fluent Bit's and Fluentd's stdout and files, kcat, bunyan's console."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line, instant
from rebalance_forensics.sources.envelopes.json_text import ENVELOPE as ANY_OBJECT
from rebalance_forensics.sources.layouts.json_fields import object_of

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"[0] kube.kafka-0: [1795169730.123456789, {json.dumps({'log': INSIDE})}]"
REJECT = "[0] joined"

_SHAPES = tuple(
    re.compile(shape, re.DOTALL)
    for shape in (
        r"\[\d+\] \S+: \[\[?(?P<time>\d+\.\d+)(?:, \{[^}]*\}\])?, (?P<text>\{.*\})\]\s*\Z",
        (
            r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)"
            r"(?:\t[^\t{]*\t| [^\s{]+: )(?P<text>\{.*\})\s*\Z"
        ),
        (
            r"\[(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z)\] +[A-Z]+: [\w.@/-]+/\d+ on (?P<host>[\w.-]+)"
            r"(?: \([^()]*\))?: (?P<text>\{.*\})\s*\Z"
        ),
        r"(?P<time>)(?P<host>[^\s{\"]*)\t(?P<text>\{.*\})\s*\Z",
    )
)


class _TaggedJson:
    """The object is looked at as any other."""

    rank = 26
    certain = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        if line.fields is not None or not line.text.rstrip().endswith(("}", "]")):
            return None
        match = next((found for shape in _SHAPES if (found := shape.match(line.text))), None)
        if match is None or object_of(match["text"]) is None:
            return None
        host = match.groupdict().get("host") or line.host
        return ANY_OBJECT.peel(replace(line, text=match["text"], at=instant(match["time"]) or line.at, host=host))


ENVELOPE = _TaggedJson()
