"""The application asked for a rebalance (Consumer.enforceRebalance, KIP-568, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_forensics.diagnosis.absences import NEAR_MS, distinct_events, touched
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import CERTAIN, PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.releases import Affected, releases_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.membership import InstanceFenced, LeaveSent, PollTimeoutExpired, Subscribed
from rebalance_forensics.events.partitions import PartitionsRevoked
from rebalance_forensics.events.process import ConsumerClosed
from rebalance_forensics.events.rebalancing import (
    HeartbeatFailed,
    JoinFailed,
    JoinRequested,
    JoinStarted,
    JoinSucceeded,
    RebalanceStarted,
    SyncFailed,
)
from rebalance_forensics.timeline.actors import Actor, place_name
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.told import time_of

_DRIVEN = (
    CoordinatorLost, InstanceFenced, LeaveSent, PollTimeoutExpired, Subscribed, ConsumerClosed, HeartbeatFailed,
    JoinFailed, JoinRequested, SyncFailed,
)  # fmt: skip
"""What makes a member join again, or ends its membership; each has a line of its own."""
TELLS_THE_OTHERS = Affected((2, 7), (3, 0))
"""Clients that log changed topics and subscriptions, yet not an enforced rebalance."""

KAFKAS_OWN_WORDS = (
    "group is already rebalancing", "need to revoke partitions", "cached metadata has changed",
    "subscription has changed",
    "received assignment", "encountered ", "pro-actively leaving", "rebalance failed", "offset commit failed",
    "need to re-join with the given member", "followup rebalance", "probing rebalance", "Shutdown requested",
    "assignment metadata has changed", "poll timeout has expired", "consumer is being closed", "unsubscribed",
)  # fmt: skip
"""Reasons that AbstractCoordinator and ConsumerCoordinator give by themselves, 3.2 to 4.3."""


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Members that enforced a rebalance, or gave a reason of their own for one."""
    for request in timeline.requests:
        if request.actor is None or not (request.why == "enforced" or _own_words(timeline, request)):
            continue
        name = culprits_of(timeline, [request.actor])[0].name
        yield Finding(
            because=distinct_events(request.events),
            culprits=culprits_of(timeline, [request.actor]),
            confidence=CERTAIN if request.why == "enforced" else PROBABLE,
            severity="info",
            claims=(request, *touched(timeline, [request])),
            core=(request,),
            narrative=f"The application of {name} asked for a rebalance: {request.reason or 'no reason given'}.",
        )
    for rejoined in _rejoined_unasked(timeline):
        if rejoined.before.generation == rejoined.now.generation:
            yield _in_vain(timeline, rejoined)
        elif rejoined.before.generation == rejoined.now.generation - 1:
            yield from _wordless(timeline, rejoined)


@dataclass(frozen=True, slots=True)
class _Rejoin:
    """A member joined again though no line says why."""

    actor: Actor
    before: JoinSucceeded
    start: JoinStarted
    now: JoinSucceeded


def _rejoined_unasked(timeline: Timeline) -> list[_Rejoin]:
    """Members that nothing drove out joined again.

    Before 3.0 enforceRebalance is the one reason to join that no client logs, and the coordinator starts a
    rebalance for the leader alone: to any other member with the same metadata it repeats the assignment.
    """
    found: list[_Rejoin] = []
    joined: dict[Actor, JoinSucceeded] = {}
    asked: dict[Actor, JoinStarted] = {}
    for event in timeline.of(JoinStarted, JoinSucceeded, *_DRIVEN) if timeline.kind == "consumer" else ():
        actor = timeline.cast.of_speaker(event)
        if actor is None:
            continue
        if isinstance(event, JoinStarted):
            asked[actor] = event
        elif isinstance(event, JoinSucceeded):
            before, start = joined.get(actor), asked.pop(actor, None)
            if before is not None and start is not None and _is_again(timeline, actor, before, event):
                found.append(_Rejoin(actor, before, start, event))
            joined[actor] = event
        else:
            joined.pop(actor, None)
    return found


def _is_again(timeline: Timeline, actor: Actor, before: JoinSucceeded, now: JoinSucceeded) -> bool:
    same = before.member == now.member and place_name(before) == place_name(now)
    restarted = timeline.starts.of(actor).any_between(time_of(before), time_of(now))
    return same and now.pattern.startswith("consumer/") and not restarted


def _wordless(timeline: Timeline, rejoined: _Rejoin) -> Iterator[Finding]:
    """Clients of 2.7 and 2.8 tell every other reason to join: who joins first and without one enforced it."""
    at = time_of(rejoined.start)
    rebalance = next((r for r in timeline.rebalances if r.joined_at.get(rejoined.actor) == at), None)
    if rebalance is None or min(rebalance.joined_at.values()) < at or timeline.moves(at - NEAR_MS, at + 200):
        return
    gave_up = timeline.said_by(rejoined.actor, PartitionsRevoked).between(time_of(rejoined.before), at)
    hands_over = timeline.mode != "eager" and any(e.partitions for e in gave_up)
    if hands_over or not releases_of(timeline).affects("client", [TELLS_THE_OTHERS], [rejoined.start]):
        return
    culprits = culprits_of(timeline, [rejoined.actor])
    requests = timeline.requests.of(rejoined.actor).between(at - 200, at + NEAR_MS)
    yield Finding(
        because=distinct_events([rejoined.start, *rebalance.events, rejoined.now]),
        culprits=culprits,
        confidence=PROBABLE,
        severity="info",
        onset=at,
        claims=(*requests, rebalance),
        narrative=f"The application of {culprits[0].name} asked for a rebalance: it joined again for no other reason.",
    )


def _in_vain(timeline: Timeline, rejoined: _Rejoin) -> Finding:
    culprits = culprits_of(timeline, [rejoined.actor])
    return Finding(
        because=(rejoined.start, rejoined.now),
        culprits=culprits,
        confidence=PROBABLE,
        severity="info",
        onset=time_of(rejoined.start),
        claims=(),
        narrative=(
            f"{culprits[0].name} joined again though nothing made it, as enforceRebalance does, and was given its "
            f"old assignment: no rebalance, the group stayed in generation {rejoined.now.generation}."
        ),
    )


def _own_words(timeline: Timeline, request: Request) -> bool:
    """A text that no Kafka client writes by itself was given to enforceRebalance(reason)."""
    if timeline.kind != "consumer":
        return False
    told = [e.client_reason for e in request.events if isinstance(e, RebalanceStarted)]
    if any(reason and not _is_kafkas(reason) for reason in told):
        return request.why in ("other", "member-rejoined", "leader-rejoined")
    return request.why == "other" and any(_by_java(e) for e in request.events)


def _by_java(event: Event) -> bool:
    """Other clients word their own reasons freely; only the Java client's are all known."""
    return isinstance(event, JoinRequested) and event.pattern.startswith("consumer/")


def _is_kafkas(reason: str) -> bool:
    return reason.strip() in ("", "not provided", "null") or any(words in reason for words in KAFKAS_OWN_WORDS)


RULE = Rule(
    summary="The application itself asked for a rebalance.",
    mechanism=(
        "enforceRebalance() makes the member send JoinGroup though nothing changed; the coordinator "
        "rebalances if the member is the leader or its metadata differs."
    ),
    signs="'rebalance enforced by user', or the text the application gave.",
    remedy="Ask the application's owners why; a periodic call is rarely needed.",
    usual="planned",
    rank=23,
    diagnose=diagnose,
    kips=("KIP-568", "KIP-800"),
)
