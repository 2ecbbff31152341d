"""Outages of `__consumer_offsets`: failed writes of the coordinator, and the brokers that were missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import outages_between
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_searches import SERVED
from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import known_partition
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.answers import found_no_coordinator, sync_error
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, setting_ms
from rebalance_forensics.timeline.unnamed_groups import keeps_all_groups_out
from rebalance_forensics.timeline.windows import (
    ONE_REBALANCE_MS,
    PROCESS_START_MS,
    QUIET_MS,
    REQUEST_MS,
    REQUEST_TIMEOUT_MS,
    ROUND_TRIP_MS,
)

OFFSETS = "__consumer_offsets"
_FREQUENT = 5
# Errors of a write that was not replicated in time; GroupMetadataManager.scala returns the first.
_TIMED_OUT = ("REBALANCE_IN_PROGRESS", "REQUEST_TIMED_OUT")
# Errors of an append that exceeds the topic's maximum message size, and the error in the SyncGroup response then.
_TOO_LARGE = ("MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_FETCH_SIZE")
_ANSWER_TO_TOO_LARGE = "UNKNOWN_SERVER_ERROR"
# A broker that resumes after a pause writes for groups it no longer coordinates: the topic is available on its leader.
_NOT_LEADER = ("NOT_COORDINATOR", "NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_FOR_PARTITION")


class Outage(Struct, frozen=True):
    """The failed writes, the replicas that were missing meanwhile, and the brokers at fault."""

    refused: tuple[Event, ...]
    shrunk: tuple[ev.IsrChanged, ...]
    insufficient: tuple[ev.ReplicasInsufficient, ...]
    stopped: tuple[ev.BrokerStopped, ...]
    missing: tuple[int, ...]
    onset: int
    """Time of the first failed append to the group's partition; the coordinator's response follows later."""

    @property
    def lines(self) -> tuple[Event, ...]:
        """The lines that show the outage, most decisive first."""
        first, short = self.refused[:6], (*self.shrunk[:4], *self.insufficient[:3])
        return (*first, *short, *self.stopped[:2], *self.refused[6:])

    @property
    def stored_no_assignment(self) -> bool:
        """True if assignments could not be stored, rather than only commits and other writes."""
        others = (isinstance(e, ev.OffsetCommitFailed | ev.ReplicasInsufficient) for e in self.refused)
        return not all(others) and not self.of_empty_group

    @property
    def of_empty_group(self) -> bool:
        """True if only the metadata of an empty group could not be stored, which delays no member."""
        return all(isinstance(e, ev.AssignmentNotStored) and e.empty for e in self.refused)

    @property
    def is_one_late_write(self) -> bool:
        """True if a single write was not replicated in time, as after a short pause of a broker."""
        only = self.refused[0]
        return len(self.refused) == 1 and isinstance(only, ev.AssignmentNotStored) and only.error in _TIMED_OUT

    @property
    def of_missing_topic(self) -> bool:
        """True if there were too few brokers to create the topic: no group has a coordinator until there are more."""
        return all(keeps_all_groups_out(event) for event in self.refused)

    @property
    def brokers_and_factor(self) -> tuple[int, int]:
        """The number of live brokers when the topic could not be created, and its replication factor."""
        last = next(e for e in reversed(self.refused) if isinstance(e, ev.ReplicasInsufficient))
        return last.in_sync or 0, last.required or 0

    @property
    def lasts(self) -> bool:
        """True if writes fail repeatedly for longer than the brokers of a cluster take to start."""
        return len(self.refused) >= _FREQUENT and self.end - self.begin > PROCESS_START_MS

    @property
    def too_large(self) -> tuple[Event, ...]:
        """The writes that failed, or may have failed, because the group's metadata exceeds the maximum message size."""
        return tuple(e for e in self.refused if _error(e) in (*_TOO_LARGE, _ANSWER_TO_TOO_LARGE))

    @property
    def shows_its_size(self) -> bool:
        """True if the coordinator logged that a write was too large; its response alone may hide another error."""
        return any(_error(e) in _TOO_LARGE for e in self.refused)

    @property
    def begin(self) -> int:
        """Time of the first failed write."""
        return time_of(self.refused[0])

    @property
    def end(self) -> int:
        """Time of the last failed write."""
        return time_of(self.refused[-1])


def outages(timeline: Timeline) -> Iterator[Outage]:
    """Every outage; it lasts as long as a replica is missing, even if the group rarely writes."""
    refused = sorted(_refused_writes(timeline) or _not_created(timeline), key=time_of)
    for run in _one_outage_each(timeline, refused):
        begin, end = time_of(run[0]), time_of(run[-1])
        shrunk = _shrunk(timeline, begin, end)
        near = timeline.of(ev.ReplicasInsufficient).between(begin - REQUEST_TIMEOUT_MS, end + REQUEST_TIMEOUT_MS)
        failed = tuple(e for e in near if _of_offsets(e.partition))
        partition = known_partition(timeline)
        appends = [time_of(e) for e in failed if partition is None or e.partition == f"{OFFSETS}-{partition}"]
        down = outages_between(timeline, begin, end)
        yield Outage(
            tuple(run),
            tuple(shrunk),
            failed,
            tuple(line for outage in down for line in outage.lines if isinstance(line, ev.BrokerStopped)),
            tuple(_missing(timeline, shrunk, {outage.broker for outage in down}, begin)),
            min([begin, *appends]),
        )


