"""Events as evidence: the most telling lines first, at most twenty, and how many there were."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.model import Evidence

MOST_LINES = 20
LONGEST_TEXT = 2_000


def evidence_of(event: Event) -> Evidence:
    """The line an event was read from."""
    return Evidence(
        path=event.origin.path,
        line=event.origin.line,
        byte_offset=event.origin.byte_offset,
        timestamp=event.at,
        text=event.text[:LONGEST_TEXT],
    )


def most_telling(because: Iterable[Event]) -> tuple[tuple[Evidence, ...], int]:
    """The first twenty distinct lines in the order the rule gave, and how many there are in all."""
    distinct = {(e.origin.path, e.origin.byte_offset): e for e in because}
    lines = tuple(evidence_of(e) for e in list(distinct.values())[:MOST_LINES])
    return lines, len(distinct)
