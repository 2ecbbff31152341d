"""Connect workers that rejoined by themselves, shown by brokers alone."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import rejoins_without_reason
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.facts import Rebalance, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import CONNECT_DELAY, setting_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ONE_REBALANCE_MS


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
