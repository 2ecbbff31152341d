"""Topics of a group: the topics that members subscribe to, are assigned and see, and how these change."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import re2
from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.coverage import CoveredLog, covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer, listed_once
from rebalance_forensics.timeline.identity.names import topic_and_number, topic_of
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.rebalance_requests import gives_reason
from rebalance_forensics.timeline.time_index import TimeIndex, lists_by_key, sets_by_key
from rebalance_forensics.timeline.windows import (
    HEARTBEAT_MS,
    METADATA_AGE_MS,
    NEXT_HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    REQUEST_TIMEOUT_MS,
    ROUND_TRIP_MS,
    TICK_MS,
)

_ASSIGNING = (
    ev.PartitionsAssigned, ev.AssignmentNotified, ev.AssignmentUpdated, ev.AssignmentComputed, ev.JoinReported,
    ev.SyncSucceeded,
)  # fmt: skip
# Lines that name a member's partitions.
NAMING_PARTITIONS = (*_ASSIGNING, ev.PartitionsRevoked)


class NewPartitions(Struct, frozen=True, kw_only=True):
    """A rebalance that assigned partitions that no member had before, and the lines that show them.

    `complete`: every member's partitions were known before, so these are certainly new. `only_recipient`: the only
    member that was assigned topics new to the group, if nothing shows that the topics themselves are new: its
    subscription changed rather than the topics.
    """

    rebalance: Rebalance
    complete: bool
    topics: tuple[str, ...]
    lines: tuple[Event, ...]
    only_recipient: Participant | None


@listed_once
def new_partitions(timeline: Timeline) -> Iterator[NewPartitions]:
    """Every rebalance with new partitions that no join, departure or new subscription explains."""
    # Before 2.7, no client logs why it rejoins; before 2.6, no coordinator logs that the leader did.
    first: dict[str, Event] = {}
    for event in timeline.of(*NAMING_PARTITIONS):
        for _, partitions in _partitions_by_member(timeline, event):
            first |= {partition: event for partition in partitions if partition not in first}
    if not first:
        return
    given = TimeIndex(first.items(), lambda item: time_of(item[1]))
    highest: dict[str, int] = defaultdict(lambda: -1)
    ordered = timeline.rebalances
    for index, rebalance in enumerate(ordered):
        until = ordered[index + 1].started_at - 1 if index + 1 < len(ordered) else timeline.last
        fresh = given.between(rebalance.started_at, until)
        new = [(p, e) for p, e in fresh if highest and _number(p) > highest.get(topic_of(p), -1)]
        new = [(p, e) for p, e in new if not isinstance(e, ev.PartitionsRevoked)]  # it had them before
        anew = all(topic_of(p) not in highest for p, _ in new)
        for partition, _ in fresh:
            highest[topic_of(partition)] = max(highest[topic_of(partition)], _number(partition))
        topics = tuple(sorted({topic_of(p) for p, _ in new}))
        before = ordered[index - 1]
        complete = _complete(timeline, before, rebalance.started_at) if new else None
        # Partitions that a cooperative rebalance withholds until they are revoked are assigned in the next rebalance.
        withheld = rebalance.followup == "cooperative"
        if complete is not None and not withheld and not _explained(timeline, before, rebalance, topics):
            yield NewPartitions(
                rebalance=rebalance,
                complete=complete,
                topics=topics,
                lines=tuple(dict.fromkeys(e for _, e in new)),
                only_recipient=_only_recipient(timeline, new)
                if anew and not _appeared(timeline, rebalance, topics)
                else None,
            )


def _only_recipient(timeline: Timeline, new: list[tuple[str, Event]]) -> Participant | None:
    """The only member that was assigned these new partitions; None if there are several or none is known."""
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
    if subscribes_by_pattern(timeline):
        return True
    made = topics_changed_before(timeline, rebalance.started_at)
    return any(isinstance(e, ev.TopicChanged) and e.topic in topics for e in made)


def _complete(timeline: Timeline, before: Rebalance, begin: int) -> bool | None:
    """True if every member's partitions were known for certain; None if others may have had the new ones."""
    # The leader's assignment has all partitions; no client logs it before 2.4, and no member of a KIP-848 group does.
    if any(isinstance(e, ev.AssignmentComputed) for e in before.events):
        return True
    if timeline.of(ev.AssignmentComputed, ev.SyncSucceeded) or not all(a.has_log for a in timeline.membership.members):
        return None
    if not _without_gaps(timeline, begin):
        return None
    # Since 2.1, the coordinator names every member that joins.
    if any(e.speaker.role == "broker" for a in timeline.arrivals for e in a.events):
        return True
    return False if len(timeline.membership.members) > 1 else None


