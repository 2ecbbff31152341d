"""Connect workers that do not catch up with the config topic (DistributedHerder, WorkerCoordinator)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.causes.shared_group_id import workers_of_another_cluster
from rebalance_forensics.diagnosis.causes.unexplained import REJOINED
from rebalance_forensics.diagnosis.engine.drafts import Assigned, Draft, overlaps_a_fault
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.unexplained.speakers import name_of, speaker_of
from rebalance_forensics.diagnosis.wording.culprits import culprit_of
from rebalance_forensics.diagnosis.wording.durations import some, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.time_index import TimeIndex, grouped
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, QUIET_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS


def forced_a_rejoin(event: Event) -> bool:
    """True if a worker rejoins because of the config topic, or a leader assigned no work."""
    return isinstance(event, ev.ConfigOffsetBehind) and (event.failed or event.leading)


def gave_up_reading(event: Event) -> bool:
    """True if a read of the config topic exceeded worker.sync.timeout.ms."""
    return isinstance(event, ev.ConfigOffsetBehind) and event.failed and event.wanted is None


def lagging_workers(timeline: Timeline, assigned: Assigned, drafts: Sequence[Draft]) -> list[Hypothesis]:
    """Workers that do not catch up with the config topic, except those that a fault kept from reading it."""
    if timeline.kind == "connect" and workers_of_another_cluster(timeline) is not None:
        return []  # no worker catches up with the config topic of another cluster
    unexplained = [r for r in timeline.rebalances if r.id not in assigned and r.events]
    by_period = [(lags, _about_lag(timeline, lags, unexplained)) for lags in _repeated_lags(timeline)]
    return [
        h for lags, h in by_period if not (_timed_out(lags) and overlaps_a_fault(drafts, h.started_at(), h.last_at()))
    ]


def forced_in_words(events: Sequence[Event]) -> str:
    """How often a worker rejoined to catch up, or led the group without another worker's configuration."""
    leading = [e for e in events if isinstance(e, ev.ConfigOffsetBehind) and e.leading]
    return (
        f"led the group {times(len(leading))} without configuration that another worker has, and assigned no work, so "
        "that all read the config topic again: usual after a configuration change. If it keeps happening, the workers "
        "of this group.id do not share one config topic."
        if leading
        else f"rejoined {times(len(events))} because it had not read the config topic as far as its assignment "
        "requires, as workers do right after a configuration change."
    )


def behind_in_words(events: Sequence[Event]) -> str:
    """The offsets of a worker and of the assignment that it lags behind, and what the worker does next."""
    last = next((e for e in reversed(events) if isinstance(e, ev.ConfigOffsetBehind) and e.wanted is not None), None)
    offsets = f" (offset {last.current}, the assignment {last.wanted})" if last is not None else ""
    return (
        f"had not read the config topic as far as the group's assignment{offsets}: it reads on and may rejoin, as "
        "workers do right after a configuration change. If it keeps happening, the workers of this group.id do not "
        "share one config topic."
    )


# DistributedHerder.readConfigToEnd leaves the group and backs off; until then the worker keeps its tasks.
UNREAD_CONFIG = (
    "left the group {times} because it did not read the config topic to its end in time (worker.sync.timeout.ms, 3 s "
    "by default); it backs off before it rejoins, and stays behind while that topic cannot be read."
)

# ConnectProtocol.Assignment.CONFIG_MISMATCH: the leader's configuration is older than another worker's.
CONFIG_MISMATCH = 1

# The offset of KafkaConfigBackingStore before it has read a record.
NOTHING_READ = -1
# At most this many workers in a sentence.
MOST_NAMED = 3


class _Lag(Struct, frozen=True):
    """A worker whose offset did not advance in two or more reads of the config topic, or a leader behind other workers.

    `attempts` has one line for each read or failed assignment. `reached` is the worker's offset, None for a leader
    whose assignments failed repeatedly according to its own or another worker's log. `otherwise` is the name to use if
    the lines do not name the worker, and `host` the place of its log.
    """

    participant: Participant | None
    otherwise: str
    reached: int | None
    wanted: int | None
    attempts: tuple[Event, ...]
    lines: tuple[Event, ...]
    host: str = ""

    @property
    def name(self) -> str:
        return name_of(self.participant, self.otherwise)


# After each assignment a worker with an older configuration reads the config topic to its end. If it still has not
# reached the assignment's offset, it rejoins (DistributedHerder.handleRebalanceCompleted). A leader that is itself
# behind another worker sends a failed assignment, and every worker rejoins (ensureLeaderConfig,
# ConnectProtocol.CONFIG_MISMATCH).
def _repeated_lags(timeline: Timeline) -> Iterator[list[_Lag]]:
    """Repeated lags, in one list for each period: workers before leaders, those with the most attempts first.

    A single lag is usual right after a configuration change and ends with the next read.
    """
    if timeline.kind == "connect":
        lags = [*_workers(timeline), *_leaders(timeline)]
        for period in runs(lags, lambda lag: min(map(time_of, lag.lines)), QUIET_MS, lambda lag: _last(lag.lines)):
            yield sorted(period, key=lambda lag: (lag.reached is None, -len(lag.attempts)))


