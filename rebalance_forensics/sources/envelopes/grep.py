"""What grep and its kin put in front: the file, the number of the line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.files.hosts import host_of

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"kafka-0/server.log:812:{INSIDE}"
REJECT = "server.log was rolled"

_SHAPE = re.compile(
    r"(?:(?P<path>[\w./@+-]*[\w@+-]\.(?:log|txt|out|err|json|gz|\d{1,3})(?:\.[\w-]+){0,5}|\(standard input\))[:-])?"
    r"(?:(?! *(?:\d{4}-\d\d|\d\d?[-./]\w|\d\d?:\d\d:))(?P<number> *\d+)[:\t-] ?)?(?P<text>.*)",
    re.DOTALL,
)


class _Grep:
    """The file names the host, as any file's name does."""

    rank = 82
    certain = False

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        match = _SHAPE.match(line.text) if line.fields is None else None
        if match is None or not (match["path"] or match["number"]):
            return None
        path = match["path"]
        host = host_of(path.lstrip("./")) if path else None
        return (replace(line, text=match["text"], host=host or line.host, stream=f"{line.stream}{path or ''}"),)


ENVELOPE = _Grep()
