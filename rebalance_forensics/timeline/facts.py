"""Facts about a group, merged from both sides' lines: departures, arrivals, starts, stops, requests, rebalances.

They are immutable: only the membership replay amends a transition, before its table is complete. Each has an id
(`departure-17`), numbered in time order; a fact outside a timeline has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

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


State = Literal["unknown", "out", "in"]
Silent = Literal[
    "shown-in-group",
    "not-assigned",
    "assigned",
    "restarted",
    "group-emptied",
    "missed-rebalance",
    "partitions-taken-over",
    "process-ended",
    "counted-again",
    "id-issued",
]
"""The rule that infers a transition which must have happened and which no line reports; `membership/silent.py` and
`membership/recording.py` give the reason beside each."""


class Transition(Struct, frozen=True, eq=False):
    """A member went into the group or out of it."""

    participant: Participant
    member: str | None
    """Its member id, or a `placeholder_id` where no line prints one."""
    at: int
    events: tuple[Event, ...] = ()
    silent: Silent | None = None
    """None where a line reports the transition itself."""
    id: str = ""
    before: ClassVar[State] = "unknown"
    after: ClassVar[State] = "in"


class Sighting(Transition, frozen=True, eq=False):
    """A line first shows a member whose arrival was not logged: it joined before the logs begin, or unseen."""


class Departure(Transition, frozen=True, eq=False):
    """A member left or was removed; `at` is when the group lost it, by the coordinator's line before the client's."""

    why: DepartureWhy = "left"
    returned: Arrival | None = None
    reason: str | None = None
    stayed: bool = False
    """Logged by a broker that no longer coordinated the group: the member went on with its successor."""
    before: ClassVar[State] = "in"
    after: ClassVar[State] = "out"


class Arrival(Transition, frozen=True, eq=False):
    """A member joined. `first`: its participant was not a member before; `start`: the start of its process."""

    first: bool = True
    ends: Departure | None = None
    """The departure that it ends."""
    start: Start | None = None
    while_empty: bool = False
    before: ClassVar[State] = "out"


class StaticReturn(Transition, frozen=True, eq=False):
    """A static member came back in time under a new member id; the group did not rebalance."""

    before: ClassVar[State] = "in"


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
    join_sent_at: Mapping[Participant, int] = field(default_factory=dict)
    """When each member with a log sent its last JoinGroup of this rebalance; join_barriers.py reads it."""
    failures: tuple[Event, ...] = ()
    trigger: str | None = None
    followup: str | None = None
    id: str = ""

    @property
    def created_at(self) -> int | None:
        """When its generation was created, or completed where nothing else is logged; None without one."""
        return self.stabilized_at or self.completed_at

    def barrier_end(self) -> int:
        """When the coordinator completed the join phase; without that line, when the rebalance ended."""
        return self.stabilized_at or self.ended_at()

    def ended_at(self) -> int:
        """Its last known time."""
        return self.completed_at or self.stabilized_at or self.started_at


Fact = Departure | Arrival | Request | StaticReturn | Stop | Rebalance


def amend(transition: Transition, **shown: object) -> None:
    """Write what a later line shows into a transition."""
    # Lines about one step come in any order, and departure and return refer to each other: frozen for everybody else,
    # a transition is complete when the table is.
    for name, value in shown.items():
        force_setattr(transition, name, value)


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
