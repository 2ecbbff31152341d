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

from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.causes.unexplained import REJOINED
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.wording.culprits import culprit_of
from rebalance_forensics.diagnosis.wording.durations import span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConfigOffsetBehind, WorkerAssigned
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, QUIET_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

# ConnectProtocol.Assignment.CONFIG_MISMATCH: the leader's configuration is older than another worker's.
CONFIG_MISMATCH = 1
# KafkaConfigBackingStore's offset until it has read a record.
NOTHING_READ = -1
MOST_NAMED = 3


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

    @property
    def name(self) -> str:
        """The worker by its log."""
        return f"a worker on {place_name(self.lines[0])}"


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
    for (participant, place, _), logged in _by_worker(timeline).items():
        behind = [e for e in logged if isinstance(e, ConfigOffsetBehind)]
        for run in _stalled_reads(timeline, participant, behind):
            reads = _reads(run)
            if len(reads) > 1 and _repeated_refusals(run, logged):
                last = reads[-1]
                assert last.current is not None
                assert last.wanted is not None
                lines = sorted(run, key=lambda e: not e.failed)
                yield LaggingWorker(participant, place, last.current, last.wanted, tuple(reads), tuple(lines))


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
    starts = timeline.starts.of(participant)
    for stretch in runs(events, time_of, QUIET_MS):
        found: list[ConfigOffsetBehind] = []
        offset: int | None = None
        for event in stretch:
            moved = event.current is not None and offset is not None and event.current != offset
            if found and (moved or starts.any_between(time_of(found[-1]), time_of(event))):
                yield found
                found, offset = [], None
            found.append(event)
            offset = offset if event.current is None else event.current
        yield found


def _reads(run: Sequence[ConfigOffsetBehind]) -> list[ConfigOffsetBehind]:
    # An attempt logs that it reads on and, if it fails, that it failed; cut logs have one line or the other.
    behind = [e for e in run if e.current is not None and e.wanted is not None and e.current < e.wanted]
    begun = [e for e in behind if not e.failed]
    ended = [e for e in behind if e.failed]
    return max(ended, begun, key=len)


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


# A worker that never reads as far as the assignment demands: it reads another topic, or records are gone.
_ONE_CONFIG_TOPIC = (
    Advice(
        action="Compare config.storage.topic and bootstrap.servers of all workers with this group.id: each logs them "
        "at start, under 'DistributedConfig values'.",
        why="An assignment demands the furthest offset that a worker has read; a worker that reads another config "
        "topic, or another Kafka cluster, never reaches it. A Connect cluster of its own needs its own group.id.",
        cost="A worker must be restarted to change either: one rebalance for each.",
    ),
    Advice(
        action="Check that the config topic is compacted, has one partition and was not recreated or truncated.",
        why="Workers that read it earlier keep the offset of records that retention, a new topic of the same name or "
        "an unclean leader election has removed since.",
        cost="After a restart workers read what is left: connectors whose records are gone must be created again.",
    ),
)
# A worker that does not come to the end of the config topic in time.
_REACHABLE_CONFIG_TOPIC = (
    Advice(
        action="Find out why the worker reads the config topic so slowly: the partition's leader, or the way to it.",
        why="It gives up after worker.sync.timeout.ms (3 s by default) and takes up no work until it succeeds.",
        cost="A longer worker.sync.timeout.ms only helps where reading is slow, not where it fails.",
    ),
)


def about_lag(timeline: Timeline, lag: ConfigLag, unexplained: Sequence[Rebalance]) -> Hypothesis:
    """Workers that read the config topic to its end in vain, again and again, and what they brought about."""
    named = [*(w.participant for w in lag.workers), *(leader.participant for leader in lag.leaders)]
    blamed = tuple(dict.fromkeys(p for p in named if p is not None))
    culprits = [culprit_of(participant) for participant in blamed]
    culprits += [Culprit(kind="host", name=w.place) for w in lag.workers if w.participant is None]
    return Hypothesis(
        because=lag.lines,
        culprits=tuple(dict.fromkeys(culprits)),
        clues={REJOINED: Present(lag.lines)},
        severity="warning",
        explains=tuple(r for r in unexplained if is_right_after(r, lag.lines)),
        participants=blamed,
        until=max(map(time_of, lag.lines)),
        ongoing=_is_open_at_end(timeline, lag),
        narrative=" ".join(filter(None, (*_behind(lag), _leader(lag), "The logs do not show why."))),
        advice=_REACHABLE_CONFIG_TOPIC if timed_out(lag) else _ONE_CONFIG_TOPIC,
    )


