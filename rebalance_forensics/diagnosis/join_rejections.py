"""Clients that were turned away: which error, who, and what they did next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from rebalance_forensics.diagnosis.absences import distinct_events, span, times, touched
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.membership import AuthorizationFailed, MemberRefused
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.rebalancing import HeartbeatFailed, JoinFailed, SyncFailed
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import REJECTED_AWAY_MS, REJECTED_STOP_MS

DENIALS = ("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
_DENYING = (
    AuthorizationFailed, JoinFailed, SyncFailed, HeartbeatFailed, GroupHeartbeatFailed, OffsetCommitFailed,
    MemberRefused, ExceptionLogged,
)  # fmt: skip
REJECTED = stated("rejected", present="the coordinator turned it away with this error")


def denied(timeline: Timeline) -> dict[Actor, list[Event]]:
    """Clients that were denied the group or its topics, and the lines that say so."""
    return timeline.remembered(_denied)


def _denied(timeline: Timeline) -> dict[Actor, list[Event]]:
    by_actor: dict[Actor, list[Event]] = defaultdict(list)
    for event in timeline.of(*_DENYING):
        if not _is_denial(event, timeline.group):
            continue
        speaker = timeline.cast.of_speaker(event)
        here = [a for a in timeline.cast.at_place(event) if a.has_log] if isinstance(event, ExceptionLogged) else []
        for actor in [speaker] if speaker is not None else here:
            by_actor[actor].append(event)
    return dict(by_actor)


def _is_denial(event: Event, group: str) -> bool:
    if isinstance(event, ExceptionLogged):
        if (event.exception or "").endswith("GroupAuthorizationException"):
            return (event.detail or "").rpartition("group: ")[2] in (group, event.detail)
        return (event.exception or "").endswith("TopicAuthorizationException")
    return isinstance(event, AuthorizationFailed) or getattr(event, "error", None) in DENIALS


def rejected(
    timeline: Timeline, errors: frozenset[str], words: tuple[str, ...], sentence: str, advice: Advice
) -> Iterator[Hypothesis]:
    """One hypothesis for each client that was answered with one of `errors` (or logged one of `words`)."""
    by_actor: dict[Actor, list[Event]] = defaultdict(list)
    for event in timeline.of(JoinFailed, SyncFailed, MemberRefused, GroupHeartbeatFailed, ExceptionLogged):
        if _is_rejection(event, errors, words):
            for actor in _rejected_actors(timeline, event):
                by_actor[actor].append(event)
    for actor, events in sorted(by_actor.items(), key=lambda item: item[0].name):
        first, last = events[0].at or 0, events[-1].at or 0
        facts = around_rejection(timeline, actor, first, last)
        culprits = culprits_of(timeline, [actor])
        yield Hypothesis(
            because=distinct_events(events),
            culprits=culprits,
            answers={REJECTED: Present(distinct_events(events))},
            actors=(actor,),
            severity="warning",
            brings=(*facts, *touched(timeline, facts)),
            narrative=f"{culprits[0].name} {sentence}",
            advice=(replace(advice, why=f"{advice.why} It was turned away {times(len(events))}{span(events)}."),),
        )


def around_rejection(timeline: Timeline, actor: Actor, first: int, last: int) -> list[Fact]:
    """How a client that was turned away came, closed and went, from its first rejection to its last."""
    facts: list[Fact] = [*timeline.stops.of(actor).between(first - REJECTED_STOP_MS, last + REJECTED_AWAY_MS)]
    facts += timeline.departures.of(actor).between(first - REJECTED_STOP_MS, last + REJECTED_AWAY_MS)
    facts += timeline.arrivals.of(actor).between(first - REJECTED_AWAY_MS, last + REJECTED_AWAY_MS)
    return facts


def _is_rejection(event: Event, errors: frozenset[str], words: tuple[str, ...]) -> bool:
    if isinstance(event, JoinFailed | SyncFailed | MemberRefused | GroupHeartbeatFailed):
        return event.error in errors
    if isinstance(event, ExceptionLogged):
        told = f"{event.exception or ''} {event.detail or ''}"
        return any(word in told for word in words)
    return False


def _rejected_actors(timeline: Timeline, event: Event) -> list[Actor]:
    speaker = timeline.cast.of_speaker(event)
    if speaker is not None:
        return [speaker]
    member = getattr(event, "member", None)
    known = timeline.cast.of_member(member) if isinstance(member, str) else None
    return [known] if known is not None else []
