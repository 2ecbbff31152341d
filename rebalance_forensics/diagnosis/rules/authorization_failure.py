"""A member may not use the group or topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.episodes import distinct_events, span, times
from rebalance_forensics.diagnosis.finding import CERTAIN, Fact, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import AuthorizationFailed, MemberRefused
from rebalance_forensics.events.rebalancing import JoinFailed, SyncFailed
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline

ERRORS = ("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
AROUND_MS = 60_000


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame clients that were denied the group or its topics."""
    by_actor: dict[Actor, list[Event]] = defaultdict(list)
    for event in timeline.of(AuthorizationFailed, JoinFailed, SyncFailed, MemberRefused):
        if not _is_denied(event):
            continue
        speaker = timeline.cast.of_speaker(event)
        for actor in [speaker] if speaker is not None else []:
            by_actor[actor].append(event)
    for actor, events in sorted(by_actor.items(), key=lambda item: item[0].name):
        first, last = events[0].at or 0, events[-1].at or 0
        facts: list[Fact] = [*timeline.moves(first - AROUND_MS, last + AROUND_MS, actor)]
        name = culprits_of(timeline, [actor])[0].name
        yield Finding(
            because=distinct_events(events),
            culprits=culprits_of(timeline, [actor]),
            confidence=CERTAIN,
            severity="warning",
            claims=tuple(facts),
            narrative=f"{name} is not authorized: {getattr(events[0], 'detail', None) or events[0].text[-160:]}",
            advice=(
                Advice(
                    action="Grant its principal READ on the group and on the topics.",
                    why=f"The broker denied it {times(len(events))}{span(events)}.",
                    cost="It then reads what it was kept from: check that it should.",
                ),
            ),
        )


def _is_denied(event: Event) -> bool:
    if isinstance(event, AuthorizationFailed):
        return True
    return isinstance(event, JoinFailed | SyncFailed | MemberRefused) and event.error in ERRORS


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
