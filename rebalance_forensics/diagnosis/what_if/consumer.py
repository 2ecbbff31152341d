"""A consumer of the model: when it polls, what it owns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from msgspec import Struct

from rebalance_forensics.diagnosis.what_if.faults import StoodStill
from rebalance_forensics.timeline.windows import REQUEST_MS

# Batches differ in length by this part of their average, up or down.
UNEVEN = 0.25


class Reading(Struct, frozen=True):
    """A member owned a partition for a while."""

    partition: str
    member: str
    begin: float
    end: float


@dataclass(slots=True, eq=False)
class Consumer:
    """One process after the other under the same name."""

    name: str
    batch: float
    """What it takes between two polls, on average. Milliseconds."""
    heartbeat: int
    chance: Random
    still: tuple[StoodStill, ...] = ()
    alive: bool = False
    life: int = 0
    """How many processes there were; what one of them had planned its successor does not do."""
    owned: dict[str, float] = field(default_factory=dict)
    """Partition -> since when."""
    readings: list[Reading] = field(default_factory=list)
    beats_from: float = 0.0
    """Its heartbeats are sent at this time and every interval after it."""
    _next: float = 0.0

    def next_poll(self, now: float) -> float:
        """When it polls next: at once while it owns nothing, for poll() then waits and answers the coordinator."""
        if self._next < now:
            # Nobody knows where in its batch it is.
            self._next = now + self.rest_of_batch()
        at = self._next if self.owned else now
        for standstill in self.still:
            if standstill.begin <= at < standstill.end:
                # A frozen batch is continued, a stuck poll loop comes back with its next poll().
                at = standstill.end + (max(at - max(standstill.begin, now), 0) if standstill.how == "frozen" else 0)
        return at

    def polls(self, now: float) -> None:
        """It polls, and works on a batch."""
        self._next = now + self._gap()

    def rest_of_batch(self) -> float:
        """How long it takes to finish the batch that it is in the middle of, nobody knows where."""
        return self.chance.random() * self._gap()

    def _gap(self) -> float:
        return self.batch * (1 + UNEVEN * (2 * self.chance.random() - 1))

    def next_heartbeat(self, now: float) -> float:
        """When its coordinator hears from it next; the heartbeat thread keeps running while the poll loop is stuck."""
        at = now + (self.beats_from - now) % (self.heartbeat + REQUEST_MS)
        frozen = [
            standstill
            for standstill in self.still
            if standstill.how == "frozen" and standstill.begin <= at < standstill.end
        ]
        return max((float(standstill.end) for standstill in frozen), default=at)

    def take(self, partitions: Iterable[str], at: float) -> None:
        """It may read these from now on."""
        for partition in partitions:
            self.owned.setdefault(partition, at)

    def give_up(self, partitions: Iterable[str], at: float) -> None:
        """It reads these no longer."""
        for partition in list(partitions):
            since = self.owned.pop(partition, None)
            if since is not None:
                self.readings.append(Reading(partition, self.name, since, at))