def _without_gaps(timeline: Timeline, until: int) -> bool:
    # Gaps in the partition numbers belong to members without a log.
    lines = timeline.of(ev.AssignmentNotified, ev.PartitionsAssigned, ev.AssignmentUpdated).between(0, until - 1)
    partitions = (p for e in lines for _, given in _partitions_by_member(timeline, e) for p in given)
    numbers = sets_by_key((topic_of(p), _number(p)) for p in partitions)
    return all(set(range(max(found) + 1)) == found for found in numbers.values())


def _explained(timeline: Timeline, before: Rebalance, rebalance: Rebalance, topics: tuple[str, ...]) -> bool:
    """True if members moved, or one subscribed to these topics too late for the rebalance before."""
    begin, end = rebalance.started_at - HEARTBEAT_MS, rebalance.barrier_end() + TICK_MS
    if timeline.moves(begin, end):
        return True
    since = max(begin - REQUEST_TIMEOUT_MS, before.started_at)
    if any(set(topics) & set(e.topics) for e in timeline.of(ev.Subscribed).between(since, end)):
        return True
    # A pattern that a process has subscribed to all along matches only topics that are new themselves.
    changed = (e for _, e in resubscriptions(timeline) if since <= time_of(e) <= end)
    return any(_matches(pattern, topics) for e in changed if (pattern := getattr(e, "topic_pattern", None)))


def _matches(pattern: str, topics: tuple[str, ...]) -> bool:
    # The pattern comes from a log: RE2, which brokers use for it as well (RE2/J, KIP-848), takes linear time for any.
    options = re2.Options()
    options.log_errors = False
    try:
        return any(map(re2.compile(pattern, options).fullmatch, topics))
    except re2.error:  # Java's syntax has more, such as lookarounds
        return True


def _number(partition: str) -> int:
    number = topic_and_number(partition)[1]
    return -1 if number is None else number


# Each topic's partitions are logged as a number, or since KIP-881 as a list with their racks.
_TOPICS = re.compile(r"(?<![^\s{},=()])([^\s{},=()]++)=(\[(?:[^\[\]]|\[[^\[\]]*\])*\]|[^,}]*)")
_NONE = ("[]", "0")


def topics_under_pattern(timeline: Timeline, request: Request) -> list[str] | None:
    """The topics that a pattern subscription gained or lost; None if the application changed its subscription."""
    # With the member's log, its own subscription decides; from brokers alone, a topic created just before does.
    # A pattern is compared with the topics of an assignment itself, so that a mismatch is no new topic.
    if request.why != "subscription-changed" or is_mismatch(request):
        return None
    last = timeline.events_from(request.participant, ev.Subscribed).last(request.at + TICK_MS)
    changed = topics_changed_before(timeline, request.at, ONE_REBALANCE_MS)
    if last is not None:
        if last.topic_pattern is None:
            return None
        return _difference(request) or [e.topic for e in changed if isinstance(e, ev.TopicChanged)]
    difference = _difference(request)
    if difference:
        appeared = {e.topic for e in changed if isinstance(e, ev.TopicChanged)} & set(difference)
        return difference if appeared or _never_subscribed(timeline, request) else None
    if subscribed_topics(timeline):
        changed = read_by_the_group(timeline, changed)  # others may subscribe by name as well
    return sorted({e.topic for e in changed if isinstance(e, ev.TopicChanged)}) or None


def is_mismatch(request: Request) -> bool:
    """True if the member was assigned partitions of topics that it does not subscribe to."""
    lines = (e for e in request.events if isinstance(e, ev.JoinRequested | ev.RebalanceStarted))
    return any(e.why == "assignment-mismatch" for e in lines)


@cached_answer
def foreign_assignments(timeline: Timeline) -> dict[Participant, list[Request]]:
    """Instances of Streams that rejoined because they were assigned other topics than theirs, and these requests.

    An instance subscribes to the topics of its topology, and the leader assigns the tasks of its own topology.
    """
    if timeline.kind != "streams":
        return {}
    mismatches = (r for r in timeline.requests if is_mismatch(r))
    return lists_by_key((r.participant, r) for r in mismatches if r.participant is not None)


def _never_subscribed(timeline: Timeline, request: Request) -> bool:
    # A client logs every subscribe(): a log without such a line means that it subscribed before the log begins, so the
    # subscription is a pattern. An excerpt may have left the line out.
    logs_subscription = any(isinstance(e, ev.JoinRequested) and e.before is not None for e in request.events)
    own = covering(timeline.coverage.of(request.participant), request.at - ROUND_TRIP_MS, request.at)
    return logs_subscription and bool(own)


