"""Requests for a rebalance by members, merged from clients' lines and the coordinator's reasons."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.events.rebalances import JoinRequested, RebalanceStarted
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.facts import Request, RequestWhy, numbered
from rebalance_forensics.timeline.identity.participants import Participants
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS

_OWN_WISH: dict[str, RequestWhy] = {
    "metadata-changed": "metadata-changed",
    "subscription-changed": "subscription-changed",
    "assignment-mismatch": "subscription-changed",
    "enforced": "enforced",
    "followup": "followup",
    "revoke-partitions": "revoke-partitions",
    "shutdown-requested": "shutdown-requested",
    "other": "other",
}
_COORDINATOR: dict[str, RequestWhy] = {
    "member-rejoined": "member-rejoined",
    "leader-rejoined": "leader-rejoined",
    "static-member-changed": "static-member-changed",
    "assignment-not-stored": "assignment-not-stored",
    "over-capacity": "over-capacity",
    "downgrade": "downgrade",
    "other": "other",
}
# As the Java client, franz-go (twice) and Sarama word it.
_MORE_PARTITIONS = (
    "cached metadata has changed",
    "topics have new partitions",
    "partitions on topics another member is consuming have changed",
    "partitions were added to a subscribed topic",
)
# A member that subscribes anew during a rebalance rejoins after it for another assignment (ConsumerCoordinator).
_ANOTHER_SUBSCRIPTION = ("subscription has changed", "does not match the current subscription")


def requests_of(participants: Participants, events: EventIndex) -> tuple[Request, ...]:
    """All requests, oldest first; the coordinator's line joins the client's that it answers."""
    found: list[Request] = []
    for event in events.of_type(JoinRequested, RebalanceStarted):
        if event.at is None or event.group is None:
            continue
        if isinstance(event, JoinRequested) and event.why in _OWN_WISH:
            found.append(
                Request(participants.of_speaker(event), event.at, _OWN_WISH[event.why], (event,), event.reason)
            )
        elif isinstance(event, RebalanceStarted) and event.trigger in _COORDINATOR:
            _answered(found, participants, event)
    return numbered("request", sorted(found, key=lambda r: r.at))


def _answered(found: list[Request], participants: Participants, event: RebalanceStarted) -> None:
    participant = participants.of_member(event.members[0]) if event.members else None
    why = why_in(event.client_reason) or _COORDINATOR[event.trigger or "other"]
    assert event.at is not None
    for place in range(len(found) - 1, -1, -1):
        request = found[place]
        if abs(event.at - request.at) > NEXT_HEARTBEAT_MS:
            break
        if (
            participant is not None
            and request.participant is participant
            and not any(isinstance(e, RebalanceStarted) for e in request.events)
        ):
            found[place] = replace(request, events=(*request.events, event))
            return
    found.append(Request(participant, event.at, why, (event,), event.client_reason or event.reason))


def why_in(client_reason: str | None) -> RequestWhy | None:
    """The kind of request in a KIP-800 reason; None for `not provided` and for answers to a rebalance under way."""
    text = (client_reason or "").lower()
    if any(words in text for words in _MORE_PARTITIONS):
        return "metadata-changed"
    if any(words in text for words in _ANOTHER_SUBSCRIPTION):
        return "subscription-changed"
    if "need to revoke partitions" in text or "after revoking what we lost" in text:
        return "revoke-partitions"
    if "followup rebalance" in text or "probing rebalance" in text:
        return "followup"
    if "shutdown requested" in text:
        return "shutdown-requested"
    if "enforced" in text:
        return "enforced"
    return None
