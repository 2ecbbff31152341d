"""Events as evidence: the most telling lines first, at most twenty, and how many there were."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.model import Evidence

MOST_LINES = 20
LONGEST_TEXT = 2_000
LONGEST_STEP = 240
_TELLING = ("member", "instance_id", "generation", "epoch", "reason", "error", "cause", "exception", "detail")


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


def what_happened(event: Event) -> str:
    """The event in words, with the member, generation and reason it names."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).capitalize()
    told = [str(value) for name in _TELLING if (value := getattr(event, name, None))]
    members = getattr(event, "members", ())
    details = [*told, *(members if isinstance(members, tuple) else ())][:3]
    return f"{words}: {', '.join(details)}"[:LONGEST_STEP] if details else words
