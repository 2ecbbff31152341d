"""Connectors or tasks were created, changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.rebalances.connector_changes import CHANGING, connector_changes
from rebalance_forensics.diagnosis.episodes.rebalances.worker_rejoins import worker_rejoins
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import connectors
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Configuration updates that workers saw just before they rejoined; without their logs, rejoins by themselves."""
    yield from (connectors.about_changes(changes) for changes in connector_changes(timeline))
    yield from (connectors.about_rejoins(timeline, rejoins) for rejoins in worker_rejoins(timeline))


CAUSE = Cause(
    summary="Connectors or tasks were created, changed or deleted.",
    mechanism=(
        "Workers see the change in the config topic and rejoin: one rebalance for the connector, one for its tasks."
    ),
    shows="'Connector … config updated', 'Tasks […] configs updated', just before each rebalance.",
    remedy=("Nothing to do if it was planned; submit changes together, or stop the loop that rewrites configurations."),
    usual="planned",
    propose=propose,
    told_by=CHANGING,
    signs=(
        speaks_for(connectors.CONFIG_CHANGED, DECISIVE),
        speaks_for(connectors.REJOINED_UNASKED, STRONG),
        speaks_against(connectors.WORK_HANDED_OVER, STRONG),
    ),
    lookalikes=("rolling-restart",),
    settings=("scheduled.rebalance.max.delay.ms", "rebalance.timeout.ms"),
    kips=("KIP-415",),
)
