"""Connect workers whose configuration lags behind the group's assignment, and the rejoins that follow.

After each assignment a worker with an older configuration reads the config topic to its end. If it still has not
reached the assignment's offset, it rejoins (DistributedHerder.handleRebalanceCompleted). A leader that is itself behind
another worker sends a failed assignment, and every worker rejoins (ensureLeaderConfig,
ConnectProtocol.CONFIG_MISMATCH).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConfigOffsetBehind, WorkerAssigned
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, QUIET_MS, ROUND_TRIP_MS

CONFIG_MISMATCH = 1
"""ConnectProtocol.Assignment.CONFIG_MISMATCH: the leader's configuration is older than another worker's."""
NOTHING_READ = -1
"""KafkaConfigBackingStore's offset until it has read a record."""


class LaggingWorker(Struct, frozen=True):
    """A worker that read the config topic to its end at least twice without getting further.

    `place` is the location of its log, for a worker that its lines do not name; `reads` has one line for each attempt.
    """

    participant: Participant | None
    place: str
    reached: int
    wanted: int
    reads: tuple[Event, ...]
    lines: tuple[Event, ...]


class LaggingLeader(Struct, frozen=True):
    """A leader whose assignments failed repeatedly, as a worker (itself or another) logged."""

    participant: Participant | None
    member: str
    wanted: int | None
    failed: tuple[Event, ...]


class ConfigLag(Struct, frozen=True):
    """The workers and leaders that lag at one time, most attempts first; a leader may be among the workers."""

    workers: tuple[LaggingWorker, ...]
    leaders: tuple[LaggingLeader, ...]

    @property
    def lines(self) -> tuple[Event, ...]:
        """All lines that show it, the workers' own lines first."""
        own = (e for worker in self.workers for e in worker.lines)
        return (*own, *(e for leader in self.leaders for e in leader.failed))


def config_lags(timeline: Timeline) -> Iterator[ConfigLag]:
    """Lags that repeat: a single one is usual right after a change, and the next read ends it."""
    if timeline.kind != "connect":
        return
    found: list[LaggingWorker | LaggingLeader] = [*_workers(timeline), *_leaders(timeline)]
    for together in runs(found, lambda lag: _times(lag)[0], QUIET_MS, lambda lag: _times(lag)[1]):
        workers = [lag for lag in together if isinstance(lag, LaggingWorker)]
        leaders = [lag for lag in together if isinstance(lag, LaggingLeader)]
        yield ConfigLag(
            tuple(sorted(workers, key=lambda w: -len(w.reads))),
            tuple(sorted(leaders, key=lambda leader: -len(leader.failed))),
        )


def forced_rejoin(timeline: Timeline, rebalance: Rebalance) -> Event | None:
    """The line, nearest to the start of a rebalance, in which a worker rejoins because of its configuration."""
    begin, end = rebalance.started_at - HEARTBEAT_MS, rebalance.started_at + ROUND_TRIP_MS
    lines = timeline.own.of_type(ConfigOffsetBehind, WorkerAssigned).between(begin, end)
    forcing = [e for e in lines if _forces_rejoin(e)]
    return min(forcing, key=lambda e: abs(time_of(e) - rebalance.started_at), default=None)


def is_right_after(rebalance: Rebalance, lines: Iterable[Event]) -> bool:
    """True if the rebalance begins as soon as one of these lines is written."""
    begin, end = rebalance.started_at - HEARTBEAT_MS, rebalance.started_at + ROUND_TRIP_MS
    return any(begin <= time_of(line) <= end for line in lines)


def _forces_rejoin(event: Event) -> bool:
    match event:
        case ConfigOffsetBehind(failed=failed):
            return failed
        case WorkerAssigned(error=error):
            return error == CONFIG_MISMATCH
    return False


def _workers(timeline: Timeline) -> Iterator[LaggingWorker]:
    for (participant, place, _), lines in _by_worker(timeline).items():
        behind = [e for e in lines if isinstance(e, ConfigOffsetBehind)]
        for run in _stalled_reads(timeline, participant, behind):
            reads = _reads(run)
            if len(reads) > 1 and _repeated_refusals(run, lines):
                last = reads[-1]
                assert last.current is not None
                assert last.wanted is not None
                yield LaggingWorker(
                    participant, place, last.current, last.wanted, tuple(reads), tuple(_failed_first(run))
                )


