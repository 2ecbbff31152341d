"""Connectors or tasks were created, changed or deleted (KIP-415).

What happened: workers logged a changed configuration just before they rejoined (CONFIG_CHANGED); without their logs,
workers rejoined by themselves (REJOINED_UNASKED), which counts less right after workers came or went
(WORK_HANDED_OVER).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import rejoins_without_reason
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.seen import client_log
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, Answer, Present, Row, Unobservable, clue
from rebalance_forensics.diagnosis.wording.durations import counted, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import CONNECT_DELAY, setting_ms
from rebalance_forensics.timeline.windows import (
    HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    ROUND_TRIP_MS,
)

CONFIG_CHANGED = clue("connector-config-changed", DECISIVE, "a worker logged the change just before it rejoined")
REJOINED_UNASKED = clue(
    "workers-rejoined-unasked",
    STRONG,
    "workers rejoined by themselves; they subscribe to no topic and do so for changed configurations",
)
WORK_HANDED_OVER = clue(
    "workers-came-or-went", -STRONG, "workers came or went so shortly before that work may have been handed over"
)
F = TypeVar("F", Rebalance, Request)
# Evidence of a change: a worker's line, or a rejoin.
CHANGING = (ConnectorConfigChanged, Request)


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
        clues={CONFIG_CHANGED: Present(distinct_events(changes.lines))},
        severity="info",
        implies=(*changes.rebalances, *changes.requests),
        explains=changes.rebalances,
        narrative=f"Connector configuration changed ({which}): {number} rebalances followed.",
        advice=submit_together(changes),
    )


def about_rejoins(timeline: Timeline, rejoins: WorkerRejoins) -> Hypothesis:
    """Rejoins of workers without another reason; only their own logs name the connector."""
    begin, end = rejoins.requests[0].at - HEARTBEAT_MS, rejoins.requests[-1].at
    workers = rejoins.workers or tuple(timeline.membership.members)
    answers: dict[Row, Answer] = {
        CONFIG_CHANGED: Unobservable(tuple(client_log(worker, begin, end) for worker in workers)),
        REJOINED_UNASKED: Present(rejoins.lines),
    }
    return Hypothesis(
        because=rejoins.lines,
        culprits=(),
        clues=answers | ({WORK_HANDED_OVER: Present(rejoins.moved)} if rejoins.moved else {}),
        severity="info",
        implies=(*rejoins.rebalances, *rejoins.requests),
        explains=(*rejoins.rebalances, *rejoins.requests),
        participants=rejoins.workers,
        narrative=(
            f"{'Workers' if len(workers) > 1 else 'A worker'} rejoined unasked {times(len(rejoins.requests))}, as "
            "happens when connector or task configurations change; only the workers' own logs name the connector."
        ),
    )


def submit_together(changes: ConnectorChanges) -> tuple[Advice, ...]:
    """Connector configurations that change one by one."""
    together = Advice(
        action="Submit changes together, or stop the loop that rewrites configurations.",
        why=f"Changes to {counted(len(changes.connectors), 'connector')} caused "
        f"{counted(len(changes.rebalances), 'rebalance')}"
        f"{span(changes.lines)}.",
        cost="Connect's REST interface takes one connector per request: send the requests back to back.",
    )
    return (together,)


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


class WorkerRejoins(Struct, frozen=True):
    """Rejoins without a reason, close in time; `moved` are lines of members that joined or left shortly before."""

    requests: tuple[Request, ...]
    rebalances: tuple[Rebalance, ...]
    moved: tuple[Event, ...]

    @property
    def lines(self) -> tuple[Event, ...]:
        """The coordinator's lines."""
        return distinct_events(e for r in self.requests for e in r.events)

    @property
    def workers(self) -> tuple[Participant, ...]:
        """The workers that rejoined."""
        return tuple(dict.fromkeys(r.participant for r in self.requests if r.participant is not None))


def worker_rejoins(timeline: Timeline) -> Iterator[WorkerRejoins]:
    """Workers that made the coordinator rebalance while no worker's log covers the time."""
    # A worker subscribes to nothing. It rejoins by itself when the configuration of a connector or its tasks changed
    # (DistributedHerder), and to hand over work when workers joined or left (KIP-415).
    if timeline.kind != "connect":
        return
    uncovered = [r for r in rejoins_without_reason(timeline) if not _is_heard(timeline, r)]
    for run in runs(uncovered, lambda r: r.at, ONE_REBALANCE_MS):
        rebalances = tuple(touched(timeline, run))
        if rebalances:
            yield WorkerRejoins(tuple(run), rebalances, _moved_before(timeline, run[0].at))


def _is_heard(timeline: Timeline, request: Request) -> bool:
    # Every worker reads the config topic and logs what changed there.
    begin = request.at - HEARTBEAT_MS
    return any(
        covering(timeline.coverage.of(participant), begin, request.at)
        for participant in timeline.participants.everybody
    )


def _moved_before(timeline: Timeline, at: int) -> tuple[Event, ...]:
    # The work of a worker that left is handed over after scheduled.rebalance.max.delay.ms.
    delay = setting_ms(timeline, CONNECT_DELAY)
    initial = initial_arrivals(timeline)
    moves = [m for m in timeline.moves(at - delay - HEARTBEAT_MS, at - 1) if m.id not in initial]
    return distinct_events(e for m in moves for e in m.events[:1])