def _last(lines: Iterable[Event]) -> int:
    return max(map(time_of, lines))


def forced_rejoin(timeline: Timeline, rebalance: Rebalance) -> Event | None:
    """The line nearest to the start of a rebalance in which a worker rejoins because of the config topic, or None."""
    lines = timeline.group_events.of_type(ev.ConfigOffsetBehind, ev.WorkerAssigned).between(*_just_before(rebalance))
    forcing = [e for e in lines if _forces_rejoin(e)]
    return min(forcing, key=lambda e: abs(time_of(e) - rebalance.started_at), default=None)


def _just_before(rebalance: Rebalance) -> tuple[int, int]:
    return rebalance.started_at - HEARTBEAT_MS, rebalance.started_at + ROUND_TRIP_MS


def _forces_rejoin(event: Event) -> bool:
    match event:
        case ev.ConfigOffsetBehind(failed=failed):
            return failed
        case ev.WorkerAssigned(error=error):
            return error == CONFIG_MISMATCH
    return False


def _workers(timeline: Timeline) -> Iterator[_Lag]:
    for (participant, place, _), logged in _by_worker(timeline).items():
        forced = TimeIndex(filter(_forces_rejoin, logged), time_of)
        behind = [e for e in logged if isinstance(e, ev.ConfigOffsetBehind)]
        for run in _stalled_reads(timeline, participant, behind):
            reads = _reads(run)
            # Without a forced rejoin, the worker may have been restarted between the reads.
            if len(reads) > 1 and forced.any_between(time_of(run[0]) - HEARTBEAT_MS, time_of(run[-1])):
                reached, wanted = reads[-1].current, reads[-1].wanted
                lines = tuple(sorted(run, key=lambda e: not e.failed))
                yield _Lag(participant, f"a worker on {place}", reached, wanted, tuple(reads), lines, host=place)


def _by_worker(timeline: Timeline) -> dict[tuple[Participant | None, str, str | None], list[Event]]:
    """The lines of each worker; client ids distinguish workers that log to the same file."""
    lines = (e for e in timeline.group_events.of_type(ev.ConfigOffsetBehind, ev.WorkerAssigned) if e.at is not None)
    return grouped(lines, lambda e: (*speaker_of(timeline, e), e.speaker.client_id))


def _stalled_reads(
    timeline: Timeline, participant: Participant | None, events: Sequence[ev.ConfigOffsetBehind]
) -> Iterator[list[ev.ConfigOffsetBehind]]:
    """A worker's lines, divided where its offset moved, its process restarted, or it logged none for QUIET_MS."""
    starts = timeline.starts.of(participant)
    for run in runs(events, time_of, QUIET_MS):
        stalled: list[ev.ConfigOffsetBehind] = []
        offset: int | None = None
        for event in run:
            moved = event.current is not None and offset is not None and event.current != offset
            if stalled and (moved or starts.any_between(time_of(stalled[-1]), time_of(event))):
                yield stalled
                stalled, offset = [], None
            stalled.append(event)
            offset = offset if event.current is None else event.current
        yield stalled


def _reads(run: Sequence[ev.ConfigOffsetBehind]) -> list[ev.ConfigOffsetBehind]:
    # Each attempt logs that it reads on and, if it fails, that it failed; excerpts may have only one of these lines.
    behind = [e for e in run if e.current is not None and e.wanted is not None and e.current < e.wanted]
    return max([e for e in behind if e.failed], [e for e in behind if not e.failed], key=len)


def _leaders(timeline: Timeline) -> Iterator[_Lag]:
    """Leaders that were behind, each with its longest streak of failed assignments in a single worker's log."""
    streaks: dict[str, list[list[ev.WorkerAssigned]]] = defaultdict(list)
    for (participant, place, _), lines in _by_worker(timeline).items():
        assigned = (e for e in lines if isinstance(e, ev.WorkerAssigned))
        for (error, leader), streak in groupby(assigned, key=lambda e: (e.error, e.leader)):
            if error == CONFIG_MISMATCH and leader:
                streaks[leader] += runs(streak, time_of, QUIET_MS)
        # A leader logs each assignment that leaves all workers without work (WorkerCoordinator).
        leading = [e for e in lines if isinstance(e, ev.ConfigOffsetBehind) and e.leading]
        for run in runs(leading, time_of, QUIET_MS):
            if len(run) > 1:
                yield _Lag(participant, f"a worker on {place}", None, None, tuple(run), tuple(run))
    for leader, its_streaks in streaks.items():
        failed = max(map(tuple, its_streaks), key=len)
        if len({e.generation for e in failed}) > 1:
            wanted = max((e.config_offset for e in failed if e.config_offset is not None), default=None)
            yield _Lag(timeline.participants.of_member(leader), leader, None, wanted, failed, failed)


# If a worker never reaches the assignment's offset, it reads another topic, or records were removed.
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

