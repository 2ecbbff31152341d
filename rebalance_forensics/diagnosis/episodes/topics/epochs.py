"""Epochs of KIP-848 groups that no join or departure began, by the coordinator's lines alone.

Since 4.1 the coordinator logs with each epoch a hash of the subscribed topics and their partitions: while it stays the
same, the group subscribes to the same topics and none of them changed. Since 4.0 it logs the patterns that it resolves.
It logs neither the topics nor which member subscribed to them (Kafka 4.x: only at DEBUG).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.departures import FIRST_EPOCH
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import topics_changed_before
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer, listed_once
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    HEARTBEAT_MS,
    METADATA_AGE_MS,
    NEXT_HEARTBEAT_MS,
    ROUND_TRIP_MS,
    TICK_MS,
)

_REFRESHED_WITHIN = AT_ONCE_MS + NEXT_HEARTBEAT_MS
"""In ms: a coordinator resolves new patterns with the next heartbeat, at most every 10 s
(GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS)."""


class UnmovedEpoch(Struct, frozen=True, kw_only=True):
    """An epoch of a consumer group that no join, departure or logged rejoin began.

    `patterns`: those that the coordinator resolved for it and that the group had not subscribed to. `resolved`: the
    line in which it resolved the group's patterns. `same_topics`: the hash stayed the same; None if unknown.
    """

    rebalance: Rebalance
    bumped: ev.GroupEpochBumped
    same_topics: bool | None
    resolved: ev.TopicRegexResolved | None = None
    patterns: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[ev.TopicRegexResolved | ev.GroupEpochBumped, ...]:
        """The lines that show it."""
        return (self.bumped,) if self.resolved is None else (self.resolved, self.bumped)


@listed_once
def unmoved_epochs(timeline: Timeline) -> Iterator[tuple[UnmovedEpoch, ...]]:
    """Each such epoch with those that follow up on it.

    Members resolve a client-side pattern, and a deployment changes subscriptions, one after another: all but the first
    subscribe to topics that the group subscribes to already.
    """
    subscribes = timeline.kind in ("consumer", "share")  # the others read the topics of a topology
    run: list[UnmovedEpoch] = []
    for epoch in _unmoved(timeline):
        since = epoch.rebalance.started_at - run[0].rebalance.started_at if run else 0
        follows = subscribes and epoch.same_topics and not epoch.patterns and since <= METADATA_AGE_MS
        if run and not follows:
            yield tuple(run)
            run = []
        run.append(epoch)
    if run:
        yield tuple(run)


def _unmoved(timeline: Timeline) -> Iterator[UnmovedEpoch]:
    for rebalance in timeline.rebalances:
        bumped = next((e for e in rebalance.events if isinstance(e, ev.GroupEpochBumped)), None)
        begin, until = rebalance.started_at - HEARTBEAT_MS, rebalance.started_at + HEARTBEAT_MS
        if bumped is None or timeline.moves(begin, until) or timeline.requests.any_between(begin, until):
            continue
        if timeline.returns.any_between(begin, until) or timeline.of(ev.GroupConverted).any_between(begin, until):
            continue
        at = time_of(bumped)
        resolved = timeline.of(ev.TopicRegexResolved).between(at - ROUND_TRIP_MS, at)
        line = next((e for e in reversed(resolved) if e.patterns), None)
        new = () if line is None else _new_patterns(timeline).get(line, ())
        # A newcomer's pattern may be resolved some heartbeats after it joined.
        if new and timeline.arrivals.any_between(at - _REFRESHED_WITHIN, at):
            continue
        same = _keeps_its_topics(timeline, bumped)
        yield UnmovedEpoch(rebalance=rebalance, bumped=bumped, same_topics=same, resolved=line, patterns=new)


def _keeps_its_topics(timeline: Timeline, bumped: ev.GroupEpochBumped) -> bool | None:
    """True if the hash is that of the epoch before; None if no line shows one of them."""
    before = _bumps(timeline).get(bumped.epoch - 1)
    if before is None or before.metadata_hash is None or bumped.metadata_hash is None:
        return None
    return before.metadata_hash == bumped.metadata_hash


@cached_answer
def _bumps(timeline: Timeline) -> dict[int, ev.GroupEpochBumped]:
    return {e.epoch: e for e in timeline.of(ev.GroupEpochBumped)}


@cached_answer
def _new_patterns(timeline: Timeline) -> dict[ev.TopicRegexResolved, tuple[str, ...]]:
    """The patterns that the coordinator resolved for the first time, by its line."""
    # It lists all patterns of the group. Only a log with the list before, or with the first epoch of the group, shows
    # which are new, and only until another broker coordinates the group.
    found: dict[ev.TopicRegexResolved, tuple[str, ...]] = {}
    known: dict[str, tuple[str, ...]] = {}
    for line in timeline.of(ev.GroupEpochBumped, ev.TopicRegexResolved, ev.GroupLoaded):
        match line:
            case ev.GroupLoaded():
                known.clear()
            case ev.GroupEpochBumped(epoch=epoch) if epoch <= FIRST_EPOCH:
                known.setdefault(line.speaker.file, ())
            case ev.TopicRegexResolved(patterns=patterns) if patterns:
                if (before := known.get(line.speaker.file)) is not None:
                    found[line] = tuple(p for p in patterns if p not in before)
                known[line.speaker.file] = patterns
    return found


def brings_topics(timeline: Timeline, arrival: Arrival) -> tuple[ev.TopicRegexResolved | ev.GroupEpochBumped, ...]:
    """The lines that show that a new member subscribes to topics that no other member reads; empty if none do.

    Not for a member that logs to which topics it subscribes: those are compared with the others' topics.
    """
    at = arrival.at
    named = any(e.topics for e in timeline.events_from(arrival.participant, ev.Subscribed))
    if timeline.kind != "consumer" or named or topics_changed_before(timeline, at, NEXT_HEARTBEAT_MS):
        return ()
    own = timeline.of(ev.GroupEpochBumped).between(at - TICK_MS, at + TICK_MS)
    for bumped in own:
        if _adds_topics(timeline, bumped):
            return (bumped,)
    for line in timeline.of(ev.TopicRegexResolved).between(at, at + _REFRESHED_WITHIN):
        after = timeline.of(ev.GroupEpochBumped).first(time_of(line))
        new = _new_patterns(timeline).get(line)
        if (
            new
            and after is not None
            and time_of(after) <= time_of(line) + ROUND_TRIP_MS
            and _adds_topics(timeline, after)
        ):
            return (line, after)
    return ()


def _adds_topics(timeline: Timeline, bumped: ev.GroupEpochBumped) -> bool:
    before = _bumps(timeline).get(bumped.epoch - 1)
    # 0 is the hash of a group without any topic.
    return before is not None and bool(before.metadata_hash) and _keeps_its_topics(timeline, bumped) is False
