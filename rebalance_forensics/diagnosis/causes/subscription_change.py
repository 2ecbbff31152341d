"""A member changed its topics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import (
    GIVING,
    logs_of_topic_changes,
    new_partitions,
    rejoins_without_reason,
    resubscriptions,
    subscribed_topics,
    topics_under_pattern,
)
from rebalance_forensics.diagnosis.sign import (
    DECISIVE,
    STRONG,
    WEAK,
    Answer,
    Present,
    Row,
    clue,
    speaks_against,
    speaks_for,
)
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import Subscribed, SubscriptionUpdated
from rebalance_forensics.events.rebalances import JoinRequested
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS

REASON_LOGGED = clue(
    "changed-subscription-logged", DECISIVE + WEAK, "the member's log, or its reason to rejoin, says so"
)
PERHAPS_A_PATTERN = clue(
    "perhaps-a-pattern",
    WEAK,
    "its reason to rejoin says so; these logs do not show whether it reads a pattern, and a topic was made",
)
SUBSCRIBED_AGAIN = clue("subscribed-again", STRONG, "the same process subscribed to other topics")
TAKEN_UP = clue("topic-taken-up", STRONG, "one member alone was assigned topics that nobody had before")

HOW: Mapping[str, Row] = {
    "logged": REASON_LOGGED,
    "perhaps-a-pattern": PERHAPS_A_PATTERN,
    "subscribed-again": SUBSCRIBED_AGAIN,
    "taken-up": TAKEN_UP,
}
# Evidence of a changed subscription.
SUBSCRIBING = (Request, Subscribed, SubscriptionUpdated, *GIVING)


def shown_by(change: SubscriptionChange) -> dict[Row, Answer]:
    """By what it shows; a rejoin without a reason shows nothing."""
    return {HOW[change.shown]: Present(distinct_events(change.lines))} if change.shown in HOW else {}


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that said so, subscribed anew, alone got topics nobody had, or rejoined without a reason."""
    for change in subscription_changes(timeline):
        culprits, rebalances = culprits_of(timeline, [change.participant]), change.rebalances(timeline)
        yield Hypothesis(
            because=change.lines,
            circumstances=subscription_before(timeline, change.participant, time_of(change.lines[0])),
            culprits=culprits,
            clues=shown_by(change),
            participants=(change.participant,),
            severity="info",
            onset=next((f.started_at for f in change.facts if isinstance(f, Rebalance)), None),
            implies=(*change.facts, *rebalances),
            explains=change.facts or rebalances,
            narrative=f"{culprits[0].name} {change.in_words(timeline)}.",
        )


CAUSE = Cause(
    summary="A member changed the topics it subscribes to.",
    mechanism=(
        "The subscription travels in JoinGroup; when it changes, the member rejoins and the whole group rebalances."
    ),
    shows="'subscription has changed from … to …'; a second 'Subscribed to topic(s)' of the same process.",
    remedy="Change the subscription of all members together, in one deployment.",
    usual="planned",
    propose=propose,
    evidence_types=SUBSCRIBING,
    signs=(
        speaks_for(rejoins.subscription_logged, STRONG, absent=STRONG),
        speaks_against(rejoins.topic_changed_before, STRONG),
        speaks_against(rejoins.partitions_grew, STRONG),
        speaks_against(rejoins.took_the_lead, STRONG),
    ),
    lookalikes=("topic-metadata-change", "enforced-rebalance"),
    kips=("KIP-429", "KIP-800"),
)


