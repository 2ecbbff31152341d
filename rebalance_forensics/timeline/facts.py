"""What happened to the group, fused from both sides: departures, arrivals, starts, stops, requests, rebalances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.actors import Actor

DepartureWhy = Literal[
    "poll-timeout",
    "unsubscribed",
    "closed",
    "session-expired",
    "rebalance-timeout",
    "sync-timeout",
    "revocation-timeout",
    "fenced",
    "removed-by-admin",
    "expelled",
    "vanished",
    "left",
]
"""How a member went. `expelled`: its own log says it was no longer a member; `vanished`: only its absence
tells; `left`: LeaveGroup without a word why."""

RequestWhy = Literal[
    "metadata-changed",
    "subscription-changed",
    "enforced",
    "followup",
    "revoke-partitions",
    "shutdown-requested",
    "member-rejoined",
    "leader-rejoined",
    "static-member-changed",
    "assignment-not-stored",
    "over-capacity",
    "downgrade",
    "other",
]


@dataclass(slots=True, eq=False)
class Departure:
    """A member is gone. `at` is when the group lost it (the coordinator's word before the client's)."""

    actor: Actor
    member: str | None
    at: int
    why: DepartureWhy = "left"
    events: list[Event] = field(default_factory=list)
    returned: Arrival | None = None
    reason: str | None = None


@dataclass(slots=True, eq=False)
class Arrival:
    """A member came. `first`: its actor was never seen before; `start`: the process start behind it."""

    actor: Actor
    member: str | None
    at: int
    events: list[Event] = field(default_factory=list)
    first: bool = True
    after: Departure | None = None
    start: Start | None = None
    while_empty: bool = False


@dataclass(slots=True, eq=False)
class Start:
    """A process (or a new consumer object in it) started."""

    actor: Actor
    at: int
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Stop:
    """A client said in its own log that it is closing."""

    actor: Actor
    at: int
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class StaticReturn:
    """A static member came back in time under a new member id; the group did not rebalance."""

    actor: Actor
    at: int
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Request:
    """A member of the group asked for a rebalance."""

    actor: Actor | None
    at: int
    why: RequestWhy
    events: list[Event] = field(default_factory=list)
    reason: str | None = None


@dataclass(slots=True, eq=False)
class Rebalance:
    """From the first word of a rebalance to the assignment. `generation` is None while none was reached."""

    generation: int | None
    started_at: int
    stabilized_at: int | None = None
    completed_at: int | None = None
    events: list[Event] = field(default_factory=list)
    joined_at: dict[Actor, int] = field(default_factory=dict)
    """When each member with a log sent its last JoinGroup of this rebalance."""
    failures: list[Event] = field(default_factory=list)
    trigger: str | None = None
    followup: str | None = None

    def ended_at(self) -> int:
        """The last known instant of it."""
        return self.completed_at or self.stabilized_at or self.started_at


Fact = Departure | Arrival | Request | StaticReturn | Stop | Rebalance


def fact_at(fact: Fact) -> int:
    """When a fact happened."""
    return fact.started_at if isinstance(fact, Rebalance) else fact.at


def fact_ended_at(fact: Fact) -> int:
    """When a fact was over."""
    return fact.ended_at() if isinstance(fact, Rebalance) else fact.at
