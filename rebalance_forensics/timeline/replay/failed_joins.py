"""Joins that came to nothing: a client that lost its generation while it joined says that it joined generation -1."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.events.rebalances import GenerationReset, JoinSucceeded, SyncSucceeded

NO_GENERATION = -1
"""Kafka's Generation.NO_GENERATION: the generation id of whoever is no member."""


def without_failed_joins(events: Iterable[Event]) -> list[Event]:
    """The same events; "joined … generation -1" becomes what it is, a member without a generation."""
    return [_reset(e) if _came_to_nothing(e) else e for e in events]


def _came_to_nothing(event: Event) -> bool:
    return isinstance(event, JoinSucceeded | SyncSucceeded) and event.generation <= NO_GENERATION


def _reset(event: Event) -> GenerationReset:
    return GenerationReset(**in_common(event), reason="the generation was reset before the join was complete")
