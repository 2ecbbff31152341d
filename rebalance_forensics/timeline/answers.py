"""What a coordinator answered, whichever way a client logs it: as an error code, or as the exception that it throws."""

from __future__ import annotations

import re

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event

# Exceptions that only a member of a group, or a client that joins one, is thrown (org.apache.kafka.common.errors,
# org.apache.kafka.clients.consumer), by their names in Errors; CommitFailedException stands for several.
_THROWN_AT_MEMBERS = {
    "CommitFailedException": "CommitFailedException",
    "FencedInstanceIdException": "FENCED_INSTANCE_ID",
    "GroupAuthorizationException": "GROUP_AUTHORIZATION_FAILED",
    "GroupMaxSizeReachedException": "GROUP_MAX_SIZE_REACHED",
    "InconsistentGroupProtocolException": "INCONSISTENT_GROUP_PROTOCOL",
}
_OF_A_MEMBER = re.compile(rf"\b(?:{'|'.join(_THROWN_AT_MEMBERS)})\b")
# KafkaException of a request that failed for good (AbstractCoordinator's response handlers, ConsumerCoordinator);
# Logstash prints `:backtrace=>` behind it.
_OF_A_REQUEST = re.compile(
    r"Unexpected error (?P<request>in join group response|from SyncGroup|in heartbeat response|in commit): "
    r"(?P<error>[^:\n]*?)(?=, :|[:\n]|$)"
)
_REQUESTS = {
    "in join group response": "JoinGroup",
    "from SyncGroup": "SyncGroup",
    "in heartbeat response": "Heartbeat",
    "in commit": "OffsetCommit",
}
# Errors.UNKNOWN_SERVER_ERROR in words.
_UNEXPECTED = "The server experienced an unexpected error when processing the request"
# For which answer a client gave up its coordinator, by name or exception, or in the words of Java, librdkafka, kafka-go
# and Sarama.
_GIVEN_UP_FOR = {
    "NOT_COORDINATOR": "(?i:not[ _]?coordinator|not the correct coordinator|not coordinated by this broker)",
    "REQUEST_TIMED_OUT": "error response REQUEST_TIMED_OUT",
    "REBALANCE_IN_PROGRESS": "RebalanceInProgress",
    "ILLEGAL_GENERATION": "IllegalGeneration",
    "UNKNOWN_MEMBER_ID": "UnknownMemberId",
    "FENCED_INSTANCE_ID": "FencedInstanceId",
}
# What brokers answer a search for the coordinator while the group's partition of `__consumer_offsets` has no leader: as
# patterns name it where the client's words hold no error, or in those words. A coordinator that answers a member so,
# which clients log as an `error response`, is there.
_NO_COORDINATOR = re.compile(
    r"not available\Z|(?i:COORDINATOR_NOT_AVAILABLE|co[or]r?dinator(?: is)? not available|CoordinatorNotAvailable)"
)
# GroupAuthorizationException, and since 0.9 TopicAuthorizationException.
_DENIED = re.compile(r"Not authorized to access (?:group: (?P<group>\S+)|topics: \[(?P<topics>[^\]\n]{1,1000})\])")
_OF_A_LOSS = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _GIVEN_UP_FOR.items()))


def error_of(event: Event) -> str | None:
    """The name in Errors of what a line reports; of an exception only where nobody but members is thrown it."""
    if isinstance(event, ev.CoordinatorLost):
        answer = _OF_A_LOSS.search(event.cause or "")
        return answer.lastgroup if answer is not None else None
    if isinstance(event, ev.ExceptionLogged):
        thrown = _OF_A_MEMBER.search(f"{event.exception} {event.detail}")
        return _THROWN_AT_MEMBERS[thrown[0]] if thrown is not None else None
    error: str | None = getattr(event, "error", None)
    return error


def found_no_coordinator(event: ev.CoordinatorLost) -> bool:
    """True for the answer to a search that the group has no coordinator."""
    cause = event.cause or ""
    return event.coordinator is None and not cause.startswith("error response") and bool(_NO_COORDINATOR.search(cause))


def failed_request(event: Event) -> tuple[str, str] | None:
    """The request in the exception that a Java client throws, and the coordinator's error in words."""
    found = _OF_A_REQUEST.search(event.detail or "") if isinstance(event, ev.ExceptionLogged) else None
    return (_REQUESTS[found["request"]], found["error"].rstrip(". ")) if found is not None else None


def sync_error(event: Event) -> str | None:
    """The error with which SyncGroup failed, as a response or as the exception that a Java client throws."""
    if isinstance(event, ev.SyncFailed):
        return event.error
    return "UNKNOWN_SERVER_ERROR" if failed_request(event) == ("SyncGroup", _UNEXPECTED) else None


def denied_resource(event: Event) -> tuple[str, tuple[str, ...]]:
    """What a client was denied, a group or topics, and their names, as far as the line tells."""
    if isinstance(event, ev.AuthorizationFailed):
        return event.resource, event.names
    found = _DENIED.search(event.detail or "") if isinstance(event, ev.ExceptionLogged) else None
    if found is None:
        return "unknown", ()
    topics = found["topics"]
    return ("group", (found["group"],)) if topics is None else ("topic", tuple(map(str.strip, topics.split(","))))
