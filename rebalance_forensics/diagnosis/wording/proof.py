"""The log lines shown as evidence: the most decisive first, at most twenty, with their total number."""

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
    """Up to MOST_LINES distinct lines as evidence, in the given order, and the number of all distinct lines.

    The last of them are up to MOST_CIRCUMSTANCES circumstances, even if the list is long: a reader needs them to
    understand the other lines.
    """
    proof = distinct_events(because)
    others = distinct_events((*proof, *circumstances))[len(proof) :]
    shown_circumstances = others[:MOST_CIRCUMSTANCES]
    chosen = _balanced_by_pattern(proof, MOST_LINES - len(shown_circumstances))
    return tuple([evidence_of(event) for event in (*chosen, *shown_circumstances)]), len(proof) + len(others)


def interleaved(proofs: Sequence[Sequence[T]]) -> list[T]:
    """The first item of each sequence, then the second of each, and so on."""
    ranks = sorted((rank, place) for place, lines in enumerate(proofs) for rank in range(len(lines)))
    return [proofs[place][rank] for rank, place in ranks]


def _balanced_by_pattern(lines: Sequence[Event], most: int) -> list[Event]:
    """Up to `most` of these lines, in their order: the first of each pattern, then the second of each, and so on."""
    # Twenty lines of one pattern prove no more than ten; ten lines of another pattern show the consequences.
    if len(lines) <= most:
        return list(lines)
    count_by_pattern: dict[str, int] = defaultdict(int)
    ranks: list[tuple[int, int]] = []
    for place, event in enumerate(lines):
        ranks.append((count_by_pattern[event.pattern], place))
        count_by_pattern[event.pattern] += 1
    return [lines[place] for place in sorted(place for _, place in sorted(ranks)[:most])]
