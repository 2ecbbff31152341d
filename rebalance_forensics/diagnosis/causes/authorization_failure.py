"""A member may not use the group or topic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, span, times, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.join_rejections import denied
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import DENIED_BEFORE_MS, REJECTED_AWAY_MS

DENIED = stated("denied", present="the brokers answered it with an authorization error")
_SENTENCE = re.compile(r"[A-Z][^\[\]]{0,400}[Aa]uthoriz.*")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients that were denied the group or its topics."""
    for actor, events in sorted(denied(timeline).items(), key=lambda item: item[0].name):
        first, last = events[0].at or 0, events[-1].at or 0
        facts: list[Fact] = [*timeline.moves(first - DENIED_BEFORE_MS, last + REJECTED_AWAY_MS, actor)]
        name = culprits_of(timeline, [actor])[0].name
        yield Hypothesis(
            because=distinct_events(events),
            culprits=culprits_of(timeline, [actor]),
            answers={DENIED: Present(distinct_events(events))},
            actors=(actor,),
            severity="critical" if _is_out(timeline, actor, last) else "warning",
            brings=(*facts, *touched(timeline, facts)),
            struck_at=first,
            narrative=f"{name} is not authorized: {_words(events[0]).rstrip('. ')}.",
            advice=(
                Advice(
                    action="Grant its principal DESCRIBE and READ on the group, and READ on the topics.",
                    why=f"The broker denied it {times(len(events))}{span(events)}.",
                    cost="It then reads what it was kept from: check that it should.",
                ),
            ),
        )


def _words(event: Event) -> str:
    told: str | None = getattr(event, "detail", None) or getattr(event, "error", None)
    sentence = _SENTENCE.search(event.text)
    return told or (sentence[0] if sentence else event.text)[:160]


def _is_out(timeline: Timeline, actor: Actor, last: int) -> bool:
    """It was a member, and did not come back."""
    gone = timeline.departures.of(actor).last(last + REJECTED_AWAY_MS)
    return gone is not None and gone.at > last - REJECTED_AWAY_MS and gone.returned is None


CAUSE = Cause(
    summary="A member may not use the group or the topic.",
    mechanism=(
        "FindCoordinator needs DESCRIBE on the group and is the first request to fail; JoinGroup then needs READ on "
        "the group, Metadata DESCRIBE and Fetch READ on the topics. An authorization error is fatal for the consumer; "
        "it closes or tries again in a loop."
    ),
    shows="GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED.",
    remedy="Fix the ACLs of the client's principal: READ (it implies DESCRIBE) on the group and on the topics.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(DENIED, DECISIVE + WEAK),),
    brings=(
        "member-left",
        "scale-in",
        "shutdown",
        "process-pause",
        "process-crash",
        "rolling-restart",
        "coordinator-failover",
        "scale-out",
    ),
    lookalikes=("group-max-size", "inconsistent-protocol"),
    settings=("allow.everyone.if.no.acl.found",),
)
