"""Events as evidence: the line that each was read from."""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.model import Evidence
from rebalance_forensics.timeline.text_limit import without_middle

LONGEST_TEXT = 2_000


def evidence_of(event: Event) -> Evidence:
    """The line an event was read from."""
    origin, text = event.origin, event.text
    return Evidence(
        path=origin.path,
        line=origin.line,
        byte_offset=origin.byte_offset,
        timestamp=event.at,
        text=without_middle(text, LONGEST_TEXT),
    )
