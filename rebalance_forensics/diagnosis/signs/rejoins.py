"""Members that rejoined without a reason: what logs show of topics, subscriptions and the application's own calls."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import (
    logs_of_topic_changes,
    new_partitions,
    rejoins_without_reason,
    resubscriptions,
    topics_changed_before,
)
from rebalance_forensics.diagnosis.seen import Place, own_place, seen
from rebalance_forensics.diagnosis.sign import Answer, Need, Present, Subject, Unobservable, sign
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import AT_ONCE_MS, METADATA_AGE_MS, ROUND_TRIP_MS


def _asked(timeline: Timeline, subject: Subject) -> tuple[Request, ...]:
    """The rejoins without a reason that the subject explains; a reason that was logged leaves nothing to ask."""
    without_reason = timeline.cached_as(
        "ids of wordless rejoins", lambda: frozenset(r.id for r in rejoins_without_reason(timeline))
    )
    return tuple(f for f in subject.facts if isinstance(f, Request) and f.id in without_reason)


@sign(
    present="a topic was created, extended or deleted before the rejoin, within metadata.max.age.ms",
    absent="no broker log shows a topic created, extended or deleted before the rejoin",
)
def topic_changed_before(timeline: Timeline, subject: Subject) -> Answer:
    """Brokers logged a changed topic within the time that members need to notice it."""
    requests = _asked(timeline, subject)
    if not requests:
        return Unobservable()
    found = distinct_events(e for r in requests for e in topics_changed_before(timeline, r.at))
    begin, end = min(r.at for r in requests) - METADATA_AGE_MS, max(r.at for r in requests)
    what = "the logs of the brokers and the controller (server.log, controller.log)"
    need = Need(what=what, who=None, begin=begin, end=end)
    return seen(found, [Place(begin, end, logs_of_topic_changes(timeline, begin, end), need)])


@sign(present="the rebalance assigned partitions that no member had before", absent="")
def partitions_grew(timeline: Timeline, subject: Subject) -> Answer:
    """Assignments after the rejoin hold partitions of a topic that no member had before."""
    rebalances = {r.id for r in touched(timeline, _asked(timeline, subject))}
    new = [g for g in new_partitions(timeline) if g.rebalance.id in rebalances and g.taken_up_by is None]
    return Present(distinct_events(e for g in new for e in g.lines)) if new else Unobservable()


@sign(
    present="its own log shows a changed subscription just before",
    absent="its own log shows no changed subscription",
)
def subscription_logged(timeline: Timeline, subject: Subject) -> Answer:
    """The member that rejoined had just subscribed to other topics."""
    requests = _asked(timeline, subject)
    if not requests:
        return Unobservable()
    lines = (e for request in requests for e in _resubscribed(timeline, request.participant, request.at))
    places = (
        own_place(timeline, request.participant, request.at - AT_ONCE_MS, request.at)
        for request in requests
        if request.participant is not None
    )
    return seen(lines, places)


def _resubscribed(timeline: Timeline, participant: Participant | None, at: int) -> list[Event]:
    return [
        event
        for who, event in resubscriptions(timeline)
        if who is participant and at - AT_ONCE_MS <= time_of(event) <= at + ROUND_TRIP_MS
    ]


@sign(present="it has led the group since this rebalance; a changed subscription does not change the leader", absent="")
def took_the_lead(timeline: Timeline, subject: Subject) -> Answer:
    """The member that rejoined became the leader."""
    for request in _asked(timeline, subject):
        rebalance = timeline.rebalances.first(request.at - ROUND_TRIP_MS)
        number = rebalance.generation if rebalance is not None else None
        now, before = _leader(timeline, number), _leader(timeline, number - 1 if number is not None else None)
        if now is not None and before is not None and now is request.participant and before is not request.participant:
            return Present(tuple(request.events))
    return Unobservable()


@sign(present="a follower rejoined; only the leader looks for changed topics", absent="")
def follower_rejoined(timeline: Timeline, subject: Subject) -> Answer:
    """Another member is known to have led the group when this one rejoined."""
    requests = [r for r in _asked(timeline, subject) if r.why != "leader-rejoined"]
    for request in requests:
        rebalance = timeline.rebalances.first(request.at - ROUND_TRIP_MS)
        number = rebalance.generation if rebalance is not None else None
        before = _leader(timeline, number - 1 if number is not None else None)
        if before is not None and request.participant is not None and before is not request.participant:
            return Present(tuple(request.events))
    return Unobservable()


def _leader(timeline: Timeline, generation: int | None) -> Participant | None:
    if generation is None:
        return None
    return timeline.cached(_leaders).get(generation)


def _leaders(timeline: Timeline) -> dict[int, Participant | None]:
    leaders = ((g.generation, g.leader) for g in timeline.generations)
    return {number: timeline.participants.of_member(leader) if leader else None for number, leader in leaders}


@sign(present="a member rejoined and these logs give no hint why", absent="")
def no_hint(timeline: Timeline, subject: Subject) -> Answer:
    """No topic, partition or subscription is known to have changed before the rejoin."""
    requests = _asked(timeline, subject)
    hints = (topic_changed_before, partitions_grew, subscription_logged)
    if not requests or any(isinstance(hint.answer(timeline, subject), Present) for hint in hints):
        return Unobservable()
    return Present(tuple(e for r in requests for e in r.events[:1]))
