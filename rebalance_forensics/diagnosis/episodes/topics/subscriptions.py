"""Topics of a group: those its members asked for, were assigned and see, and what changed of either."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.coverage import CoveredLog, covering
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, METADATA_AGE_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS, TICK_MS

# Each topic's partitions are logged as a number, or since KIP-881 as a list with their racks.
_TOPICS = re.compile(r"(?<![^\s{},=()])([^\s{},=()]++)=(\[(?:[^\[\]]|\[[^\[\]]*\])*\]|[^,}]*)")
# Sarama lists every topic that the member reads (consumer_group.go), so a single topic is the one that changed.
_SARAMAS = re.compile(r"partitions in topics \[(\S+)\] changed")
_NONE = ("[]", "0")


def topics_under_pattern(timeline: Timeline, request: Request) -> list[str] | None:
    """The topics that came or went under a pattern subscription; None where the member changed its own subscription."""
    # With the member's log its own subscription decides; from brokers alone a topic created just before does.
    if request.why != "subscription-changed":
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


def _never_subscribed(timeline: Timeline, request: Request) -> bool:
    # A client logs every subscribe(): a log without one means that it subscribed to a pattern before the log begins. An
    # excerpt may have left the line out.
    logs_subscription = any(isinstance(e, ev.JoinRequested) and e.before is not None for e in request.events)
    own = covering(timeline.coverage.of(request.participant), request.at - ROUND_TRIP_MS, request.at)
    return logs_subscription and bool(own)


def topics_changed_before(timeline: Timeline, at: int, lead_ms: int = METADATA_AGE_MS) -> list[Event]:
    """Topics that brokers created, extended or deleted shortly before, except Kafka's internal topics."""
    begin = max(at - lead_ms, timeline.first + 1)
    changed = timeline.of(ev.TopicChanged).between(begin, at + ROUND_TRIP_MS)
    # Streams creates changelog and repartition topics for itself and reads only the repartition topics it knows.
    own, streams = f"{timeline.group}-", ("-changelog", "-repartition")
    known = (e for e in changed if not (e.topic.startswith(own) and e.topic.endswith(streams)))
    return [e for e in known if not e.topic.startswith("__")]


def logs_of_topic_changes(timeline: Timeline, begin: int, end: int) -> tuple[CoveredLog, ...]:
    """The brokers' logs that would show a changed topic between two times; empty where they may lack one."""
    # A broker logs the partitions that it hosts: one log alone may miss a topic.
    logs = covering(timeline.coverage.brokers, begin, end)
    return logs if len({log.path for log in logs}) > 1 else ()


def of_the_group(timeline: Timeline, changed: list[Event]) -> list[Event]:
    """The changed topics that the group reads, where its logs show which topics it reads."""
    # A pattern also matches topics that no line mentions; a topic that a member was assigned is certainly read.
    known = subscribed_topics(timeline) or assigned_topics(timeline).partitions
    if not known or not all(a.has_log for a in timeline.membership.members):
        return changed
    read = read_by_the_group(timeline, changed)
    return read or changed if asks_by_pattern(timeline) else read


def subscribed_topics(timeline: Timeline) -> frozenset[str]:
    """The topics that members subscribed to in their logs; empty where a member subscribed to a pattern."""
    return frozenset() if asks_by_pattern(timeline) else timeline.cached(_asked)


def asks_by_pattern(timeline: Timeline) -> bool:
    """True if any member subscribed to a pattern."""
    return timeline.cached(_any_pattern)


def _any_pattern(timeline: Timeline) -> bool:
    return any(e.topic_pattern is not None for e in timeline.of(ev.Subscribed))


def _asked(timeline: Timeline) -> frozenset[str]:
    return frozenset(topic for event in timeline.of(ev.Subscribed) for topic in event.topics)


def read_by_the_group(timeline: Timeline, changed: list[Event]) -> list[Event]:
    """The changed topics that some member subscribed to or was ever assigned."""
    known = timeline.cached(_read)
    return [e for e in changed if isinstance(e, ev.TopicChanged) and e.topic in known]


def _read(timeline: Timeline) -> frozenset[str]:
    return timeline.cached(_asked) | set(assigned_topics(timeline).partitions)


def rejoins_without_reason(timeline: Timeline) -> list[Request]:
    """Known members that made the coordinator rebalance without a logged reason."""
    # A leader rejoins for changed topics or a changed subscription, any other member only for the latter.
    return timeline.cached(_rejoins_without_reason)


def _rejoins_without_reason(timeline: Timeline) -> list[Request]:
    found = [r for r in timeline.requests if _lacks_reason(r)]
    return [r for r in found if not _hands_over(timeline, r) and not _follows_up(timeline, r)]


def _lacks_reason(request: Request) -> bool:
    starts = [e for e in request.events if isinstance(e, ev.RebalanceStarted)]
    if any(e.client_reason not in (None, "", "not provided") for e in starts) or len(starts) < len(request.events):
        return False
    updated = any((e.reason or "").startswith("Updating metadata for member") for e in starts)
    return request.why == "leader-rejoined" or (request.why == "member-rejoined" and updated)


def _hands_over(timeline: Timeline, request: Request) -> bool:
    # Right after another rebalance it is the second half of a cooperative one.
    before = timeline.rebalances.last(request.at - TICK_MS - 1)
    return before is not None and timeline.mode != "eager" and request.at - before.ended_at() < HEARTBEAT_MS


