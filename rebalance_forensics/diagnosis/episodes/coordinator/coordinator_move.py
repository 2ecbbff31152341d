"""One move of the coordinator, and how it shows."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import BrokerStarted, BrokerStopped

ShownBy = Literal["load", "losses", "answer", "refusal", "refusals", "another", "unload", "succession", "nothing"]
"""A broker that loads the group, most members that lose their coordinator, or of one of them a broker's answer or the
other coordinator that it then found; the refusal of a client that may not have joined yet, or refusals of every attempt
to join or commit; the former coordinator, which unloads the group or is restarted; two brokers that spoke for it one
after the other."""


UNNAMED = "another broker"
"""A former coordinator that no line names."""


class CoordinatorMove(Struct, frozen=True):
    """The coordinator that let go, the lines that show it, and whose they are."""

    at: int
    broker: str
    events: tuple[Event, ...]
    shown_by: ShownBy
    until: int


def affected_broker(event: Event) -> int | None:
    """The broker that stopped, started or let go: the one that is named, a controller tells of others."""
    named = event.broker if isinstance(event, BrokerStopped | BrokerStarted) else None
    return named if named is not None else event.speaker.broker
