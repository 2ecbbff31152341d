"""What shows that an application asked for a rebalance: only the search for enforced rejoins can answer."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.rebalances.enforced_rejoins import EnforcedRejoin
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated

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
