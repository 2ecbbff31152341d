"""The coordinator's response to a client, whether the client logs an error code or an exception."""

from __future__ import annotations

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event

# The message of Errors.UNKNOWN_SERVER_ERROR.
_UNEXPECTED = "The server experienced an unexpected error when processing the request"


def error_of(event: Event) -> str | None:
    """The name in Errors of the error in a line, or None; for exceptions, only those that are thrown in members."""
    if isinstance(event, ev.CoordinatorLost):
        return event.answer
    error: str | None = getattr(event, "error", None)
    return error


def found_no_coordinator(event: ev.CoordinatorLost) -> bool:
    """True if FindCoordinator failed because the group has no coordinator."""
    return event.coordinator is None and event.none_elected


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
