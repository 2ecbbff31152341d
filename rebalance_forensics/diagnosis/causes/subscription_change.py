"""A member changed its topics."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.circumstances import subscriptions_around
from rebalance_forensics.diagnosis.episodes.topics.subscription_changes import SUBSCRIBING, subscription_changes
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.signs import subscription_changes as changes
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that said so, subscribed anew, alone got topics nobody had, or rejoined without a reason."""
    for change in subscription_changes(timeline):
        culprits, rebalances = culprits_of(timeline, [change.participant]), change.rebalances(timeline)
        yield Hypothesis(
            because=change.lines,
            circumstances=subscriptions_around(timeline, change.participant, time_of(change.lines[0])),
            culprits=culprits,
            answers=changes.shown_by(change),
            participants=(change.participant,),
            severity="info",
            onset=next((f.started_at for f in change.facts if isinstance(f, Rebalance)), None),
            brings=(*change.facts, *rebalances),
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
    told_by=SUBSCRIBING,
    signs=(
        speaks_for(changes.REASON_LOGGED, DECISIVE + WEAK),
        speaks_for(changes.PERHAPS_A_PATTERN, WEAK),
        speaks_for(changes.SUBSCRIBED_AGAIN, STRONG),
        speaks_for(changes.TAKEN_UP, STRONG),
        speaks_for(rejoins.subscription_logged, STRONG, absent=STRONG),
        speaks_against(rejoins.topic_changed_before, STRONG),
        speaks_against(rejoins.partitions_grew, STRONG),
        speaks_against(rejoins.took_the_lead, STRONG),
    ),
    lookalikes=("topic-metadata-change", "enforced-rebalance"),
    kips=("KIP-429", "KIP-800"),
)
