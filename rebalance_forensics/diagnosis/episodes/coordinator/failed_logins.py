"""Clients whose credentials the brokers did not accept, and what they were told.

The client does not hide an AuthenticationException: poll() throws it to the application (ConsumerNetworkClient).
"""

from __future__ import annotations

from collections import defaultdict

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import NodeDisconnected
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

_THROWN = ("SaslAuthenticationException", "SslAuthenticationException", "AuthenticationException")


def failed_logins(timeline: Timeline) -> dict[Participant, list[Event]]:
    """The lines of each client that say so."""
    found: dict[Participant, list[Event]] = defaultdict(list)
    for event in timeline.of(NodeDisconnected, ExceptionLogged):
        participant = timeline.participants.of_speaker(event)
        if participant is not None and _is_refused(event):
            found[participant].append(event)
    return dict(found)


def words_of_refusal(events: list[Event]) -> str | None:
    """What the brokers answered, as the client prints it."""
    answers = (e.answer for e in events if isinstance(e, NodeDisconnected))
    thrown = (e.detail for e in events if isinstance(e, ExceptionLogged))
    return next((said.partition("\n")[0].rstrip(". ") for said in (*answers, *thrown) if said), None)


def _is_refused(event: Event) -> bool:
    if isinstance(event, NodeDisconnected):
        return event.cause == "authentication failed"
    return isinstance(event, ExceptionLogged) and (event.exception or "").rpartition(".")[2] in _THROWN
