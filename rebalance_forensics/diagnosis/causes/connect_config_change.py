"""Connectors or tasks were created, changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.deployments import submit_together
from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.rebalances.connector_changes import connector_changes
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Culprit
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.timeline.group_timeline import Timeline

CONFIG_CHANGED = stated("connector-config-changed", present="a worker logged the change just before it rejoined")

STORM = 10
"""A change costs a rebalance for the connector and one for its tasks: five changes within minutes are no plan."""


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Configuration updates that workers saw just before they rejoined."""
    for changes in connector_changes(timeline):
        number, which = len(changes.rebalances), ", ".join(changes.connectors) or "tasks"
        yield Hypothesis(
            because=changes.told,
            circumstances=[e for r in changes.rebalances[:2] for e in r.events[:2]],
            culprits=tuple(Culprit(kind="connector", name=name) for name in changes.connectors),
            answers={CONFIG_CHANGED: Present(distinct_events(changes.told))},
            severity="warning" if number > STORM else "info",
            brings=(*changes.rebalances, *changes.requests),
            explains=changes.rebalances,
            narrative=f"Connector configuration changed ({which}): {number} rebalances followed.",
            advice=submit_together(changes),
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
