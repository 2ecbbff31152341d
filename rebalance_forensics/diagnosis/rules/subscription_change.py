"""A member changed its topics."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.episodes import distinct_events, touched
from rebalance_forensics.diagnosis.finding import CERTAIN, PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.model import RuledOut
from rebalance_forensics.diagnosis.subscriptions import topics_under_pattern
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import Subscribed, SubscriptionUpdated
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Request

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
    for actor, event in _subscribed_again(timeline):
        if any(r.actor is actor and abs(r.at - (event.at or 0)) < NEAR_MS for r in told):
            continue
        near = [r for r in timeline.requests if r.actor is actor and 0 <= r.at - (event.at or 0) < NEAR_MS]
        yield _finding(
            timeline, actor, [event, *(e for r in near for e in r.events)], near[0] if near else None, PROBABLE
        )


def _subscribed_again(timeline: Timeline) -> Iterator[tuple[Actor, Event]]:
    """Subscriptions after the first of a process; a topic list equal to the one before changes nothing."""
    last: dict[tuple[Actor, str | None], tuple[tuple[str, ...], str | None, int]] = {}
    for event in timeline.events:
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
        restarted = before is not None and any(
            s.actor is actor and before[2] < s.at <= event.at for s in timeline.starts
        )
        if before is not None and not restarted and before[:2] != now[:2]:
            yield actor, event


def _finding(
    timeline: Timeline, actor: Actor, events: list[Event], request: Request | None, confidence: float
) -> Finding:
    name = culprits_of(timeline, [actor])[0].name
    facts = (request,) if request is not None else ()
    at = events[0].at or 0
    touching = (
        touched(timeline, facts) if facts else tuple(r for r in timeline.rebalances if 0 <= r.started_at - at < NEAR_MS)
    )
    return Finding(
        because=distinct_events(events),
        culprits=culprits_of(timeline, [actor]),
        confidence=confidence,
        severity="info",
        claims=(*facts, *touching),
        core=facts or touching,
        narrative=f"{name} changed its subscription.",
        ruled_out=(
            RuledOut(cause="topic-metadata-change", why="the topics it asked for changed, not the topics themselves"),
        ),
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
)
