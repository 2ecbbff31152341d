"""Subscriptions of a group: the topics its members asked for, and changes of either the member or the topics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.diagnosis.episodes.topics.assigned_topics import assigned_topics
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import TopicChanged
from rebalance_forensics.events.membership import Subscribed, SubscriptionUpdated
from rebalance_forensics.events.rebalances import JoinRequested, RebalanceStarted
from rebalance_forensics.timeline.coverage import CoveredLog, covering
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, METADATA_AGE_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS, TICK_MS


def topics_under_pattern(timeline: Timeline, request: Request) -> list[str] | None:
    """The topics that came or went under a pattern subscription; None where the member changed its own subscription."""
    # With the member's log its own subscription decides; from brokers alone a topic created just before does.
    if request.why != "subscription-changed":
        return None
    last = timeline.events_from(request.participant, Subscribed).last(request.at + TICK_MS)
    changed = topics_changed_before(timeline, request.at, ONE_REBALANCE_MS)
    if last is not None:
        if last.topic_pattern is None:
            return None
        return _difference(request) or [e.topic for e in changed if isinstance(e, TopicChanged)]
    difference = _difference(request)
    if difference:
        appeared = {e.topic for e in changed if isinstance(e, TopicChanged)} & set(difference)
        return difference if appeared or _never_subscribed(timeline, request) else None
    if subscribed_topics(timeline):
        changed = read_by_the_group(timeline, changed)  # others may subscribe by name as well
    return sorted({e.topic for e in changed if isinstance(e, TopicChanged)}) or None


def _never_subscribed(timeline: Timeline, request: Request) -> bool:
    # A client logs every subscribe(): a log without one means that it subscribed to a pattern before the log begins. An
    # excerpt may have left the line out.
    logs_subscription = any(isinstance(e, JoinRequested) and e.before is not None for e in request.events)
    own = covering(timeline.coverage.of(request.participant), request.at - ROUND_TRIP_MS, request.at)
    return logs_subscription and bool(own)


def topics_changed_before(timeline: Timeline, at: int, lead_ms: int = METADATA_AGE_MS) -> list[Event]:
    """Topics that brokers created, extended or deleted shortly before, except Kafka's internal topics."""
    begin = max(at - lead_ms, timeline.first + 1)
    changed = timeline.of(TopicChanged).between(begin, at + ROUND_TRIP_MS)
    return [e for e in changed if not e.topic.startswith("__") and not _is_internal(timeline, e.topic)]


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
    return any(e.topic_pattern is not None for e in timeline.of(Subscribed))


def _asked(timeline: Timeline) -> frozenset[str]:
    return frozenset(topic for event in timeline.of(Subscribed) for topic in event.topics)


def read_by_the_group(timeline: Timeline, changed: list[Event]) -> list[Event]:
    """The changed topics that some member subscribed to or was ever assigned."""
    known = timeline.cached(_read)
    return [e for e in changed if isinstance(e, TopicChanged) and e.topic in known]


def _read(timeline: Timeline) -> frozenset[str]:
    return timeline.cached(_asked) | set(assigned_topics(timeline).partitions)


def _is_internal(timeline: Timeline, topic: str) -> bool:
    # Streams creates changelog and repartition topics for itself and reads only the repartition topics it knows.
    return topic.startswith(f"{timeline.group}-") and topic.endswith(("-changelog", "-repartition"))


def rejoins_without_reason(timeline: Timeline) -> list[Request]:
    """Known members that made the coordinator rebalance without a logged reason."""
    # A leader rejoins for changed topics or a changed subscription, any other member only for the latter.
    return timeline.cached(_rejoins_without_reason)


def _rejoins_without_reason(timeline: Timeline) -> list[Request]:
    found = [r for r in timeline.requests if _lacks_reason(r)]
    return [r for r in found if not _hands_over(timeline, r) and not _follows_up(timeline, r)]


def _lacks_reason(request: Request) -> bool:
    starts = [e for e in request.events if isinstance(e, RebalanceStarted)]
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
        if isinstance(event, JoinRequested) and event.before is not None and event.after is not None:
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
    for event in timeline.of(Subscribed, SubscriptionUpdated):
        if isinstance(event, SubscriptionUpdated) and event.member:
            participant = timeline.participants.of_member(event.member)
        elif isinstance(event, Subscribed) and not event.by_hand:
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
