"""stern, skaffold and other tailers that put the pod's or service's name before each line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebalance_forensics.sources.envelopes.base import Line, TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"kafka-0 kafka {INSIDE}"
REJECT = "Kafka version: 3.9.1"


class _Tailer(TextEnvelope, frozen=True, kw_only=True):
    """The name stands first: `[main] [trace]` behind a time is a thread and its context."""

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        behind_a_time = line.envelopes[-1:] == ("timestamp-prefix",) and line.text.startswith("[")
        return None if behind_a_time else TextEnvelope.peel(self, line)


ENVELOPE = _Tailer(
    shape=re.compile(
        r"(?:\[(?P<host>[a-z][a-z0-9.-]+)(?: (?P<stream>[a-z][a-z0-9-]*))?\]|(?:[a-z][a-z0-9-]* )?"
        r"(?P<host2>[a-z](?=[a-z0-9.]*+-[a-z0-9.-])[a-z0-9.-]++) (?P<stream2>\u203a? ?[a-z][a-z0-9-]+)) (?P<text>.*)",
        re.DOTALL,
    ),
    rank=70,
    certain=False,
)
