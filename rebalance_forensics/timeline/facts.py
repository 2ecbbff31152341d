"""Facts about a group, merged from broker and client logs: departures, arrivals, starts, stops, requests, rebalances.

Facts are immutable, except that the membership replay amends transitions until its table is complete. Each fact of a
timeline has an id (`departure-17`), numbered in time order.
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
"""How a member left. `expelled`: its own log shows the coordinator's response that it is not a member; `died`: its log
shows the end of the process; `vanished`: inferred from its absence alone; `left`: LeaveGroup without a reason."""

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
"""The rule that inferred a transition without a log line; `membership/silent.py` and `membership/recording.py` explain
each rule."""


class Transition(Struct, frozen=True, eq=False):
    """A member entered or left the group."""

    participant: Participant
    member: str | None
    """Its member id, or a `placeholder_id` if no line shows one."""
    at: int
    events: tuple[Event, ...] = ()
    silent: Silent | None = None
    """The rule that inferred the transition; None if a line reports it."""
    id: str = ""
    before: ClassVar[State] = "unknown"
    after: ClassVar[State] = "in"


class Sighting(Transition, frozen=True, eq=False):
    """The first line about a member whose arrival is not in the logs."""


class Departure(Transition, frozen=True, eq=False):
    """A member left or was removed; `at` is the time of the coordinator's line, or the client's if there is none."""

    why: DepartureWhy = "left"
    returned: Arrival | None = None
    reason: str | None = None
    stayed: bool = False
    """True if logged by a former coordinator of the group: the member remained in the group at the new coordinator."""
    before: ClassVar[State] = "in"
    after: ClassVar[State] = "out"


class Arrival(Transition, frozen=True, eq=False):
    """A member joined. `first`: its participant was not a member before; `start`: the start of its process, if seen."""

    first: bool = True
    ends: Departure | None = None
    """The departure from which the member returned."""
    start: Start | None = None
    while_empty: bool = False
    before: ClassVar[State] = "out"


class StaticReturn(Transition, frozen=True, eq=False):
    """A static member rejoined with a new member id before its session expired, without a rebalance."""

    before: ClassVar[State] = "in"


class Start(Struct, frozen=True, eq=False):
    """A process (or a new consumer object in it) started."""

    participant: Participant
    at: int
    events: tuple[Event, ...] = ()
    id: str = ""


class Stop(Struct, frozen=True, eq=False):
    """A client closed, as logged by itself."""

    participant: Participant
    at: int
    events: tuple[Event, ...] = ()
    id: str = ""


class Request(Struct, frozen=True, eq=False):
    """A member requested a rebalance."""

    participant: Participant | None
    at: int
    why: RequestWhy
    events: tuple[Event, ...] = ()
    reason: str | None = None
    id: str = ""


class Rebalance(Struct, frozen=True, eq=False):
    """A rebalance from its start to the assignment; `generation` is None if it did not complete."""

    generation: int | None
    started_at: int
    stabilized_at: int | None = None
    completed_at: int | None = None
    events: tuple[Event, ...] = ()
    join_sent_at: Mapping[Participant, int] = field(default_factory=dict)
    """When each member sent its last JoinGroup of this rebalance, by its own log; used by join_barriers.py."""
    failures: tuple[Event, ...] = ()
    trigger: str | None = None
    followup: str | None = None
    id: str = ""

    @property
    def created_at(self) -> int | None:
        """When its generation was created, or completed if that is all the logs show; None without a generation."""
        return self.stabilized_at or self.completed_at

    def barrier_end(self) -> int:
        """When the coordinator completed the join phase, or when the rebalance ended if that is not logged."""
        return self.stabilized_at or self.ended_at()

    def ended_at(self) -> int:
        """The time of its last known step."""
        return self.completed_at or self.stabilized_at or self.started_at


Fact = Departure | Arrival | Request | StaticReturn | Stop | Rebalance


def amend(transition: Transition, **shown: object) -> None:
    """Set fields of a transition that a later line shows."""
    # The lines about one step come in any order, and a departure and a return refer to each other. The Struct is frozen
    # for all other code: a transition does not change once the membership table is complete.
    for name, value in shown.items():
        force_setattr(transition, name, value)


F = TypeVar("F", Start, Stop, StaticReturn, Request, Rebalance)


def numbered(name: str, facts: Iterable[F]) -> tuple[F, ...]:
    """The facts with ids assigned: `name` and the position in the given order, from 1."""
    return tuple(replace(fact, id=f"{name}-{number}") for number, fact in enumerate(facts, 1))


def fact_at(fact: Fact) -> int:
    """The time of a fact; for a rebalance, its start."""
    return fact.started_at if isinstance(fact, Rebalance) else fact.at


def fact_ended_at(fact: Fact) -> int:
    """The time of a fact; for a rebalance, its end."""
    return fact.ended_at() if isinstance(fact, Rebalance) else fact.at