def topics_changed_before(timeline: Timeline, at: int, lead_ms: int = METADATA_AGE_MS) -> list[Event]:
    """Topics that brokers created, extended or deleted at most `lead_ms` before, except Kafka's internal topics."""
    begin = max(at - lead_ms, timeline.first + 1)
    changed = timeline.of(ev.TopicChanged).between(begin, at + ROUND_TRIP_MS)
    # Streams creates its own changelog and repartition topics, which do not change the application's topics.
    own, streams = f"{timeline.group}-", ("-changelog", "-repartition")
    known = (e for e in changed if not (e.topic.startswith(own) and e.topic.endswith(streams)))
    return [e for e in known if not e.topic.startswith("__")]


def logs_of_topic_changes(timeline: Timeline, begin: int, end: int) -> tuple[CoveredLog, ...]:
    """The brokers' logs that would show a changed topic between two times; empty if a topic may be missing in them."""
    # A broker logs only the partitions that it hosts: a single log may lack a topic.
    logs = covering(timeline.coverage.brokers, begin, end)
    return logs if len({log.path for log in logs}) > 1 else ()


@listed_once
def changes_without_a_rebalance(timeline: Timeline) -> Iterator[list[ev.TopicChanged]]:
    """Changes of topics in the metadata of members, if no log would show the rebalance that follows."""
    # librdkafka logs the change at NOTICE, but the rejoin only at DEBUG (rd_kafka_cgrp_metadata_update_check).
    for run in runs(timeline.topics_seen, time_of, ONE_REBALANCE_MS):
        begin, end = time_of(run[0]), time_of(run[-1]) + NEXT_HEARTBEAT_MS
        shown = timeline.rebalances.any_between(begin, end) or timeline.requests.any_between(begin, end)
        if not shown and not covering(timeline.coverage.brokers, begin, end):
            yield run


def of_the_group(timeline: Timeline, changed: list[Event]) -> list[Event]:
    """The changed topics that the group reads; all changed topics if its logs do not show which topics it reads."""
    # A pattern also matches topics that no line mentions; a topic that a member was assigned is certainly read.
    known = subscribed_topics(timeline) or assigned_topics(timeline).partitions
    if not known or not all(a.has_log for a in timeline.membership.members):
        return changed
    read = read_by_the_group(timeline, changed)
    return read or changed if subscribes_by_pattern(timeline) else read


def subscribed_topics(timeline: Timeline) -> frozenset[str]:
    """The topics that members subscribed to in their logs; empty if a member subscribed to a pattern."""
    return frozenset() if subscribes_by_pattern(timeline) else _subscribed_by_name(timeline)


@cached_answer
def subscribes_by_pattern(timeline: Timeline) -> bool:
    """True if any member subscribed to a pattern."""
    return any(e.topic_pattern is not None for e in timeline.of(ev.Subscribed))


@cached_answer
def _subscribed_by_name(timeline: Timeline) -> frozenset[str]:
    """The topics that members subscribed to by name."""
    return frozenset(topic for event in timeline.of(ev.Subscribed) for topic in event.topics)


def read_by_the_group(timeline: Timeline, changed: list[Event]) -> list[Event]:
    """The changed topics among those that members read."""
    known = read_topics(timeline)
    return [e for e in changed if isinstance(e, ev.TopicChanged) and e.topic in known]


@cached_answer
def read_topics(timeline: Timeline) -> frozenset[str]:
    """The topics that any member subscribed to or was ever assigned."""
    return _subscribed_by_name(timeline) | set(assigned_topics(timeline).partitions)


@cached_answer
def rejoins_without_reason(timeline: Timeline) -> list[Request]:
    """Known members that made the coordinator rebalance without a logged reason."""
    # A leader rejoins for changed topics or a changed subscription, any other member only for the latter.
    found = [r for r in timeline.requests if _lacks_reason(r)]
    return [
        r
        for r in found
        if not _completes_cooperative_rebalance(timeline, r) and not _is_requested_followup(timeline, r)
    ]


def _lacks_reason(request: Request) -> bool:
    starts = [e for e in request.events if isinstance(e, ev.RebalanceStarted)]
    if any(map(gives_reason, starts)) or len(starts) < len(request.events):
        return False
    updated = any(e.new_metadata for e in starts)
    return request.why == "leader-rejoined" or (request.why == "member-rejoined" and updated)


def _completes_cooperative_rebalance(timeline: Timeline, request: Request) -> bool:
    # Right after another rebalance, it is the second half of a cooperative rebalance.
    before = timeline.rebalances.last(request.at - TICK_MS - 1)
    return before is not None and timeline.mode != "eager" and request.at - before.ended_at() < HEARTBEAT_MS


def _is_requested_followup(timeline: Timeline, request: Request) -> bool:
    # A follow-up rebalance that an earlier rebalance requested needs no other reason.
    rebalance = timeline.rebalances.first(request.at - ROUND_TRIP_MS)
    return (
        rebalance is not None and rebalance.followup is not None and rebalance.started_at <= request.at + ROUND_TRIP_MS
    )