def _follows_up(timeline: Timeline, request: Request) -> bool:
    # A follow-up that an earlier rebalance requested needs no other reason.
    rebalance = timeline.rebalances.first(request.at - ROUND_TRIP_MS)
    return (
        rebalance is not None and rebalance.followup is not None and rebalance.started_at <= request.at + ROUND_TRIP_MS
    )


def _difference(request: Request) -> list[str]:
    """Topics in only one of the two lists that the client logged."""
    for event in request.events:
        if isinstance(event, ev.JoinRequested) and event.before is not None and event.after is not None:
            return sorted(set(_names(event.before)) ^ set(_names(event.after)))
    found = re.search(r"changed from (.*?) at the beginning of the rebalance to (.*)", request.reason or "", re.DOTALL)
    return sorted(set(_names(found[1])) ^ set(_names(found[2]))) if found else []


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[\s,\[\]{}()]+", text) if name]


def resubscriptions(timeline: Timeline) -> list[tuple[Participant, Event]]:
    """Later subscriptions of the same process to other topics: the member and the line."""
    return timeline.cached_as("resubscriptions", lambda: list(_resubscriptions(timeline)))


def _resubscriptions(timeline: Timeline) -> Iterator[tuple[Participant, Event]]:
    # The first subscription of a process changes nothing, nor does one equal to the one before.
    last: dict[tuple[Participant, str | None], tuple[tuple[str, ...], str | None, int]] = {}
    for event in timeline.of(ev.Subscribed, ev.SubscriptionUpdated):
        if isinstance(event, ev.SubscriptionUpdated) and event.member:
            participant = timeline.participants.of_member(event.member)
        elif isinstance(event, ev.Subscribed) and not event.by_hand:
            participant = timeline.participants.of_speaker(event)
        else:
            continue
        if participant is None or event.at is None:
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
        """The number of members that could read the topic at once."""
        return len(self.partitions.get(topic, ()))


def assigned_topics(timeline: Timeline) -> AssignedTopics:
    """Assigned topics, from every assignment that a member or the leader logged."""
    return timeline.cached_as("given topics", lambda: _assigned_topics(timeline))


def _assigned_topics(timeline: Timeline) -> AssignedTopics:
    topics: dict[Participant, set[str]] = defaultdict(set)
    lines: dict[Participant, list[Event]] = defaultdict(list)
    partitions: dict[str, set[str]] = defaultdict(set)
    for event in timeline.of(ev.PartitionsAssigned, ev.AssignmentNotified, ev.AssignmentUpdated, ev.AssignmentComputed):
        for participant, given in _given(timeline, event):
            if participant is None or not given:
                continue
            lines[participant].append(event)
            for partition in given:
                topic = partition.rpartition("-")[0]
                topics[participant].add(topic)
                partitions[topic].add(partition)
    return AssignedTopics({a: frozenset(t) for a, t in topics.items()}, lines, partitions)


def _given(timeline: Timeline, event: Event) -> list[tuple[Participant | None, tuple[str, ...]]]:
    match event:
        case (
            ev.PartitionsAssigned(partitions=p) | ev.AssignmentNotified(partitions=p) | ev.AssignmentUpdated(assigned=p)
        ):
            return [(timeline.participants.of_speaker(event), p)]
        case ev.AssignmentComputed(assignment=by_member):
            return [(timeline.participants.of_member(m), p) for m, p in by_member]
    return []


def changed_topics(event: Event) -> list[str]:
    """The topics whose partitions differ between a leader's two logged snapshots."""
    if (listed := _SARAMAS.search(_reason(event))) is not None:
        return [listed[1]]
    old, new = _snapshots(event)
    return sorted(t for t in old.keys() | new.keys() if old.get(t) != new.get(t))


def knows_no_partition_yet(timeline: Timeline, request: Request) -> bool:
    """True if a member that had just found its brokers again saw no partition of its topics."""
    # A broker that starts answers before it has loaded the cluster's metadata: no topic changed.
    seen = [_snapshots(e) for e in request.events]
    if not any(old and all(new.get(t, "0") in _NONE for t in old) for old, new in seen):
        return False
    begin, lost = request.at - ONE_REBALANCE_MS, timeline.events_from(request.participant, ev.CoordinatorLost)
    came_up = timeline.of(ev.BrokerStarted, ev.GroupLoaded)
    return lost.any_between(begin, request.at) or came_up.any_between(begin, request.at)


def _reason(event: Event) -> str:
    if isinstance(event, ev.JoinRequested):
        return event.reason or ""
    return (event.client_reason or "") if isinstance(event, ev.RebalanceStarted) else ""


def _snapshots(event: Event) -> tuple[dict[str, str], dict[str, str]]:
    """Each topic's partitions before and now; empty for any other event."""
    before, after = (event.before, event.after) if isinstance(event, ev.JoinRequested) else (None, None)
    if before is None or after is None:
        text = _reason(event)
        found = re.search(r"changed from (.*?) at the beginning of the rebalance to (.*)", text, re.DOTALL)
        found = found or re.search(r"changed from (.*?) to (.*)", text, re.DOTALL)
        if found is None:
            return {}, {}
        before, after = found[1], found[2]
    return dict(_TOPICS.findall(before)), dict(_TOPICS.findall(after))
