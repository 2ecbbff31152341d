"""Events as evidence: the most telling lines first, at most twenty, and how many there were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.model import Evidence

MOST_LINES = 20
MOST_CIRCUMSTANCES = 4


def most_telling(because: Iterable[Event], circumstances: Iterable[Event] = ()) -> tuple[tuple[Evidence, ...], int]:
    """Twenty distinct lines at most, in the order the rule gave, and how many there are in all.

    A few of the circumstances close the list even where it is long: without them it would not stand alone.
    """
    proof = {(e.origin.path, e.origin.byte_offset): e for e in because}
    beside = {(e.origin.path, e.origin.byte_offset): e for e in circumstances}
    kept = [e for line, e in beside.items() if line not in proof][:MOST_CIRCUMSTANCES]
    lines = tuple(evidence_of(e) for e in (*_of_each_kind(list(proof.values()), MOST_LINES - len(kept)), *kept))
    return lines, len(proof.keys() | beside.keys())


def _of_each_kind(lines: Sequence[Event], most: int) -> list[Event]:
    """The first of every kind, then the second of every kind, and so on, in their order.

    Twenty lines that say the same prove no more than ten; of another kind, ten show what it led to.
    """
    if len(lines) <= most:
        return list(lines)
    seen: dict[str, int] = defaultdict(int)
    ranks: list[tuple[int, int]] = []
    for place, event in enumerate(lines):
        ranks.append((seen[event.pattern], place))
        seen[event.pattern] += 1
    return [lines[place] for place in sorted(place for _, place in sorted(ranks)[:most])]
