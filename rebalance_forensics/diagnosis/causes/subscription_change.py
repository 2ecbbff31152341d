"""A member changed its topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.members.circumstances import subscription_before
from rebalance_forensics.diagnosis.episodes.topics.subscription_changes import (
    SUBSCRIBING,
    SubscriptionChange,
    subscription_changes,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline

REASON_LOGGED = stated("changed-subscription-logged", present="the member's log, or its reason to rejoin, says so")
PERHAPS_A_PATTERN = stated(
    "perhaps-a-pattern",
    present="its reason to rejoin says so; these logs do not show whether it reads a pattern, and a topic was made",
)
SUBSCRIBED_AGAIN = stated("subscribed-again", present="the same process subscribed to other topics")
TAKEN_UP = stated("topic-taken-up", present="one member alone was assigned topics that nobody had before")

HOW: Mapping[str, Sign] = {
    "logged": REASON_LOGGED,
    "perhaps-a-pattern": PERHAPS_A_PATTERN,
    "subscribed-again": SUBSCRIBED_AGAIN,
    "taken-up": TAKEN_UP,
}


def shown_by(change: SubscriptionChange) -> dict[Sign, Answer]:
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
            answers=shown_by(change),
            participants=(change.participant,),
            severity="info",
            onset=next((f.started_at for f in change.facts if isinstance(f, Rebalance)), None),
            implies=(*change.facts, *rebalances),
            explains=change.facts or rebalances,
            narrative=f"{culprits[0].name} {change.in_words}.",
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
        speaks_for(REASON_LOGGED, DECISIVE + WEAK),
        speaks_for(PERHAPS_A_PATTERN, WEAK),
        speaks_for(SUBSCRIBED_AGAIN, STRONG),
        speaks_for(TAKEN_UP, STRONG),
        speaks_for(rejoins.subscription_logged, STRONG, absent=STRONG),
        speaks_against(rejoins.topic_changed_before, STRONG),
        speaks_against(rejoins.partitions_grew, STRONG),
        speaks_against(rejoins.took_the_lead, STRONG),
    ),
    lookalikes=("topic-metadata-change", "enforced-rebalance"),
    kips=("KIP-429", "KIP-800"),
)
