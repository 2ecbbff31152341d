"""The application asked for a rebalance (Consumer.enforceRebalance, KIP-568, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import NEAR_MS, distinct_events, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.reference.releases import Affected, releases_of
from rebalance_forensics.diagnosis.sign import Present, Sign, stated
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.subscriptions import wordless_rejoins
from rebalance_forensics.diagnosis.unasked_rejoins import Rejoin, rejoined_unasked
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.partitions import PartitionsRevoked
from rebalance_forensics.events.rebalancing import JoinRequested, RebalanceStarted
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import SETTLED_MS

ENFORCED_LOGGED = stated("enforced-logged", present="the reason to rejoin says that the application enforced it")
OWN_WORDS = stated("own-words", present="the reason to rejoin is in the application's words; no Kafka client writes it")
REJOINED_IN_VAIN = stated(
    "rejoined-in-vain", present="it joined again though nothing made it, and was given the assignment it had"
)
NO_OTHER_REASON = stated(
    "no-other-reason", present="its release logs every other reason to rejoin, and it rejoined first without one"
)
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


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that enforced a rebalance, gave a reason of their own for one, or rejoined without any."""
    for request in timeline.requests:
        if request.actor is None or not (request.why == "enforced" or _own_words(timeline, request)):
            continue
        sign = ENFORCED_LOGGED if request.why == "enforced" else OWN_WORDS
        asked = request.reason or "no reason given"
        yield _hypothesis(timeline, request.actor, request.events, [request], sign, f"asked for a rebalance: {asked}")
    for rejoined in rejoined_unasked(timeline):
        if rejoined.before.generation == rejoined.now.generation:
            yield _in_vain(timeline, rejoined)
        elif rejoined.before.generation == rejoined.now.generation - 1:
            yield from _wordless(timeline, rejoined)
    if timeline.kind == "consumer":
        for request in wordless_rejoins(timeline):
            if request.actor is not None:
                may = "may have asked for a rebalance: it rejoined, and no reason was logged"
                yield _hypothesis(timeline, request.actor, request.events, [request], None, may)


def _hypothesis(
    timeline: Timeline, actor: Actor, lines: Sequence[Event], facts: Sequence[Fact], sign: Sign | None, what: str
) -> Hypothesis:
    culprits = culprits_of(timeline, [actor])
    lines = distinct_events(lines)
    return Hypothesis(
        because=lines,
        culprits=culprits,
        answers={sign: Present(lines)} if sign is not None else {},
        actors=(actor,),
        severity="info",
        brings=(*facts, *touched(timeline, facts)),
        explains=tuple(facts),
        narrative=f"The application of {culprits[0].name} {what}.",
    )


def _wordless(timeline: Timeline, rejoined: Rejoin) -> Iterator[Hypothesis]:
    """Clients of 2.7 and 2.8 tell every other reason to join: who joins first and without one enforced it."""
    at = time_of(rejoined.start)
    rebalance = next((r for r in timeline.rebalances if r.joined_at.get(rejoined.actor) == at), None)
    if rebalance is None or min(rebalance.joined_at.values()) < at:
        return
    if timeline.moves(at - NEAR_MS, at + SETTLED_MS):
        return
    gave_up = timeline.said_by(rejoined.actor, PartitionsRevoked).between(time_of(rejoined.before), at)
    hands_over = timeline.mode != "eager" and any(e.partitions for e in gave_up)
    if hands_over or not releases_of(timeline).affects("client", [TELLS_THE_OTHERS], [rejoined.start]):
        return
    requests = timeline.requests.of(rejoined.actor).between(at - SETTLED_MS, at + NEAR_MS)
    lines = [rejoined.start, *rebalance.events, rejoined.now]
    what = "asked for a rebalance: it joined again for no other reason"
    yield _hypothesis(timeline, rejoined.actor, lines, [*requests, rebalance], NO_OTHER_REASON, what)


def _in_vain(timeline: Timeline, rejoined: Rejoin) -> Hypothesis:
    what = (
        "asked for a rebalance in vain, as far as the logs tell: it joined again though nothing made it, and was given "
        f"its old assignment; the group stayed in generation {rejoined.now.generation}"
    )
    return _hypothesis(timeline, rejoined.actor, [rejoined.start, rejoined.now], [], REJOINED_IN_VAIN, what)


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


CAUSE = Cause(
    summary="The application itself asked for a rebalance.",
    mechanism=(
        "enforceRebalance() makes the member send JoinGroup though nothing changed; the coordinator "
        "rebalances if the member is the leader or its metadata differs."
    ),
    shows="'rebalance enforced by user', or the text the application gave.",
    remedy="Ask the application's owners why; a periodic call is rarely needed.",
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(ENFORCED_LOGGED, DECISIVE + WEAK),
        speaks_for(OWN_WORDS, STRONG),
        speaks_for(REJOINED_IN_VAIN, STRONG),
        speaks_for(NO_OTHER_REASON, STRONG + WEAK),
        speaks_against(rejoins.no_hint, WEAK),
        speaks_against(rejoins.topic_changed_before, STRONG),
        speaks_against(rejoins.partitions_grew, STRONG),
        speaks_against(rejoins.subscription_logged, STRONG),
    ),
    lookalikes=("subscription-change", "topic-metadata-change"),
    kips=("KIP-568", "KIP-800"),
)
