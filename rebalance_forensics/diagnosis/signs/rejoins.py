"""Signs of members that rejoined without a logged reason: changed topics, partitions, subscriptions and leaders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.topics import subscriptions
from rebalance_forensics.diagnosis.seen import Place, own_place, seen
from rebalance_forensics.diagnosis.sign import Answer, Need, Subject, Unobservable, shown, sign
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import AT_ONCE_MS, METADATA_AGE_MS, ROUND_TRIP_MS


def _unexplained_rejoins(timeline: Timeline, subject: Subject) -> tuple[Request, ...]:
    """The subject's rejoins without a logged reason."""
    without_reason = timeline.cached_as(
        "ids of unexplained rejoins", lambda: frozenset(r.id for r in subscriptions.rejoins_without_reason(timeline))
    )
    return tuple(f for f in subject.facts if isinstance(f, Request) and f.id in without_reason)


@sign(
    "a topic was created, extended or deleted before the rejoin, within metadata.max.age.ms",
    "no broker log shows a topic created, extended or deleted before the rejoin",
)
def topic_changed_before(timeline: Timeline, subject: Subject) -> Answer:
    """Brokers logged a changed topic no longer before the rejoin than members take to notice the change."""
    requests = _unexplained_rejoins(timeline, subject)
    if not requests:
        return Unobservable()
    found = distinct_events(e for r in requests for e in subscriptions.topics_changed_before(timeline, r.at))
    begin, end = min(r.at for r in requests) - METADATA_AGE_MS, max(r.at for r in requests)
    what = "the logs of the brokers and the controller (server.log, controller.log)"
    need = Need(what=what, who=None, begin=begin, end=end)
    return seen(found, [Place(begin, end, subscriptions.logs_of_topic_changes(timeline, begin, end), need)])


@shown("the rebalance assigned partitions that no member had before")
def partitions_grew(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """Assignments after the rejoin hold partitions of a topic that no member had before."""
    rebalances = {r.id for r in touched(timeline, _unexplained_rejoins(timeline, subject))}
    new = [
        g for g in subscriptions.new_partitions(timeline) if g.rebalance.id in rebalances and g.only_recipient is None
    ]
    return distinct_events(e for g in new for e in g.lines)


@sign("its own log shows a changed subscription just before", "its own log shows no changed subscription")
def subscription_logged(timeline: Timeline, subject: Subject) -> Answer:
    """The member that rejoined had just subscribed to other topics."""
    requests = _unexplained_rejoins(timeline, subject)
    if not requests:
        return Unobservable()
    lines = (
        event
        for request in requests
        for who, event in subscriptions.resubscriptions(timeline)
        if who is request.participant and request.at - AT_ONCE_MS <= time_of(event) <= request.at + ROUND_TRIP_MS
    )
    return seen(
        lines,
        (own_place(timeline, r.participant, r.at - AT_ONCE_MS, r.at) for r in requests if r.participant is not None),
    )


@shown("it has led the group since this rebalance; a changed subscription does not change the leader")
def took_the_lead(timeline: Timeline, subject: Subject) -> Sequence[Event]:
    """The member that rejoined became the leader."""
    for request in _unexplained_rejoins(timeline, subject):
        before, now = _leaders_at(timeline, request)
        if now is not None and before is not None and now is request.participant and before is not request.participant:
            return request.events
    return ()


def _leaders_at(timeline: Timeline, request: Request) -> tuple[Participant | None, Participant | None]:
    """The leaders before and after the rebalance that the member requested; None if unknown."""
    rebalance = timeline.rebalances.first(request.at - ROUND_TRIP_MS)
    if rebalance is None or rebalance.generation is None:
        return None, None
    leaders = _leaders(timeline)
    return leaders.get(rebalance.generation - 1), leaders.get(rebalance.generation)


@cached_answer
def _leaders(timeline: Timeline) -> dict[int, Participant | None]:
    """Generation -> its leader, None if unknown."""
    leaders = ((g.generation, g.leader) for g in timeline.generations)
    return {number: timeline.participants.of_member(leader) if leader else None for number, leader in leaders}


@shown("a member rejoined and these logs give no hint why")
def no_hint(timeline: Timeline, subject: Subject) -> Iterable[Event]:
    """No topic, partition or subscription is known to have changed before the rejoin."""
    hints = (topic_changed_before, partitions_grew, subscription_logged)
    if any(hint.is_present(timeline, subject) for hint in hints):
        return ()
    return (e for r in _unexplained_rejoins(timeline, subject) for e in r.events[:1])
