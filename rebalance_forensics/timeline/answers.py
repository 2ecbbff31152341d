"""The coordinator's response to a client, whether the client logs an error code or an exception."""

from __future__ import annotations

import re

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event

# The message of Errors.UNKNOWN_SERVER_ERROR.
_UNEXPECTED = "The server experienced an unexpected error when processing the request"
# The response for which a client gave up its coordinator: by name or exception, or in the wording of Java, librdkafka,
# kafka-go and Sarama.
_GIVEN_UP_FOR = {
    "NOT_COORDINATOR": "(?i:not[ _]?coordinator|not the correct coordinator|not coordinated by this broker)",
    "REQUEST_TIMED_OUT": "error response REQUEST_TIMED_OUT",
    "REBALANCE_IN_PROGRESS": "RebalanceInProgress",
    "ILLEGAL_GENERATION": "IllegalGeneration",
    "UNKNOWN_MEMBER_ID": "UnknownMemberId",
    "FENCED_INSTANCE_ID": "FencedInstanceId",
}
# The response to FindCoordinator while the group's partition of `__consumer_offsets` has no leader: the name given by
# the pattern if the client's message has no error code, or the client's wording. If a coordinator sends this error to a
# member, which clients log as an `error response`, there is a coordinator.
_NO_COORDINATOR = re.compile(
    r"not available\Z|(?i:COORDINATOR_NOT_AVAILABLE|co[or]r?dinator(?: is)? not available|CoordinatorNotAvailable)"
)
_OF_A_LOSS = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _GIVEN_UP_FOR.items()))


def error_of(event: Event) -> str | None:
    """The name in Errors of the error in a line, or None; for exceptions, only those that are thrown in members."""
    if isinstance(event, ev.CoordinatorLost):
        answer = _OF_A_LOSS.search(event.cause or "")
        return answer.lastgroup if answer is not None else None
    error: str | None = getattr(event, "error", None)
    return error


def found_no_coordinator(event: ev.CoordinatorLost) -> bool:
    """True if FindCoordinator failed because the group has no coordinator."""
    cause = event.cause or ""
    return event.coordinator is None and not cause.startswith("error response") and bool(_NO_COORDINATOR.search(cause))


def failed_request(event: Event) -> tuple[str, str] | None:
    """The failed request and the coordinator's error message in an exception of a Java client, or None."""
    if not isinstance(event, ev.ExceptionLogged) or event.request is None:
        return None
    return event.request, event.answer or ""


def sync_error(event: Event) -> str | None:
    """The error of a failed SyncGroup, from the response or from the exception of a Java client, or None."""
    if isinstance(event, ev.SyncFailed):
        return event.error
    return "UNKNOWN_SERVER_ERROR" if failed_request(event) == ("SyncGroup", _UNEXPECTED) else None


def denied_resource(event: Event) -> tuple[str, tuple[str, ...]]:
    """The type of the resource that a client was denied ("group", "topic" or "unknown") and the names in the line."""
    if isinstance(event, ev.AuthorizationFailed | ev.ExceptionLogged):
        return event.resource, event.names
    return "unknown", ()
