"""Partitions that a group was assigned for the first time: topics grew or appeared.

Before 2.7 no client logs why it rejoins, before 2.6 no coordinator logs that it was the leader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import (
    asks_by_pattern,
    subscribed_topics,
    topics_changed_before,
)
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import number_of
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, REQUEST_TIMEOUT_MS, TICK_MS

_TELLING = (ev.PartitionsAssigned, ev.AssignmentNotified, ev.AssignmentUpdated, ev.AssignmentComputed)
# Lines that name a member's partitions.
GIVING = (*_TELLING, ev.PartitionsRevoked)


class NewPartitions(Struct, frozen=True, kw_only=True):
    """A rebalance that assigned partitions no member had before, and the lines that show them.

    `complete`: every member's partitions were known before, so these are certainly new. `taken_up_by`: the one member
    that was assigned topics new to the group, where nothing shows that the topics themselves are new: its subscription
    changed rather than the topics.
    """

    rebalance: Rebalance
    complete: bool
    topics: tuple[str, ...]
    lines: tuple[Event, ...]
    taken_up_by: Participant | None


def new_partitions(timeline: Timeline) -> list[NewPartitions]:
    """Every rebalance with new partitions that no join, departure or new subscription explains."""
    return timeline.cached_as("new_partitions", lambda: list(_new_partitions(timeline)))


def _new_partitions(timeline: Timeline) -> Iterator[NewPartitions]:
    first: dict[str, Event] = {}
    for event in timeline.of(*GIVING):
        for partition in _given(event):
            first.setdefault(partition, event)
    if not first:
        return
    given = TimeIndex(first.items(), lambda item: time_of(item[1]))
    highest: dict[str, int] = defaultdict(lambda: -1)
    ordered = timeline.rebalances
    for index, rebalance in enumerate(ordered):
        until = ordered[index + 1].started_at - 1 if index + 1 < len(ordered) else timeline.last
        fresh = given.between(rebalance.started_at, until)
        new = [(p, e) for p, e in fresh if highest and _number(p) > highest.get(_topic(p), -1)]
        new = [(p, e) for p, e in new if not isinstance(e, ev.PartitionsRevoked)]  # it had them before
        anew = all(_topic(p) not in highest for p, _ in new)
        for partition, _ in fresh:
            highest[_topic(partition)] = max(highest[_topic(partition)], _number(partition))
        topics = tuple(sorted({_topic(p) for p, _ in new}))
        before = ordered[index - 1]
        complete = _complete(timeline, before, rebalance.started_at) if new else None
        # Partitions that a cooperative rebalance withholds until they are revoked are handed out by the one after it.
        withheld = rebalance.followup == "cooperative"
        if complete is not None and not withheld and not _explained(timeline, before, rebalance, topics):
            yield NewPartitions(
                rebalance=rebalance,
                complete=complete,
                topics=topics,
                lines=tuple(dict.fromkeys(e for _, e in new)),
                taken_up_by=_only_recipient(timeline, new)
                if anew and not _appeared(timeline, rebalance, topics)
                else None,
            )


def _only_recipient(timeline: Timeline, new: list[tuple[str, Event]]) -> Participant | None:
    takers = {timeline.participants.of_speaker(e) for _, e in new if not isinstance(e, ev.AssignmentComputed)}
    if not takers and subscribed_topics(timeline):
        fresh = {p for p, _ in new}
        maps = [e.assignment for _, e in new if isinstance(e, ev.AssignmentComputed)]
        takers = {
            timeline.participants.of_member(m) for by_member in maps for m, given in by_member if fresh & set(given)
        }
    return takers.pop() if len(takers) == 1 else None


def _appeared(timeline: Timeline, rebalance: Rebalance, topics: tuple[str, ...]) -> bool:
    """True if a pattern matches these topics, or a broker created them just before."""
    if asks_by_pattern(timeline):
        return True
    made = topics_changed_before(timeline, rebalance.started_at)
    return any(isinstance(e, ev.TopicChanged) and e.topic in topics for e in made)


def _given(event: Event) -> tuple[str, ...]:
    match event:
        case (
            ev.PartitionsAssigned(partitions=p)
            | ev.AssignmentNotified(partitions=p)
            | ev.PartitionsRevoked(partitions=p)
        ):
            return p
        case ev.AssignmentUpdated(assigned=p):
            return p
        case ev.AssignmentComputed(assignment=by_member):
            return tuple(x for _, given in by_member for x in given)
    return ()


def _complete(timeline: Timeline, before: Rebalance, begin: int) -> bool | None:
    """True if every member's partitions were known for certain; None where others may have had the new ones."""
    # The leader's map holds all partitions; no client prints it before 2.4, and no member of a KIP-848 group.
    if any(isinstance(e, ev.AssignmentComputed) for e in before.events):
        return True
    if timeline.of(ev.AssignmentComputed, ev.SyncSucceeded) or not all(a.has_log for a in timeline.membership.members):
        return None
    if not _without_gaps(timeline, begin):
        return None
    # From 2.1 on the coordinator names every member that joins.
    if any(e.speaker.role == "broker" for a in timeline.arrivals for e in a.events):
        return True
    return False if len(timeline.membership.members) > 1 else None


def _without_gaps(timeline: Timeline, until: int) -> bool:
    # Partitions that no member with a log has belong to members without one.
    numbers: dict[str, set[int]] = defaultdict(set)
    for event in timeline.of(ev.AssignmentNotified, ev.PartitionsAssigned, ev.AssignmentUpdated).between(0, until - 1):
        for partition in _given(event):
            numbers[_topic(partition)].add(_number(partition))
    return all(set(range(max(found) + 1)) == found for found in numbers.values())


def _explained(timeline: Timeline, before: Rebalance, rebalance: Rebalance, topics: tuple[str, ...]) -> bool:
    """True if members moved, or one subscribed to these topics too late for the rebalance before."""
    begin, end = rebalance.started_at - HEARTBEAT_MS, (rebalance.stabilized_at or rebalance.ended_at()) + TICK_MS
    if timeline.moves(begin, end):
        return True
    since = max(begin - REQUEST_TIMEOUT_MS, before.started_at)
    return any(set(topics) & set(e.topics) for e in timeline.of(ev.Subscribed).between(since, end))


def _topic(partition: str) -> str:
    return partition.rpartition("-")[0]


def _number(partition: str) -> int:
    number = number_of(partition.rpartition("-")[2])
    return -1 if number is None else number
