"""The cause behind a cause: what made a process stand still, die or lag, by logs other than the group's."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.events.base import Event


class Link(Struct, frozen=True, gc=False):
    """One thing behind a cause, nearest first: what kind, why as a sentence, and the lines that show it."""

    what: str
    why: str
    confidence: float
    lines: Sequence[Event]
