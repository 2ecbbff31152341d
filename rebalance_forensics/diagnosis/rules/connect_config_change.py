"""Connectors or tasks were created, changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from rebalance_forensics.diagnosis.absences import distinct_events, runs, span
from rebalance_forensics.diagnosis.finding import LIKELY, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact, Rebalance, Request, fact_at
from rebalance_forensics.timeline.in_time import InTime
from rebalance_forensics.timeline.told import time_of

F = TypeVar("F", Rebalance, Request)

ONE_CHANGE_MS = 60_000
STARTS_MS = 3_000
STORM = 10
"""A change costs a rebalance for the connector and one for its tasks: five changes within minutes are no plan."""


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Configuration updates that workers saw just before they rejoined."""
    if timeline.kind != "connect":
        return
    changes = [e for e in timeline.of(ConnectorConfigChanged) if _asks_for_rebalance(e)]
    for run in runs(changes, time_of, ONE_CHANGE_MS):
        rebalances = _right_after(run, timeline.rebalances)
        if rebalances:
            yield _finding(timeline, run, rebalances)


def _asks_for_rebalance(event: ConnectorConfigChanged) -> bool:
    return event.change in ("created", "updated", "removed", "tasks")


def _right_after(run: Sequence[Event], facts: InTime[F]) -> list[F]:
    changed = InTime(map(time_of, run), at=int)
    near = facts.between(changed[0] - 500, changed[-1] + STARTS_MS)
    return [f for f in near if changed.any_between(fact_at(f) - STARTS_MS, fact_at(f) + 500)]


def _finding(timeline: Timeline, run: Sequence[ConnectorConfigChanged], rebalances: Sequence[Rebalance]) -> Finding:
    names = sorted({e.connector for e in run if e.connector})
    facts: list[Fact] = [r for r in _right_after(run, timeline.requests) if r.why != "static-member-changed"]
    return Finding(
        because=distinct_events(run),
        culprits=tuple(Culprit(kind="connector", name=n) for n in names),
        confidence=LIKELY,
        severity="warning" if len(rebalances) > STORM else "info",
        claims=(*rebalances, *facts),
        core=tuple(rebalances),
        narrative=(
            f"Connector configuration changed ({', '.join(names) or 'tasks'}): {len(rebalances)} rebalances followed."
        ),
        advice=(
            Advice(
                action="Create and change connectors in batches rather than one by one.",
                why=f"{len(names)} connectors cost {len(rebalances)} rebalances here{span(run)}.",
                cost="A mistake in a batch is made in all of its connectors at once.",
            ),
        ),
    )


RULE = Rule(
    summary="Connectors or tasks were created, changed or deleted.",
    mechanism=(
        "Workers see the change in the config topic and rejoin: one rebalance for the connector, one for its tasks."
    ),
    signs="'Connector … config updated', 'Tasks […] configs updated' just before each rebalance.",
    remedy="Nothing to do when it was planned; batch changes, and stop whatever rewrites configurations in a loop.",
    usual="planned",
    rank=19,
    diagnose=diagnose,
    settings=("scheduled.rebalance.max.delay.ms", "rebalance.timeout.ms"),
    kips=("KIP-415",),
)
