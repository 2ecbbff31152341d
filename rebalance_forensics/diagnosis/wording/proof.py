"""Events as evidence: the most telling lines first, at most twenty, and how many there were."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.model import Evidence
from rebalance_forensics.timeline.text_limit import shortened

MOST_LINES = 20
MOST_CIRCUMSTANCES = 4
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


def most_telling(because: Iterable[Event], circumstances: Iterable[Event] = ()) -> tuple[tuple[Evidence, ...], int]:
    """The first twenty distinct lines in the order the rule gave, and how many there are in all.

    A few of the circumstances close the list even where it is long: without them it would not stand alone.
    """
    proof = {(e.origin.path, e.origin.byte_offset): e for e in because}
    beside = {(e.origin.path, e.origin.byte_offset): e for e in circumstances}
    kept = [e for line, e in beside.items() if line not in proof][:MOST_CIRCUMSTANCES]
    lines = tuple(evidence_of(e) for e in (*list(proof.values())[: MOST_LINES - len(kept)], *kept))
    return lines, len(proof.keys() | beside.keys())
