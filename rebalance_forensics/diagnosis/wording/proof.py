"""Events as evidence: the most telling lines first, at most twenty, and how many there were."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.model import Evidence

MOST_LINES = 20
MOST_CIRCUMSTANCES = 4


def most_telling(because: Iterable[Event], circumstances: Iterable[Event] = ()) -> tuple[tuple[Evidence, ...], int]:
    """The first twenty distinct lines in the order the rule gave, and how many there are in all.

    A few of the circumstances close the list even where it is long: without them it would not stand alone.
    """
    proof = {(e.origin.path, e.origin.byte_offset): e for e in because}
    beside = {(e.origin.path, e.origin.byte_offset): e for e in circumstances}
    kept = [e for line, e in beside.items() if line not in proof][:MOST_CIRCUMSTANCES]
    lines = tuple(evidence_of(e) for e in (*list(proof.values())[: MOST_LINES - len(kept)], *kept))
    return lines, len(proof.keys() | beside.keys())
