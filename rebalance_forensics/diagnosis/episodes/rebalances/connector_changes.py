"""Connector configurations that changed, and the rebalances right after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS

F = TypeVar("F", Rebalance, Request)


CHANGING = (ConnectorConfigChanged, Request)
"""Evidence of a change: a worker's line, or a rejoin."""


class ConnectorChanges(Struct, frozen=True):
    """Changes close in time, with the rebalances and rejoins right after them."""

    lines: tuple[ConnectorConfigChanged, ...]
    rebalances: tuple[Rebalance, ...]
    requests: tuple[Request, ...]

    @property
    def connectors(self) -> list[str]:
        """The connector names that lines give."""
        return sorted({e.connector for e in self.lines if e.connector})


def connector_changes(timeline: Timeline) -> Iterator[ConnectorChanges]:
    """Configuration updates that workers logged just before they rejoined."""
    if timeline.kind != "connect":
        return
    changes = [e for e in timeline.of(ConnectorConfigChanged) if _asks_for_rebalance(e)]
    for run in runs(changes, time_of, ONE_REBALANCE_MS):
        rebalances = _right_after(run, timeline.rebalances)
        if rebalances:
            asked = (r for r in _right_after(run, timeline.requests) if r.why != "static-member-changed")
            yield ConnectorChanges(tuple(run), tuple(rebalances), tuple(asked))


def _asks_for_rebalance(event: ConnectorConfigChanged) -> bool:
    return event.change in ("created", "updated", "removed", "tasks")


def _right_after(run: Sequence[Event], facts: TimeIndex[F]) -> list[F]:
    changed = TimeIndex(map(time_of, run), at=int)
    near = facts.between(changed[0] - ROUND_TRIP_MS, changed[-1] + HEARTBEAT_MS)
    return [f for f in near if changed.any_between(fact_at(f) - HEARTBEAT_MS, fact_at(f) + ROUND_TRIP_MS)]