def _difference(request: Request) -> list[str]:
    """Topics in only one of the two lists that the client logged."""
    changes = filter(None, map(change_in, request.events))
    return next((sorted(set(_names(before)) ^ set(_names(after))) for before, after in changes), [])


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[\s,\[\]{}()]+", text) if name]


@listed_once
def resubscriptions(timeline: Timeline) -> Iterator[tuple[Participant, Event]]:
    """The member and the line of each later subscription of a process to other topics."""
    # The first subscription of a process changes nothing, nor does one that equals the previous one.
    last: dict[tuple[Participant, str | None], tuple[tuple[str, ...], str | None, int]] = {}
    for event in timeline.of(ev.Subscribed, ev.SubscriptionUpdated):
        if isinstance(event, ev.SubscriptionUpdated) and event.member:
            participant = timeline.participants.of_member(event.member)
        elif isinstance(event, ev.Subscribed) and not event.by_hand:
            participant = timeline.participants.of_speaker(event)
        else:
            continue
        if participant is None or participant.is_several or event.at is None:
            continue
        key = (participant, event.speaker.client_id)
        now = (tuple(sorted(event.topics)), getattr(event, "topic_pattern", None), event.at)
        before = last.get(key)
        last[key] = now
        restarted = before is not None and timeline.starts.of(participant).any_between(before[2] + 1, event.at)
        if before is not None and not restarted and before[:2] != now[:2]:
            yield participant, event


class AssignedTopics(Struct, frozen=True):
    """Assigned topics by member, the lines that show them, and the partitions of each topic that were ever assigned."""

    topics: dict[Participant, frozenset[str]]
    lines: dict[Participant, list[Event]]
    partitions: dict[str, set[str]]

    def width(self, topic: str) -> int:
        """The largest number of members that can read the topic at the same time: the number of its partitions."""
        return len(self.partitions.get(topic, ()))


@cached_answer
def assigned_topics(timeline: Timeline) -> AssignedTopics:
    """Assigned topics, from every assignment that a member or the leader logged."""
    shares = [
        (who, given, e)
        for e in timeline.of(*_ASSIGNING)
        for who, given in _partitions_by_member(timeline, e)
        if who and given
    ]
    topics = sets_by_key((who, topic_of(partition)) for who, given, _ in shares for partition in given)
    return AssignedTopics(
        topics={who: frozenset(read) for who, read in topics.items()},
        lines=lists_by_key((who, event) for who, _, event in shares),
        partitions=sets_by_key((topic_of(partition), partition) for _, given, _ in shares for partition in given),
    )


def _partitions_by_member(timeline: Timeline, event: Event) -> list[tuple[Participant | None, tuple[str, ...]]]:
    match event:
        case (
            ev.PartitionsAssigned(partitions=p) | ev.AssignmentNotified(partitions=p) | ev.AssignmentUpdated(assigned=p)
        ):
            return [(timeline.participants.of_speaker(event), p)]
        case (
            ev.PartitionsRevoked(partitions=p)
            | ev.JoinReported(partitions=tuple(p))
            | ev.SyncSucceeded(partitions=tuple(p))
        ):
            return [(timeline.participants.of_speaker(event), p)]
        case ev.AssignmentComputed(assignment=by_member):
            return [(timeline.participants.of_member(m), p) for m, p in by_member]
    return []


def changed_topics(event: Event) -> list[str]:
    """The topics whose partitions differ between a leader's two logged snapshots."""
    if isinstance(event, ev.JoinRequested) and event.topic is not None:
        return [event.topic]
    old, new = _snapshots(event)
    return sorted(t for t in old.keys() | new.keys() if old.get(t) != new.get(t))


def knows_no_partition_yet(timeline: Timeline, request: Request) -> bool:
    """True if a member that had just found its brokers again saw no partition of its topics."""
    # A starting broker responds before it has loaded the cluster's metadata: no topic changed.
    seen = [_snapshots(e) for e in request.events]
    if not any(old and all(new.get(t, "0") in _NONE for t in old) for old, new in seen):
        return False
    begin, lost = request.at - ONE_REBALANCE_MS, timeline.events_from(request.participant, ev.CoordinatorLost)
    came_up = timeline.of(ev.BrokerStarted, ev.GroupLoaded)
    return lost.any_between(begin, request.at) or came_up.any_between(begin, request.at)


def _snapshots(event: Event) -> tuple[dict[str, str], dict[str, str]]:
    """Each topic's partitions before and now; empty for any other event."""
    before, after = change_in(event) or ("", "")
    return dict(_TOPICS.findall(before)), dict(_TOPICS.findall(after))


def change_in(event: Event) -> tuple[str, str] | None:
    """The metadata that a member saw before and now, from its own line or the reason that the coordinator logs."""
    if isinstance(event, ev.JoinRequested | ev.RebalanceStarted) and event.before is not None:
        return (event.before, event.after) if event.after is not None else None
    return None
