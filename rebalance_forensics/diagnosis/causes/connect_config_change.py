"""Connectors or tasks were created, changed or deleted (KIP-415).

What happened: workers logged a changed configuration just before they rejoined (CONFIG_CHANGED); without their logs,
workers rejoined by themselves (REJOINED_UNASKED), which counts less right after workers came or went
(WORK_HANDED_OVER). Planned, unless there are so many that something rewrites configurations in a loop (STORM).
"""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.deployments import submit_together
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.rebalances.connector_changes import (
    CHANGING,
    ConnectorChanges,
    connector_changes,
)
from rebalance_forensics.diagnosis.episodes.rebalances.worker_rejoins import WorkerRejoins, worker_rejoins
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Culprit, Severity
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, Unobservable, stated
from rebalance_forensics.diagnosis.signs.needs import client_log
from rebalance_forensics.diagnosis.wording.durations import times
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

CONFIG_CHANGED = stated("connector-config-changed", present="a worker logged the change just before it rejoined")
REJOINED_UNASKED = stated(
    "workers-rejoined-unasked",
    present="workers rejoined by themselves; they subscribe to no topic and do so for changed configurations",
)
WORK_HANDED_OVER = stated(
    "workers-came-or-went", present="workers came or went so shortly before that work may have been handed over"
)
# A change costs a rebalance for the connector and one for its tasks: five changes within minutes are no plan.
STORM = 10


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Changes that workers logged before they rejoined; without their logs, rejoins that nothing else explains."""
    yield from (about_changes(changes) for changes in connector_changes(timeline))
    yield from (about_rejoins(timeline, rejoins) for rejoins in worker_rejoins(timeline))


CAUSE = Cause(
    summary="Connectors or tasks were created, changed or deleted.",
    mechanism=(
        "Workers see the change in the config topic and rejoin: one rebalance for the connector, one for its tasks."
    ),
    shows="'Connector … config updated', 'Tasks […] configs updated', just before each rebalance.",
    remedy=("Nothing to do if it was planned; submit changes together, or stop the loop that rewrites configurations."),
    usual="planned",
    propose=propose,
    evidence_types=CHANGING,
    signs=(
        speaks_for(CONFIG_CHANGED, DECISIVE),
        speaks_for(REJOINED_UNASKED, STRONG),
        speaks_against(WORK_HANDED_OVER, STRONG),
    ),
    lookalikes=("rolling-restart",),
    settings=("scheduled.rebalance.max.delay.ms", "rebalance.timeout.ms"),
    kips=("KIP-415",),
)


def about_changes(changes: ConnectorChanges) -> Hypothesis:
    """Configuration changes that workers logged just before they rejoined."""
    number, which = len(changes.rebalances), ", ".join(changes.connectors) or "tasks"
    return Hypothesis(
        because=changes.lines,
        circumstances=[e for r in changes.rebalances[:2] for e in r.events[:2]],
        culprits=tuple(Culprit(kind="connector", name=name) for name in changes.connectors),
        answers={CONFIG_CHANGED: Present(distinct_events(changes.lines))},
        severity=_severity(number),
        implies=(*changes.rebalances, *changes.requests),
        explains=changes.rebalances,
        narrative=f"Connector configuration changed ({which}): {number} rebalances followed.",
        advice=submit_together(changes),
    )


def _severity(rebalances: int) -> Severity:
    return "warning" if rebalances > STORM else "info"


def about_rejoins(timeline: Timeline, rejoins: WorkerRejoins) -> Hypothesis:
    """Rejoins of workers without another reason; only their own logs name the connector."""
    begin, end = rejoins.requests[0].at - HEARTBEAT_MS, rejoins.requests[-1].at
    workers = rejoins.workers or tuple(timeline.members())
    answers: dict[Sign, Answer] = {
        CONFIG_CHANGED: Unobservable(tuple(client_log(worker, begin, end) for worker in workers)),
        REJOINED_UNASKED: Present(rejoins.lines),
    }
    return Hypothesis(
        because=rejoins.lines,
        culprits=(),
        answers=answers | ({WORK_HANDED_OVER: Present(rejoins.moved)} if rejoins.moved else {}),
        severity=_severity(len(rejoins.rebalances)),
        implies=(*rejoins.rebalances, *rejoins.requests),
        explains=(*rejoins.rebalances, *rejoins.requests),
        participants=rejoins.workers,
        narrative=(
            f"{'Workers' if len(workers) > 1 else 'A worker'} rejoined unasked {times(len(rejoins.requests))}, as "
            "happens when connector or task configurations change; only the workers' own logs name the connector."
        ),
    )