# If a worker does not reach the end of the config topic within worker.sync.timeout.ms.
_REACHABLE_CONFIG_TOPIC = (
    Advice(
        action="Find out why the worker reads the config topic so slowly: the partition's leader, or the way to it.",
        why="It gives up after worker.sync.timeout.ms (3 s by default) and takes up no work until it succeeds.",
        cost="A longer worker.sync.timeout.ms only helps where reading is slow, not where it fails.",
    ),
)


def _about_lag(timeline: Timeline, lags: Sequence[_Lag], unexplained: Sequence[Rebalance]) -> Hypothesis:
    """Workers that repeatedly read the config topic without catching up, and the rebalances that they caused."""
    blamed = tuple(dict.fromkeys(lag.participant for lag in lags if lag.participant is not None))
    culprits = [culprit_of(participant) for participant in blamed]
    culprits += [Culprit(kind="host", name=lag.host) for lag in lags if lag.participant is None and lag.host]
    lines = tuple(e for lag in lags for e in lag.lines)
    forcing, last = TimeIndex(lines, time_of), _last(lines)
    # The lag is over once a worker received an assignment without an error; the logs may end before that.
    assignments = timeline.group_events.of_type(ev.WorkerAssigned).between(last + 1, timeline.last)
    return Hypothesis(
        because=lines,
        culprits=tuple(dict.fromkeys(culprits)),
        clues={REJOINED: Present(lines)},
        severity="warning",
        explains=tuple(r for r in unexplained if forcing.any_between(*_just_before(r))),
        participants=blamed,
        until=last,
        ongoing=timeline.last - last < REQUEST_TIMEOUT_MS and all(e.error for e in assignments),
        narrative=" ".join(filter(None, (*_behind(lags), _leader(lags), "The logs do not show why."))),
        advice=_REACHABLE_CONFIG_TOPIC if _timed_out(lags) else _ONE_CONFIG_TOPIC,
    )


def why_forced(timeline: Timeline, line: Event | None) -> str:
    """The reason for a rebalance as a clause, from the line that forced it; empty without such a line."""
    match line:
        case ev.ConfigOffsetBehind(current=int(current), wanted=int(wanted)):
            side = "not read the config topic as far as" if current < wanted else "read the config topic further than"
            return (
                f"because {worker_name(timeline, line)} had {side} the group's assignment (offset {current}, the "
                f"assignment {wanted})"
            )
        case ev.ConfigOffsetBehind():
            return f"because {worker_name(timeline, line)} had not read the config topic to its end in time"
        case ev.WorkerAssigned(leader=str(leader)):
            who = name_of(timeline.participants.of_member(leader), leader)
            far = "" if line.config_offset is None else f" (offset {line.config_offset})"
            return (
                f"because the assignment before it failed (error 1): the leader, {who}, had not read the config topic "
                f"as far as another worker{far}"
            )
    return ""


def _behind(lags: Sequence[_Lag]) -> Sequence[str]:
    """Sentences about the worker with the most attempts and the other workers that did not catch up."""
    workers = [lag for lag in lags if lag.reached is not None]
    if not workers:
        return ()
    first, *others = workers
    often = f"{times(len(first.attempts))}{span(first.attempts)}"
    where = f"offset {first.reached}{' (it had read no record)' if first.reached == NOTHING_READ else ''}"
    if _timed_out(lags):
        sentence = (
            f"{first.name} did not reach the end of the config topic in time {often}: it was at {where}, the group's "
            f"assignment at {first.wanted}."
        )
    else:
        sentence = (
            f"{first.name} could not catch up with the group's configuration: reading the config topic to its end left "
            f"it at {where}, the group's assignment demanded {first.wanted}, and it asked for another rebalance "
            f"{often}."
        )
    if not others:
        return (sentence,)
    named = some([f"{lag.name} (at offset {lag.reached})" for lag in others], MOST_NAMED)
    return sentence, f"{named} stayed behind as well."


def _leader(lags: Sequence[_Lag]) -> str:
    """A sentence about a leader that was behind, so that its assignments failed for all workers."""
    first = next((lag for lag in lags if lag.reached is None), None)
    if first is None:
        return ""
    often = f"{times(len(first.attempts))}{span(first.attempts)}"
    if first.participant in {lag.participant for lag in lags if lag.reached is not None} - {None}:
        return f"It led the group, so the assignments failed for every worker (error 1) {often}."
    far = "" if first.wanted is None else f" (offset {first.wanted})"
    return (
        f"The leader, {first.name}, had not read the config topic as far as another worker{far}: the assignments "
        f"failed (error 1) {often}, and the workers had to rejoin."
    )


def worker_name(timeline: Timeline, line: Event) -> str:
    """The name of the worker that logged a line, or the place of its log if the lines do not name it."""
    return name_of(timeline.participants.of_speaker(line), f"a worker on {place_name(line)}")


def _timed_out(lags: Sequence[_Lag]) -> bool:
    """True if the worker with the most attempts never reached the end of the config topic, as when a broker is down."""
    reads = lags[0].lines if lags[0].reached is not None else ()
    failed = [e.wanted for e in reads if isinstance(e, ev.ConfigOffsetBehind) and e.failed]
    return bool(failed) and set(failed) == {None}