def _by_worker(timeline: Timeline) -> dict[tuple[Participant | None, str, str | None], list[Event]]:
    """Each worker's lines; client ids separate workers that write to one file."""
    found: dict[tuple[Participant | None, str, str | None], list[Event]] = defaultdict(list)
    for event in timeline.own.of_type(ConfigOffsetBehind, WorkerAssigned):
        if event.at is not None:
            who = timeline.participants.of_speaker(event)
            found[who, "" if who is not None else place_name(event), event.speaker.client_id].append(event)
    return found


def _repeated_refusals(run: Sequence[ConfigOffsetBehind], lines: Sequence[Event]) -> bool:
    # A worker that only logs further reads may have been restarted without a line.
    begin, end = time_of(run[0]) - HEARTBEAT_MS, time_of(run[-1])
    return any(_forces_rejoin(e) and begin <= time_of(e) <= end for e in lines)


def _stalled_reads(
    timeline: Timeline, participant: Participant | None, events: Sequence[ConfigOffsetBehind]
) -> Iterator[list[ConfigOffsetBehind]]:
    """A worker's lines, cut where its offset moved, its process restarted, or it was quiet for long."""
    for stretch in runs(events, time_of, QUIET_MS):
        found: list[ConfigOffsetBehind] = []
        offset: int | None = None
        for event in stretch:
            moved = event.current is not None and offset is not None and event.current != offset
            if found and (moved or _started_between(timeline, participant, found[-1], event)):
                yield found
                found, offset = [], None
            found.append(event)
            offset = offset if event.current is None else event.current
        yield found


def _started_between(timeline: Timeline, who: Participant | None, before: Event, after: Event) -> bool:
    return who is not None and timeline.starts.of(who).any_between(time_of(before), time_of(after))


def _reads(run: Sequence[ConfigOffsetBehind]) -> list[ConfigOffsetBehind]:
    # An attempt logs that it reads on and, if it fails, that it failed; cut logs have one line or the other.
    behind = [e for e in run if e.current is not None and e.wanted is not None and e.current < e.wanted]
    begun = [e for e in behind if not e.failed]
    ended = [e for e in behind if e.failed]
    return max(ended, begun, key=len)


def _failed_first(run: Sequence[ConfigOffsetBehind]) -> Iterator[ConfigOffsetBehind]:
    yield from (e for e in run if e.failed)
    yield from (e for e in run if not e.failed)


def _leaders(timeline: Timeline) -> Iterator[LaggingLeader]:
    """Each leader with the longest streak of failed assignments that one worker logged."""
    streaks: dict[str, list[list[WorkerAssigned]]] = defaultdict(list)
    for lines in _by_worker(timeline).values():
        assigned = (e for e in lines if isinstance(e, WorkerAssigned))
        for (error, leader), streak in groupby(assigned, key=lambda e: (e.error, e.leader)):
            if error == CONFIG_MISMATCH and leader:
                streaks[leader] += runs(streak, time_of, QUIET_MS)
    yield from _leaders_by_own_log(timeline)
    for leader, found in streaks.items():
        failed = max(found, key=len)
        if len({e.generation for e in failed}) > 1:
            wanted = max((e.config_offset for e in failed if e.config_offset is not None), default=None)
            yield LaggingLeader(timeline.participants.of_member(leader), leader, wanted, tuple(failed))


def _leaders_by_own_log(timeline: Timeline) -> Iterator[LaggingLeader]:
    # A leader logs each assignment in which it had to leave all workers without work (WorkerCoordinator).
    for (participant, place, _), lines in _by_worker(timeline).items():
        leading = [e for e in lines if isinstance(e, ConfigOffsetBehind) and e.leading]
        for run in runs(leading, time_of, QUIET_MS):
            if len(run) > 1:
                yield LaggingLeader(participant, f"a worker on {place}", None, tuple(run))


def _times(lag: LaggingWorker | LaggingLeader) -> tuple[int, int]:
    times = [time_of(e) for e in (lag.lines if isinstance(lag, LaggingWorker) else lag.failed)]
    return min(times), max(times)
