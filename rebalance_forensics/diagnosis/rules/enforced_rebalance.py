"""The application asked for a rebalance (Consumer.enforceRebalance, KIP-568, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.episodes import distinct_events, touched
from rebalance_forensics.diagnosis.finding import CERTAIN, PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.model import RuledOut
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.events.rebalancing import JoinRequested


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
            ruled_out=(RuledOut(cause="topic-metadata-change", why="the reason is the application's own, not changed metadata"),),
        )


def _own_words(timeline: Timeline, request: Request) -> bool:
    """A text that no Kafka client writes by itself was given to enforceRebalance(reason)."""
    return timeline.kind == "consumer" and request.why == "other" and any(isinstance(e, JoinRequested) for e in request.events)


RULE = Rule(
    summary="The application itself asked for a rebalance.",
    mechanism="enforceRebalance() makes the member send JoinGroup though nothing changed; the coordinator rebalances if the "
    "member is the leader or its metadata differs.",
    signs="'rebalance enforced by user', or the text the application gave.",
    remedy="Ask the application's owners why; a periodic call is rarely needed.",
    usual="planned",
    rank=21,
    diagnose=diagnose,
    kips=("KIP-568", "KIP-800"),
)
