"""The application asked for a rebalance (Consumer.enforceRebalance, KIP-568, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.rebalances.enforced_rejoins import (
    REJOINING,
    EnforcedRejoin,
    enforced_rejoins,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.narratives import request_in_words
from rebalance_forensics.timeline.group_timeline import Timeline

ENFORCED_LOGGED = stated("enforced-logged", present="the reason to rejoin says that the application enforced it")
OWN_WORDS = stated("own-words", present="the reason to rejoin is the application's own text; no Kafka client writes it")
REJOINED_IN_VAIN = stated(
    "rejoined-in-vain", present="it rejoined for no visible reason and got the assignment it already had"
)
NO_OTHER_REASON = stated(
    "no-other-reason", present="its release logs every other reason to rejoin, and it rejoined first without one"
)

HOW: Mapping[str, Sign] = {
    "logged": ENFORCED_LOGGED,
    "own-words": OWN_WORDS,
    "in-vain": REJOINED_IN_VAIN,
    "no-other-reason": NO_OTHER_REASON,
}


def shown_by(rejoin: EnforcedRejoin) -> dict[Sign, Answer]:
    """By what it shows; a rejoin without a reason shows nothing."""
    return {HOW[rejoin.shown]: Present(distinct_events(rejoin.lines))} if rejoin.shown in HOW else {}


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that enforced a rebalance, gave a reason of their own for one, or rejoined without any."""
    for rejoin in enforced_rejoins(timeline):
        culprits = culprits_of(timeline, [rejoin.participant])
        yield Hypothesis(
            because=rejoin.lines,
            culprits=culprits,
            answers=shown_by(rejoin),
            participants=(rejoin.participant,),
            severity="info",
            implies=with_rebalances(timeline, rejoin.facts),
            explains=rejoin.facts,
            narrative=f"The application of {culprits[0].name} {request_in_words(rejoin)}.",
        )


CAUSE = Cause(
    summary="The application itself asked for a rebalance.",
    mechanism=(
        "enforceRebalance() makes the member send JoinGroup although nothing changed; the coordinator "
        "rebalances if the member is the leader or its metadata differs."
    ),
    shows="'rebalance enforced by user', or the text the application gave.",
    remedy="Ask the application's owners why; a periodic call is rarely needed.",
    usual="planned",
    propose=propose,
    evidence_types=REJOINING,
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