class SubscriptionChange(Struct, frozen=True):
    """A member with a changed subscription: its lines and facts, and the `topics` that it alone was assigned."""

    participant: Participant
    shown: Literal["logged", "perhaps-a-pattern", "subscribed-again", "taken-up", "wordless"]
    lines: tuple[Event, ...]
    facts: tuple[Request | Rebalance, ...]
    topics: tuple[str, ...] = ()

    def in_words(self, timeline: Timeline) -> str:
        """The change, as far as the logs show it."""
        if self.topics:
            return f"was the only member assigned {', '.join(self.topics)} afterwards"
        if self.shown == "wordless":
            return "rejoined, and no reason was logged: it may have changed its subscription"
        if self.shown == "perhaps-a-pattern":
            return "changed its subscription, or reads a pattern of topics that matches others now"
        return f"changed its subscription{self._from_to(timeline)}"

    def _from_to(self, timeline: Timeline) -> str:
        """` from orders to orders, returns`, where a line names both, or the process subscribed twice."""
        for event in self.lines:
            if isinstance(event, JoinRequested) and event.before is not None and event.after is not None:
                return f" from {_topics(event.before)} to {_topics(event.after)}"
        at = time_of(self.lines[0])
        for participant, event in resubscriptions(timeline):
            if participant is self.participant and abs(time_of(event) - at) < AT_ONCE_MS:
                before = timeline.events_from(participant, Subscribed).last(time_of(event) - 1)
                if before is not None and before.topics and isinstance(event, Subscribed) and event.topics:
                    return f" from {', '.join(sorted(before.topics))} to {', '.join(sorted(event.topics))}"
        return ""

    def rebalances(self, timeline: Timeline) -> tuple[Rebalance, ...]:
        """The rebalances that the change requested; where no request is known, those right after."""
        at = time_of(self.lines[0])
        if self.facts:
            return touched(timeline, self.facts)
        return tuple(timeline.rebalances.between(at, at + AT_ONCE_MS - 1))


def _topics(printed: str) -> str:
    """Topics as a client prints a set of them, `[returns, orders]`, in order."""
    return ", ".join(sorted(filter(None, re.split(r"[\[\], ]+", printed)))) or "no topic"


def subscription_changes(timeline: Timeline) -> Iterator[SubscriptionChange]:
    """Members that logged it, subscribed again, alone got new topics, or rejoined without a reason."""
    logged = [
        r for r in timeline.requests if r.why == "subscription-changed" and topics_under_pattern(timeline, r) is None
    ]
    for request in logged:
        if request.participant is not None:
            maybe_pattern = _new_topics_uncovered(timeline, request)
            shown: Literal["logged", "perhaps-a-pattern"] = "perhaps-a-pattern" if maybe_pattern else "logged"
            yield SubscriptionChange(request.participant, shown, request.events, (request,))
    yield from _resubscribed(timeline, TimeIndex(r for r in logged if r.participant is not None))
    for growth in new_partitions(timeline):
        if growth.taken_up_by is not None:
            lines, topics = tuple(growth.lines), tuple(growth.topics)
            yield SubscriptionChange(growth.taken_up_by, "taken-up", lines, (growth.rebalance,), topics)
    for request in rejoins_without_reason(timeline) if timeline.kind == "consumer" else ():
        if request.participant is not None:
            yield SubscriptionChange(request.participant, "wordless", request.events, (request,))


def _new_topics_uncovered(timeline: Timeline, request: Request) -> bool:
    """True if a member may read a pattern and the brokers' logs may lack a new topic that it matches."""
    at = request.at
    if timeline.events_from(request.participant, Subscribed).last(at) is not None or subscribed_topics(timeline):
        return False
    return not logs_of_topic_changes(timeline, at - ONE_REBALANCE_MS, at)


def _resubscribed(timeline: Timeline, asked: TimeIndex[Request]) -> Iterator[SubscriptionChange]:
    """Processes that subscribed to other topics without logging that as the reason to rejoin."""
    for participant, event in resubscriptions(timeline):
        at = time_of(event)
        if not asked.of(participant).any_between(at - AT_ONCE_MS + 1, at + AT_ONCE_MS - 1):
            near = timeline.requests.of(participant).between(at, at + AT_ONCE_MS - 1)
            lines = (event, *(e for r in near for e in r.events))
            yield SubscriptionChange(participant, "subscribed-again", lines, tuple(near[:1]))


def subscription_before(timeline: Timeline, participant: Participant, at: int) -> tuple[Event, ...]:
    """Its last subscription before a rejoin."""
    before = timeline.events_from(participant, Subscribed).last(at)
    return (before,) if before is not None else ()