def why_forced(timeline: Timeline, line: Event | None) -> str:
    """The reason of one rebalance by the line that forced it, as a clause; nothing where none did."""
    match line:
        case ConfigOffsetBehind(current=int(current), wanted=int(wanted)):
            side = "not read the config topic as far as" if current < wanted else "read the config topic further than"
            return (
                f"because {_speaker(timeline, line)} had {side} the group's assignment (offset {current}, the "
                f"assignment {wanted})"
            )
        case ConfigOffsetBehind():
            return f"because {_speaker(timeline, line)} had not read the config topic to its end in time"
        case WorkerAssigned(leader=str(leader)):
            who = _name(timeline.participants.of_member(leader), leader)
            far = "" if line.config_offset is None else f" (offset {line.config_offset})"
            return (
                f"because the assignment before it failed (error 1): the leader, {who}, had not read the config topic "
                f"as far as another worker{far}"
            )
    return ""


def _behind(lag: ConfigLag) -> Sequence[str]:
    """The worker that tried most often, then the others."""
    if not lag.workers:
        return ()
    first, *others = lag.workers
    name, often = _name(first.participant, first.name), f"{times(len(first.reads))}{span(first.reads)}"
    where = f"offset {first.reached}{' (it had read no record)' if first.reached == NOTHING_READ else ''}"
    if timed_out(lag):
        sentence = (
            f"{name} did not reach the end of the config topic in time {often}: it was at {where}, the group's "
            f"assignment at {first.wanted}."
        )
    else:
        sentence = (
            f"{name} could not catch up with the group's configuration: reading the config topic to its end left it "
            f"at {where}, the group's assignment demanded {first.wanted}, and it asked for another rebalance {often}."
        )
    if not others:
        return (sentence,)
    named = ", ".join(f"{_name(w.participant, w.name)} (at offset {w.reached})" for w in others[:MOST_NAMED])
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    return sentence, f"{named}{more} stayed behind as well."


def _leader(lag: ConfigLag) -> str:
    """That a leader was behind, so that its assignments failed for everybody."""
    if not lag.leaders:
        return ""
    first = lag.leaders[0]
    often = f"{times(len(first.failed))}{span(first.failed)}"
    if any(w.participant is not None and w.participant is first.participant for w in lag.workers):
        return f"It led the group, so the assignments failed for every worker (error 1) {often}."
    far = "" if first.wanted is None else f" (offset {first.wanted})"
    return (
        f"The leader, {_name(first.participant, first.member)}, had not read the config topic as far as another "
        f"worker{far}: the assignments failed (error 1) {often}, and the workers had to rejoin."
    )


def _speaker(timeline: Timeline, line: Event) -> str:
    return _name(timeline.participants.of_speaker(line), f"a worker on {place_name(line)}")


def _name(participant: Participant | None, otherwise: str) -> str:
    return culprit_of(participant).name if participant is not None else otherwise


def timed_out(lag: ConfigLag) -> bool:
    """True if the worker that tried most often never reached the end of the config topic, as when a broker is down."""
    reads = [e for e in lag.workers[0].lines if isinstance(e, ConfigOffsetBehind)] if lag.workers else []
    return any(e.failed and e.wanted is None for e in reads) and not any(
        e.failed and e.wanted is not None for e in reads
    )


def _is_open_at_end(timeline: Timeline, lag: ConfigLag) -> bool:
    """True if the logs end before a worker that was behind received an assignment that it could take up."""
    last = max(map(time_of, lag.lines))
    given = timeline.own.of_type(WorkerAssigned).between(last + 1, timeline.last)
    return timeline.last - last < REQUEST_TIMEOUT_MS and all(e.error for e in given)
