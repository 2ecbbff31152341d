"""Coordinators that clients give up because of what they answered: who answers as the coordinator still is it.

kafka-python 3.0 gives up its coordinator after every error in its answer to a heartbeat, that of an ordinary rebalance
included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.rebalances import HeartbeatFailed

_ANSWERS = {
    "RebalanceInProgress": "REBALANCE_IN_PROGRESS",
    "IllegalGeneration": "ILLEGAL_GENERATION",
    "UnknownMemberId": "UNKNOWN_MEMBER_ID",
    "FencedInstanceId": "FENCED_INSTANCE_ID",
}
"""What only a group's own coordinator answers to a member, as exceptions are called, and by its name in Errors."""
_ANSWER = re.compile("|".join(_ANSWERS))


def with_answers(events: Iterable[Event]) -> list[Event]:
    """The same events; a coordinator that was given up for its own answer becomes that answer."""
    return [_answered(event) if isinstance(event, CoordinatorLost) else event for event in events]


def _answered(lost: CoordinatorLost) -> Event:
    told = _ANSWER.search(lost.cause or "")
    if told is None:
        return lost
    return HeartbeatFailed(**in_common(lost), error=_ANSWERS[told[0]])
