"""A member may not use the group or topic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, span, times, touched
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import CERTAIN, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.refusals import denied
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact

AROUND_MS = 60_000
JUST_BEFORE_MS = 10_000
_SENTENCE = re.compile(r"[A-Z][^\[\]]{0,400}[Aa]uthoriz.*")


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame clients that were denied the group or its topics."""
    for actor, events in sorted(denied(timeline).items(), key=lambda item: item[0].name):
        first, last = events[0].at or 0, events[-1].at or 0
        facts: list[Fact] = [*timeline.moves(first - JUST_BEFORE_MS, last + AROUND_MS, actor)]
        name = culprits_of(timeline, [actor])[0].name
        yield Finding(
            because=distinct_events(events),
            culprits=culprits_of(timeline, [actor]),
            confidence=CERTAIN,
            severity="critical" if _is_out(timeline, actor, last) else "warning",
            claims=(*facts, *touched(timeline, facts)),
            struck_at=first,
            narrative=f"{name} is not authorized: {_words(events[0]).rstrip('. ')}.",
            advice=(
                Advice(
                    action="Grant its principal READ on the group and on the topics.",
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
    gone = timeline.departures.of(actor).last(last + AROUND_MS)
    return gone is not None and gone.at > last - AROUND_MS and gone.returned is None


RULE = Rule(
    summary="A member may not use the group or the topic.",
    mechanism=(
        "JoinGroup or Metadata is answered with an authorization error, which is fatal for the consumer; "
        "it closes or tries again in a loop."
    ),
    signs="GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED.",
    remedy="Mend the ACLs: READ on Group and Topic for the client's principal.",
    usual="fault",
    rank=10,
    diagnose=diagnose,
    settings=("allow.everyone.if.no.acl.found",),
)
