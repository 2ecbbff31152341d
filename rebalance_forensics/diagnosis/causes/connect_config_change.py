"""Connectors or tasks were created, changed or deleted (KIP-415)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.runs import ONE_PLAN, runs
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import rejoins_without_reason
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.seen import client_log
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, Answer, Present, Row, Unobservable, clue
from rebalance_forensics.diagnosis.wording.durations import counted, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Rebalance, Request, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex, grouped

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
# Evidence of a change: a worker's line or a rejoin.
CHANGING = (ConnectorConfigChanged, Request)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Changes that workers logged before they rejoined; without workers' logs, rejoins that nothing else explains."""
    if timeline.kind == "connect":
        yield from connector_changes(timeline)
        for requests in worker_rejoins(timeline):
            facts: tuple[Fact, ...] = (*touched(timeline, requests), *requests)
            lines = distinct_events(e for r in requests for e in r.events)
            rejoined = tuple(dict.fromkeys(r.participant for r in requests if r.participant is not None))
            workers = rejoined or tuple(timeline.membership.members)
            begin, end = requests[0].at - windows.HEARTBEAT_MS, requests[-1].at
            # Connectors and tasks of a worker that left are reassigned after scheduled.rebalance.max.delay.ms.
            earliest = requests[0].at - timeouts.setting_ms(timeline, timeouts.CONNECT_DELAY) - windows.HEARTBEAT_MS
            initial = initial_arrivals(timeline)
            moves = [m for m in timeline.moves(earliest, requests[0].at - 1) if m.id not in initial]
            moved = distinct_events(e for m in moves for e in m.events[:1])
            answers: dict[Row, Answer] = {
                CONFIG_CHANGED: Unobservable(tuple(client_log(worker, begin, end) for worker in workers)),
                REJOINED_UNASKED: Present(lines),
            }
            yield Hypothesis(
                because=lines,
                culprits=(),
                clues=answers | ({WORK_HANDED_OVER: Present(moved)} if moved else {}),
                severity="info",
                implies=facts,
                explains=facts,
                participants=rejoined,
                narrative=(
                    f"{'Workers' if len(workers) > 1 else 'A worker'} rejoined unasked {times(len(requests))}, as "
                    "happens when connector or task configurations change; only the workers' own logs name the "
                    "connector."
                ),
            )


CAUSE = Cause(
    propose=propose,
    evidence_types=CHANGING,
    lookalikes=("rolling-restart",),
)


def connector_changes(timeline: Timeline) -> Iterator[Hypothesis]:
    """Configuration changes that workers logged just before they rejoined."""
    changes = [e for e in timeline.of(ConnectorConfigChanged) if e.change in ("created", "updated", "removed", "tasks")]
    for run in runs(changes, time_of, windows.ONE_SCALING_MS):
        rebalances = _right_after(run, timeline.rebalances)
        occasions = _occasions_by_connector(run)
        if not rebalances:
            continue
        asked = (r for r in _right_after(run, timeline.requests) if r.why != "static-member-changed")
        changed = [f"{name}{f' {times(number)}' if number > 1 else ''}" for name, number in occasions.items()]
        yield Hypothesis(
            because=run,
            circumstances=[e for r in rebalances[:2] for e in r.events[:2]],
            culprits=tuple(Culprit(kind="connector", name=name) for name in occasions),
            clues={CONFIG_CHANGED: Present(distinct_events(run))},
            severity="warning" if max(occasions.values(), default=0) > ONE_PLAN else "info",
            implies=(*rebalances, *asked),
            explains=tuple(rebalances),
            narrative=f"Connector configuration changed ({', '.join(changed) or 'tasks'}): "
            f"{counted(len(rebalances), 'rebalance')} followed.",
            advice=(
                Advice(
                    action="Submit changes together, or stop the loop that rewrites configurations.",
                    why=f"Changes to {counted(len(occasions), 'connector')} caused "
                    f"{counted(len(rebalances), 'rebalance')}{span(run)}.",
                    cost="Connect's REST interface takes one connector per request: send the requests back to back.",
                ),
            ),
        )


def _occasions_by_connector(changes: Iterable[ConnectorConfigChanged]) -> dict[str, int]:
    # A changed connector changes the configuration of its tasks as well, seconds later if it has to start first.
    by_connector = grouped(sorted((e for e in changes if e.connector), key=time_of), lambda e: e.connector or "")
    return {
        name: _occasions([e for e in lines if e.change != "tasks"], lines)
        for name, lines in sorted(by_connector.items())
    }


def _occasions(changes: Sequence[ConnectorConfigChanged], with_tasks: Sequence[ConnectorConfigChanged]) -> int:
    # Every worker logs each change, within a second of the others. A single worker's lines distinguish changes that
    # follow each other more closely. TICK_MS is for pasted lines of several workers that cannot be distinguished.
    by_worker = grouped(changes, lambda e: (e.origin.path, e.speaker.host, e.speaker.client_id))
    logged = (len(runs(lines, time_of, windows.TICK_MS)) for lines in by_worker.values())
    return max([*logged, len(runs(changes or with_tasks, time_of, windows.ROUND_TRIP_MS))])


def _right_after(run: Sequence[Event], facts: TimeIndex[F]) -> list[F]:
    changed = TimeIndex(map(time_of, run), at=int)
    # Another worker than those with a log may have requested the rebalance; they learn of it with a heartbeat.
    near = facts.between(changed[0] - windows.ROUND_TRIP_MS, changed[-1] + windows.NEXT_HEARTBEAT_MS)
    return [
        f
        for f in near
        if changed.any_between(fact_at(f) - windows.NEXT_HEARTBEAT_MS, fact_at(f) + windows.ROUND_TRIP_MS)
    ]


def worker_rejoins(timeline: Timeline) -> list[list[Request]]:
    """Rejoins of workers that no worker's log covers, in one list for each burst."""
    # A worker has no subscription. It rejoins by itself when the configuration of a connector or its tasks changed
    # (DistributedHerder), and to hand over work when workers joined or left (KIP-415). Every worker reads the config
    # topic and logs the changes.
    uncovered = [
        request
        for request in rejoins_without_reason(timeline)
        if not any(
            covering(timeline.coverage.of(worker), request.at - windows.HEARTBEAT_MS, request.at)
            for worker in timeline.participants.everybody
        )
    ]
    return [run for run in runs(uncovered, lambda r: r.at, windows.ONE_SCALING_MS) if touched(timeline, run)]
