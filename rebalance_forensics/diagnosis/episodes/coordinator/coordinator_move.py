"""One move of a group's coordinator, and the kind of line that shows it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import BrokerStarted, BrokerStopped

ShownBy = Literal["load", "losses", "answer", "refusal", "refusals", "another", "unload", "succession", "nothing"]
"""The evidence for a move.

`load`: a broker loads the group. `losses`: most members lose their coordinator. `answer`: a broker answers a member
with NOT_COORDINATOR. `another`: a member finds another coordinator. `refusal`, `refusals`: NOT_COORDINATOR for a client
that may not have joined yet, once or at every attempt to join or commit. `unload`: the former coordinator unloads the
group or restarts. `succession`: another broker logs for the group. `nothing`: a broker restart that did not concern the
group.
"""


UNNAMED = "another broker"
"""The former coordinator where no line names it."""


class CoordinatorMove(Struct, frozen=True):
    """The broker that lost the group, or kept its coordinator from serving it, and the lines that show it."""

    at: int
    broker: str
    events: tuple[Event, ...]
    shown_by: ShownBy
    until: int
    served_by: str | None = None
    """The coordinator that ran on and could not serve the group while `broker` was out."""


def affected_broker(event: Event) -> int | None:
    """The broker that stopped, started or unloaded; a controller logs this about other brokers."""
    named = event.broker if isinstance(event, BrokerStopped | BrokerStarted) else None
    return named if named is not None else event.speaker.broker
