"""What happened to the members' processes, whatever protocol their group speaks: the input of a simulation.

Times are epoch ms on the group's clock.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Came(Struct, frozen=True, kw_only=True):
    """A process started: at this time its consumer asks to join."""

    member: str
    at: int


class Went(Struct, frozen=True, kw_only=True):
    """A process ended: it closed its consumer, or died without a word."""

    member: str
    at: int
    how: Literal["closed", "died"]
    heard: float | None = None
    """Time of its last heartbeat, if its eviction shows it."""


class StoodStill(Struct, frozen=True, kw_only=True):
    """A process lived and did not work: all of it was frozen, or its polling thread was stuck in a batch."""

    member: str
    begin: int
    end: int
    how: Literal["frozen", "stuck"]
    heard: float | None = None
    """When the group last heard from it, where its eviction tells that."""


Fault = Came | Went | StoodStill


def began(fault: Fault) -> int:
    """When a fault began."""
    return fault.begin if isinstance(fault, StoodStill) else fault.at


class FaultSequence(Struct, frozen=True, kw_only=True):
    """The faults of an incident, in a group that was steady at `begin`; the simulation ends at `until`."""

    members: tuple[str, ...]
    """Members that share the partitions at the begin."""
    partitions: tuple[str, ...]
    faults: tuple[Fault, ...]
    begin: int
    until: int
    steady_for: int
    """How long before `begin` the last rebalance was over. Milliseconds."""

    @property
    def work(self) -> int:
        """How much a simulation of it takes: each fault moves every member and every partition."""
        return (len(self.members) + len(self.partitions)) * len(self.faults)


class Pace(Struct, frozen=True, kw_only=True):
    """How fast members notice and act. Milliseconds."""

    between_polls: tuple[float, float]
    """What a member takes for a batch, on average: the range in which that lies."""
    heartbeat: int
    session: int
    poll_interval: int
    commits_first: bool = True
    """enable.auto.commit: before a cooperative member joins it commits, which takes it one more poll (KAFKA-13310)."""
