"""A member changed its topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import distinct_events, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.new_partitions import growths
from rebalance_forensics.diagnosis.sign import Present, Sign, stated
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.subscriptions import resubscriptions, topics_under_pattern, wordless_rejoins
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import RESUBSCRIBED_MS

REASON_LOGGED = stated("changed-subscription-logged", present="the member's log, or its reason to rejoin, says so")
SUBSCRIBED_AGAIN = stated("subscribed-again", present="the same process subscribed to other topics")
TAKEN_UP = stated("topic-taken-up", present="one member alone was assigned topics that nobody had before")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that said so, subscribed anew, alone got topics nobody had, or rejoined without a reason."""
    told = [
        (r.actor, r)
        for r in timeline.requests
        if r.why == "subscription-changed" and r.actor is not None and topics_under_pattern(timeline, r) is None
    ]
    for actor, request in told:
        yield _hypothesis(timeline, actor, request.events, [request], REASON_LOGGED)
    asked = InTime(r for _, r in told)
    for actor, event in resubscriptions(timeline):
        at = time_of(event)
        if not asked.of(actor).any_between(at - RESUBSCRIBED_MS + 1, at + RESUBSCRIBED_MS - 1):
            near = timeline.requests.of(actor).between(at, at + RESUBSCRIBED_MS - 1)
            events = [event, *(e for r in near for e in r.events)]
            yield _hypothesis(timeline, actor, events, near[:1], SUBSCRIBED_AGAIN)
    for growth in growths(timeline):
        if growth.taken_up_by is not None:
            topics = ", ".join(growth.topics)
            yield _hypothesis(timeline, growth.taken_up_by, growth.told, [growth.rebalance], TAKEN_UP, topics)
    if timeline.kind == "consumer":
        for request in wordless_rejoins(timeline):
            if request.actor is not None:
                yield _hypothesis(timeline, request.actor, request.events, [request])


def _hypothesis(
    timeline: Timeline,
    actor: Actor,
    events: Sequence[Event],
    facts: Sequence[Request | Rebalance],
    sign: Sign | None = None,
    taken_up: str = "",
) -> Hypothesis:
    name = culprits_of(timeline, [actor])[0].name
    at = time_of(events[0])
    touching = touched(timeline, facts) if facts else timeline.rebalances.between(at, at + RESUBSCRIBED_MS - 1)
    became = f"{name} was the only member assigned {taken_up} afterwards."
    return Hypothesis(
        because=distinct_events(events),
        culprits=culprits_of(timeline, [actor]),
        answers={sign: Present(distinct_events(events))} if sign is not None else {},
        actors=(actor,),
        severity="info",
        onset=next((f.started_at for f in facts if isinstance(f, Rebalance)), None),
        brings=(*facts, *touching),
        explains=tuple(facts) or tuple(touching),
        narrative=became if taken_up else f"{name} changed its subscription.",
    )


CAUSE = Cause(
    summary="A member changed the topics it subscribes to.",
    mechanism=(
        "The subscription travels in JoinGroup; a changed one makes the member rejoin and the whole group rebalance."
    ),
    shows="'subscription has changed from … to …'; a second 'Subscribed to topic(s)' of the same process.",
    remedy="Change the subscription of all members together, in one deployment.",
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(REASON_LOGGED, DECISIVE + WEAK),
        speaks_for(SUBSCRIBED_AGAIN, STRONG),
        speaks_for(TAKEN_UP, STRONG),
        speaks_for(rejoins.subscription_logged, STRONG, absent=STRONG),
        speaks_against(rejoins.topic_changed_before, STRONG),
        speaks_against(rejoins.partitions_grew, STRONG),
        speaks_against(rejoins.took_the_lead, STRONG),
    ),
    lookalikes=("topic-metadata-change", "enforced-rebalance"),
    kips=("KIP-429", "KIP-800"),
)
