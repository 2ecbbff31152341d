"""What shows that a member changed its topics: only the search for changed subscriptions can answer."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.topics.subscription_changes import SubscriptionChange
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated

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
