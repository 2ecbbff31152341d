"""Events as evidence: the most decisive lines first, at most twenty, and their total number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.model import Evidence

T = TypeVar("T")
MOST_LINES = 20
MOST_CIRCUMSTANCES = 4


def select_evidence(because: Iterable[Event], circumstances: Iterable[Event] = ()) -> tuple[tuple[Evidence, ...], int]:
    """Twenty distinct lines at most, in the order the rule gave, and how many there are in all.

    A few of the circumstances close the list even where it is long: without them it would not stand alone.
    """
    proof = distinct_events(because)
    others = distinct_events((*proof, *circumstances))[len(proof) :]
    kept = others[:MOST_CIRCUMSTANCES]
    chosen = _of_each_kind(proof, MOST_LINES - len(kept))
    return tuple([evidence_of(event) for event in (*chosen, *kept)]), len(proof) + len(others)


def interleaved(proofs: Sequence[Sequence[T]]) -> list[T]:
    """The best line of each proof first, then the second best, and so on."""
    ranks = sorted((rank, place) for place, lines in enumerate(proofs) for rank in range(len(lines)))
    return [proofs[place][rank] for rank, place in ranks]


def _of_each_kind(lines: Sequence[Event], most: int) -> list[Event]:
    """The first of every kind, then the second of every kind, and so on, in their order."""
    # Twenty lines of one kind prove no more than ten; ten of another kind show what it led to.
    if len(lines) <= most:
        return list(lines)
    seen: dict[str, int] = defaultdict(int)
    ranks: list[tuple[int, int]] = []
    for place, event in enumerate(lines):
        ranks.append((seen[event.pattern], place))
        seen[event.pattern] += 1
    return [lines[place] for place in sorted(place for _, place in sorted(ranks)[:most])]
