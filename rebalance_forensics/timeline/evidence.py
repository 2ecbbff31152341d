"""Events as the lines that prove something."""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.model import Evidence
from rebalance_forensics.timeline.text_limit import shortened

LONGEST_TEXT = 2_000


def evidence_of(event: Event) -> Evidence:
    """The line an event was read from."""
    return Evidence(
        path=event.origin.path,
        line=event.origin.line,
        byte_offset=event.origin.byte_offset,
        timestamp=event.at,
        text=shortened(event.text, LONGEST_TEXT),
    )