def moves_in_outage(timeline: Timeline, outage: Outage) -> list[Fact]:
    """Rejoin requests, arrivals and losses during the outage; clean closes have their own cause."""
    begin, end = outage.begin - ROUND_TRIP_MS, outage.end + setting_ms(timeline, OFFSETS_WRITE)
    facts: list[Fact] = [*timeline.requests.between(begin, end)]
    facts += timeline.arrivals.between(_refused_since(timeline, outage), end)
    departures = timeline.departures.between(begin, end)
    return facts + [d for d in departures if d.why not in ("closed", "unsubscribed")]


def rebalances_in_outage(timeline: Timeline, outage: Outage) -> list[Fact]:
    """The rebalances during the outage, which could not complete."""
    write = setting_ms(timeline, OFFSETS_WRITE)
    return [*timeline.rebalances.between(outage.begin - write, outage.end + 2 * write)]


def _one_outage_each(timeline: Timeline, refused: Iterable[Event]) -> list[list[Event]]:
    """Runs of failed writes, merged if no replica returned in between."""
    found: list[list[Event]] = []
    for run in runs(refused, time_of, QUIET_MS):
        end, begin = time_of(found[-1][-1]) if found else 0, time_of(run[0])
        changed = timeline.of(ev.IsrChanged).between(end, begin)
        is_back = any(e.direction == "expanded" and _of_offsets(e.partition) for e in changed)
        if found and not is_back and _shrunk(timeline, end, begin):
            found[-1] += run
        else:
            found.append(run)
    return found


def _of_offsets(partition: str | None) -> bool:
    return (partition or "").startswith(OFFSETS)


def _refused_writes(timeline: Timeline) -> list[Event]:
    """Assignments that were not stored; if none is logged, failed commits or other writes to the group's partition."""
    rebalances = timeline.of(ev.AssignmentNotStored, ev.RebalanceStarted)
    logged: list[Event] = [e for e in rebalances if _is_refused(timeline, e)]
    own = logged or _unexplained_restarts(timeline) or _right_after_an_assignment(timeline)
    answers = "COORDINATOR_NOT_AVAILABLE", "NOT_ENOUGH_REPLICAS", _ANSWER_TO_TOO_LARGE
    syncs: list[Event] = [e for e in timeline.of(ev.SyncFailed, ev.ExceptionLogged) if sync_error(e) in answers]
    # A Java consumer fails with the first error that it does not know.
    if own or len(syncs) > 2 or any(sync_error(e) == _ANSWER_TO_TOO_LARGE for e in syncs):
        return [*own, *syncs]
    commits = _refused_commits(timeline)
    return [*syncs, *commits] if commits else _refused_in_its_partition(timeline)


def _refused_in_its_partition(timeline: Timeline) -> list[Event]:
    """Failed writes to the group's partition over a long time while the group had members."""
    # The group's own writes fail as well. A coordinator before 2.1 does not log it, and no coordinator logs failed
    # commits or a rebalance that waits for its first members.
    partition = known_partition(timeline)
    if partition is None:
        return []
    refused = (e for e in timeline.of(ev.ReplicasInsufficient) if e.partition == f"{OFFSETS}-{partition}")
    writes: list[Event] = [e for e in refused if timeline.membership.formed_at_last(time_of(e))]
    return writes if _is_persistent(timeline, writes) else []


def _not_created(timeline: Timeline) -> list[Event]:
    """Attempts to create the topic with too few brokers, before the group had its first generation."""
    tried = {e.origin: e for e in timeline.of(ev.ReplicasInsufficient) if keeps_all_groups_out(e)}
    until = _had_a_coordinator_at(timeline) if tried else 0
    attempts: list[Event] = sorted((e for e in tried.values() if time_of(e) < until), key=time_of)
    if not attempts:
        return []
    # Brokers that start together fail until all of them have registered, which belongs to the start of the cluster.
    only_starting = until <= timeline.last and until - time_of(attempts[0]) <= PROCESS_START_MS
    appeared = next(iter(map(time_of, timeline.group_events)), None)
    is_over = appeared is not None and appeared - time_of(attempts[-1]) > ONE_REBALANCE_MS
    return [] if only_starting or is_over else attempts


def _had_a_coordinator_at(timeline: Timeline) -> int:
    """When the first line shows that the group had a coordinator, so that its topic was there; 0 if all along."""
    # A broker that starts fails to create the topic as well: it does not know the other brokers yet.
    numbers = (n for e in timeline.group_events if isinstance(n := getattr(e, "generation", None), int))
    if next(numbers, 0) > 1:
        return 0
    formed = timeline.generations[0].reached_at if timeline.generations else None
    lost = (time_of(e) for e in timeline.of(ev.CoordinatorLost) if not found_no_coordinator(e))
    served = map(time_of, timeline.of(*SERVED, ev.GenerationStabilized)[:1])
    return min([timeline.last + 1, *lost, *served, *([formed] if formed is not None else [])])


