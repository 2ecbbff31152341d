"""Connectors or tasks were created, changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from rebalance_forensics.diagnosis.absences import distinct_events, runs, span
from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, speaks_for
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Rebalance, Request, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import CONFIG_BEFORE_MS, CONFIG_NOTICED_MS, ONE_CONFIG_CHANGE_MS

F = TypeVar("F", Rebalance, Request)

CONFIG_CHANGED = stated("connector-config-changed", present="a worker logged the change just before it rejoined")
STORM = 10
"""A change costs a rebalance for the connector and one for its tasks: five changes within minutes are no plan."""


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Configuration updates that workers saw just before they rejoined."""
    if timeline.kind != "connect":
        return
    changes = [e for e in timeline.of(ConnectorConfigChanged) if _asks_for_rebalance(e)]
    for run in runs(changes, time_of, ONE_CONFIG_CHANGE_MS):
        rebalances = _right_after(run, timeline.rebalances)
        if rebalances:
            yield _hypothesis(timeline, run, rebalances)


def _asks_for_rebalance(event: ConnectorConfigChanged) -> bool:
    return event.change in ("created", "updated", "removed", "tasks")


def _right_after(run: Sequence[Event], facts: InTime[F]) -> list[F]:
    changed = InTime(map(time_of, run), at=int)
    near = facts.between(changed[0] - CONFIG_BEFORE_MS, changed[-1] + CONFIG_NOTICED_MS)
    return [f for f in near if changed.any_between(fact_at(f) - CONFIG_NOTICED_MS, fact_at(f) + CONFIG_BEFORE_MS)]


def _hypothesis(
    timeline: Timeline, run: Sequence[ConnectorConfigChanged], rebalances: Sequence[Rebalance]
) -> Hypothesis:
    names = sorted({e.connector for e in run if e.connector})
    facts: list[Fact] = [r for r in _right_after(run, timeline.requests) if r.why != "static-member-changed"]
    return Hypothesis(
        because=distinct_events(run),
        culprits=tuple(Culprit(kind="connector", name=n) for n in names),
        answers={CONFIG_CHANGED: Present(distinct_events(run))},
        severity="warning" if len(rebalances) > STORM else "info",
        brings=(*rebalances, *facts),
        explains=tuple(rebalances),
        narrative=(
            f"Connector configuration changed ({', '.join(names) or 'tasks'}): {len(rebalances)} rebalances followed."
        ),
        advice=(
            Advice(
                action="Submit changes together, or stop the loop that rewrites configurations.",
                why=f"{len(names)} connectors cost {len(rebalances)} rebalances here{span(run)}.",
                cost="Connect's REST interface takes one connector a request: submit them without waiting in between.",
            ),
        ),
    )


CAUSE = Cause(
    summary="Connectors or tasks were created, changed or deleted.",
    mechanism=(
        "Workers see the change in the config topic and rejoin: one rebalance for the connector, one for its tasks."
    ),
    shows="'Connector … config updated', 'Tasks […] configs updated' just before each rebalance.",
    remedy=(
        "Nothing to do when it was planned; submit changes together, or stop the loop that rewrites configurations."
    ),
    usual="planned",
    propose=propose,
    signs=(speaks_for(CONFIG_CHANGED, DECISIVE),),
    brings=("topic-metadata-change",),
    lookalikes=("rolling-restart", "topic-metadata-change"),
    settings=("scheduled.rebalance.max.delay.ms", "rebalance.timeout.ms"),
    kips=("KIP-415",),
)
