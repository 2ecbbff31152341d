"""A member changed its topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import distinct_events, touched
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import CERTAIN, GUESS, PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.growth import Growth, growths
from rebalance_forensics.diagnosis.subscriptions import topics_changed_before, topics_under_pattern, wordless_rejoins
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import Subscribed, SubscriptionUpdated
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.in_time import InTime
from rebalance_forensics.timeline.told import time_of

NEAR_MS = 10_000


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Members that said their subscription changed, or subscribed anew while they were members."""
    told = [
        r
        for r in timeline.requests
        if r.why == "subscription-changed" and r.actor is not None and topics_under_pattern(timeline, r) is None
    ]
    for request in told:
        assert request.actor is not None
        yield _finding(timeline, request.actor, request.events, request, CERTAIN)
    asked = InTime(told)
    for actor, event in _subscribed_again(timeline):
        at = time_of(event)
        if asked.of(actor).any_between(at - NEAR_MS + 1, at + NEAR_MS - 1):
            continue
        near = timeline.requests.of(actor).between(at, at + NEAR_MS - 1)
        yield _finding(
            timeline, actor, [event, *(e for r in near for e in r.events)], near[0] if near else None, PROBABLE
        )
    for request in _unheard(timeline):
        assert request.actor is not None
        yield _finding(timeline, request.actor, request.events, request, GUESS)
    for growth in growths(timeline):
        if growth.taken_up_by is not None:
            yield _taken_up(timeline, growth.taken_up_by, growth)


def _taken_up(timeline: Timeline, actor: Actor, growth: Growth) -> Finding:
    """One member alone was given topics nobody had before, and nothing shows that the topics are new."""
    return Finding(
        because=growth.told,
        culprits=culprits_of(timeline, [actor]),
        confidence=PROBABLE,
        severity="info",
        onset=growth.rebalance.started_at,
        claims=(growth.rebalance,),
        narrative=f"{culprits_of(timeline, [actor])[0].name} alone was given {', '.join(growth.topics)} from then on.",
    )


def _unheard(timeline: Timeline) -> list[Request]:
    """Members without a log that made the coordinator rebalance while no broker shows a topic that changed."""
    return [
        r
        for r in wordless_rejoins(timeline)
        if timeline.kind == "consumer"
        and r.actor is not None
        and not r.actor.has_log
        and not topics_changed_before(timeline, r.at)
        and not _took_the_lead(timeline, r)
    ]


def _took_the_lead(timeline: Timeline, request: Request) -> bool:
    """A changed subscription leaves the leader where it was; whoever leads from then on did something else."""
    rebalance = timeline.rebalances.first(request.at - 1_000)
    leaders = timeline.remembered(_leaders)
    number = rebalance.generation if rebalance is not None else None
    if number is None or leaders.get(number) is None or leaders.get(number - 1) is None:
        return False
    return leaders[number] is request.actor and leaders[number - 1] is not request.actor


def _leaders(timeline: Timeline) -> dict[int, Actor | None]:
    told = ((g.generation, g.leader) for g in timeline.generations)
    return {number: timeline.cast.of_member(leader) if leader else None for number, leader in told}


def _subscribed_again(timeline: Timeline) -> Iterator[tuple[Actor, Event]]:
    """Subscriptions after the first of a process; a topic list equal to the one before changes nothing."""
    last: dict[tuple[Actor, str | None], tuple[tuple[str, ...], str | None, int]] = {}
    for event in timeline.of(Subscribed, SubscriptionUpdated):
        if isinstance(event, SubscriptionUpdated) and event.member:
            actor = timeline.cast.of_member(event.member)
        elif isinstance(event, Subscribed) and not event.by_hand:
            actor = timeline.cast.of_speaker(event)
        else:
            continue
        if actor is None or event.at is None:
            continue
        key = (actor, event.speaker.client_id)
        now = (tuple(sorted(event.topics)), getattr(event, "topic_pattern", None), event.at)
        before = last.get(key)
        last[key] = now
        restarted = before is not None and timeline.starts.of(actor).any_between(before[2] + 1, event.at)
        if before is not None and not restarted and before[:2] != now[:2]:
            yield actor, event


def _finding(
    timeline: Timeline, actor: Actor, events: Sequence[Event], request: Request | None, confidence: float
) -> Finding:
    name = culprits_of(timeline, [actor])[0].name
    facts = (request,) if request is not None else ()
    at = time_of(events[0])
    touching = touched(timeline, facts) if facts else tuple(timeline.rebalances.between(at, at + NEAR_MS - 1))
    return Finding(
        because=distinct_events(events),
        culprits=culprits_of(timeline, [actor]),
        confidence=confidence,
        severity="info",
        claims=(*facts, *touching),
        core=facts or touching,
        narrative=f"{name} changed its subscription.",
    )


RULE = Rule(
    summary="A member changed the topics it subscribes to.",
    mechanism=(
        "The subscription travels in JoinGroup; a changed one makes the member rejoin and the whole group rebalance."
    ),
    signs="'subscription has changed from … to …'; a second 'Subscribed to topic(s)' of the same process.",
    remedy="Change the subscription of all members together, in one deployment.",
    usual="planned",
    rank=23,
    diagnose=diagnose,
    kips=("KIP-429", "KIP-800"),
)