def _is_persistent(timeline: Timeline, refusals: Sequence[Event]) -> bool:
    return len(refusals) >= _FREQUENT and time_of(refusals[-1]) - time_of(refusals[0]) >= 2 * setting_ms(
        timeline, OFFSETS_WRITE
    )


def _refused_commits(timeline: Timeline) -> list[Event]:
    # A coordinator that fails commits with COORDINATOR_NOT_AVAILABLE for long is reachable but cannot write.
    commits: list[Event] = [e for e in timeline.of(ev.OffsetCommitFailed) if e.error == "COORDINATOR_NOT_AVAILABLE"]
    return commits if _is_persistent(timeline, commits) else []


def _unexplained_restarts(timeline: Timeline) -> list[Event]:
    # Before 2.1, no coordinator logs why it restarts a rebalance: many rebalances while writes fail show the reason.
    refused = [e for e in timeline.of(ev.ReplicasInsufficient) if _of_offsets(e.partition)]
    if not refused:
        return []
    ungrouped = setting_ms(timeline, OFFSETS_WRITE)
    rebalances = timeline.rebalances.between(time_of(refused[0]), time_of(refused[-1]) + ungrouped)
    return [e for r in rebalances for e in r.events[:1]] if len(rebalances) >= _FREQUENT else []


def _right_after_an_assignment(timeline: Timeline) -> list[Event]:
    # The coordinator immediately stores the assignment that the leader sends, so a failed write to the group's
    # partition then is that assignment. If the generation continued, it was another group's commit to the partition.
    partition = known_partition(timeline)
    refused = [e for e in timeline.of(ev.ReplicasInsufficient) if e.partition == f"{OFFSETS}-{partition}"]
    received = timeline.of(ev.AssignmentReceived)
    after = (e for e in refused if any(received.between(time_of(e) - REQUEST_MS, time_of(e))))
    return [e for e in after if not _generation_continued(timeline, time_of(e))]


def _generation_continued(timeline: Timeline, at: int) -> bool:
    """True if a member received its assignment, or the coordinator started no other rebalance right away."""
    until = at + setting_ms(timeline, OFFSETS_WRITE)
    if any(timeline.of(ev.SyncSucceeded).between(at - REQUEST_MS, until)):
        return True
    following = next(iter(timeline.rebalances.since(at)), None)
    return following is not None and following.started_at > until


def _error(event: Event) -> str | None:
    return event.error if isinstance(event, ev.AssignmentNotStored | ev.RebalanceStarted) else sync_error(event)


def _is_refused(timeline: Timeline, event: Event) -> bool:
    match event:
        case ev.AssignmentNotStored():
            return event.group == timeline.group and event.error not in _NOT_LEADER
        case ev.RebalanceStarted(trigger="assignment-not-stored"):
            return True
    return False


def _shrunk(timeline: Timeline, begin: int, end: int) -> list[ev.IsrChanged]:
    """ISR shrinks of the offsets topic, of any age, that had not expanded again before the outage."""
    changed = [e for e in timeline.of(ev.IsrChanged).between(0, end) if _of_offsets(e.partition)]
    expanded = ((n, e) for n, e in enumerate(changed) if e.direction == "expanded" and time_of(e) < begin)
    restored = {e.partition: n for n, e in expanded}
    return [e for n, e in enumerate(changed) if e.direction == "shrunk" and n > restored.get(e.partition, -1)]


def _missing(timeline: Timeline, shrunk: Sequence[ev.IsrChanged], down: Collection[int], begin: int) -> list[int]:
    shrunk_away = sorted({b for e in shrunk for b in set(e.before) - set(e.after)})
    missing = [b for b in shrunk_away if b in down] or shrunk_away or sorted(down)
    return missing or _most_unreachable(timeline, begin - 2 * REQUEST_TIMEOUT_MS)


def _most_unreachable(timeline: Timeline, since: int) -> list[int]:
    """The broker that clients failed to reach most often and that did not fail the writes; empty if none is known."""
    lost = [e.coordinator for e in timeline.of(ev.CoordinatorLost).since(since)]
    refusing = {e.speaker.broker for e in timeline.of(ev.ReplicasInsufficient).since(since)}
    refusing |= set(lost) if _refused_commits(timeline) else set()
    nodes = [*lost, *(e.node for e in timeline.of(ev.NodeDisconnected).since(since))]
    known = [n for n in nodes if n is not None and 0 <= n < ev.FIRST_COORDINATOR_NODE and n not in refusing]
    return [max(set(known), key=known.count)] if known else []


def _refused_since(timeline: Timeline, outage: Outage) -> int:
    """The start of the rebalance whose assignment could not be stored first; its new members are stuck as well."""
    begin = outage.begin - ROUND_TRIP_MS
    first = next(iter(timeline.rebalances.touching(begin, outage.begin)), None)
    return first.started_at - ROUND_TRIP_MS if first is not None else begin
