"""The facts in the text for which a client gave up its coordinator, in the wording of all clients."""

from __future__ import annotations

import re

from rebalance_forensics.catalog.fields import FieldValue

# The response of a broker: by name or exception, or in the wording of Java, librdkafka, kafka-go and Sarama.
_ANSWERS = {
    "NOT_COORDINATOR": "(?i:not[ _]?coordinator|not the correct coordinator|not coordinated by this broker)",
    "REQUEST_TIMED_OUT": "error response REQUEST_TIMED_OUT",
    "REBALANCE_IN_PROGRESS": "RebalanceInProgress",
    "ILLEGAL_GENERATION": "IllegalGeneration",
    "UNKNOWN_MEMBER_ID": "UnknownMemberId",
    "FENCED_INSTANCE_ID": "FencedInstanceId",
}
_ANSWER = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _ANSWERS.items()))
# The response to FindCoordinator while the group's partition of `__consumer_offsets` has no leader: the name given by
# the pattern if the client's message has no error code, or the client's wording. If a coordinator sends this error to a
# member, which clients log as an `error response`, there is a coordinator.
_NO_COORDINATOR = re.compile(
    r"not available\Z|(?i:COORDINATOR_NOT_AVAILABLE|co[or]r?dinator(?: is)? not available|CoordinatorNotAvailable)"
)
# librdkafka's last error before its session ended.
_UNANSWERED = ("transport failure", "Timed out")
# The coordinator's host is reachable, but no process listens there: ECONNREFUSED in the words of any client.
_REFUSED = re.compile(r"connection refused|ECONNREFUSED", re.IGNORECASE)


def is_refused(text: str) -> bool:
    """True if a host refused a connection."""
    return _REFUSED.search(text) is not None


def loss_facts(cause: str) -> dict[str, FieldValue]:
    """The fields of a CoordinatorLost that its cause contains."""
    answer = _ANSWER.search(cause)
    return {
        "answer": answer.lastgroup if answer is not None else None,
        "none_elected": not cause.startswith("error response") and _NO_COORDINATOR.search(cause) is not None,
        "connection_refused": is_refused(cause),
        "unanswered": any(words in cause for words in _UNANSWERED),
        "session_expired": "session timed out" in cause,
    }
