"""Facts about a group, merged from both sides' lines: departures, arrivals, starts, stops, requests, rebalances.

They are immutable. Each has an id (`departure-17`), numbered in time order; a fact outside a timeline has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.identity.participants import Participant

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
    "died",
    "vanished",
    "left",
]
"""How a member left. `expelled`: its own log has the coordinator's answer that it is no member; `died`: its log shows
the end of the process; `vanished`: only its absence shows it; `left`: LeaveGroup without a reason."""

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


class Departure(Struct, frozen=True, eq=False):
    """A member left or was removed; `at` is when the group lost it, by the coordinator's line before the client's."""

    participant: Participant
    member: str | None
    at: int
    why: DepartureWhy = "left"
    events: tuple[Event, ...] = ()
    returned: Arrival | None = None
    reason: str | None = None
    stayed: bool = False
    """Logged by a broker that no longer coordinated the group: the member went on with its successor."""
    id: str = ""


class Arrival(Struct, frozen=True, eq=False):
    """A member joined. `first`: its participant was not a member before; `start`: the start of its process."""

    participant: Participant
    member: str | None
    at: int
    events: tuple[Event, ...] = ()
    first: bool = True
    after: str | None = None
    """The id of the departure that it ends."""
    start: Start | None = None
    while_empty: bool = False
    id: str = ""


class Start(Struct, frozen=True, eq=False):
    """A process (or a new consumer object in it) started."""

    participant: Participant
    at: int
    events: tuple[Event, ...] = ()
    id: str = ""


class Stop(Struct, frozen=True, eq=False):
    """A client closed, by its own log."""

    participant: Participant
    at: int
    events: tuple[Event, ...] = ()
    id: str = ""


class StaticReturn(Struct, frozen=True, eq=False):
    """A static member came back in time under a new member id; the group did not rebalance."""

    participant: Participant
    at: int
    events: tuple[Event, ...] = ()
    id: str = ""


class Request(Struct, frozen=True, eq=False):
    """A member of the group asked for a rebalance."""

    participant: Participant | None
    at: int
    why: RequestWhy
    events: tuple[Event, ...] = ()
    reason: str | None = None
    id: str = ""


class Rebalance(Struct, frozen=True, eq=False):
    """A rebalance from its begin to the assignment; `generation` is None where none was reached."""

    generation: int | None
    started_at: int
    stabilized_at: int | None = None
    completed_at: int | None = None
    events: tuple[Event, ...] = ()
    joined_at: Mapping[Participant, int] = field(default_factory=dict)
    """When each member with a log sent its last JoinGroup of this rebalance."""
    failures: tuple[Event, ...] = ()
    trigger: str | None = None
    followup: str | None = None
    id: str = ""

    def ended_at(self) -> int:
        """Its last known time."""
        return self.completed_at or self.stabilized_at or self.started_at


Fact = Departure | Arrival | Request | StaticReturn | Stop | Rebalance
F = TypeVar("F", Start, Stop, StaticReturn, Request, Rebalance)


def numbered(name: str, facts: Iterable[F]) -> tuple[F, ...]:
    """The facts, each with its id: the name of their kind and their number in the order given."""
    return tuple(replace(fact, id=f"{name}-{number}") for number, fact in enumerate(facts, 1))


def fact_at(fact: Fact) -> int:
    """When a fact happened."""
    return fact.started_at if isinstance(fact, Rebalance) else fact.at


def fact_ended_at(fact: Fact) -> int:
    """When a fact was over."""
    return fact.ended_at() if isinstance(fact, Rebalance) else fact.at
