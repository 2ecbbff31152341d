"""What the models of both protocols share: members, their faults, and what became of their partitions."""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from random import Random

from rebalance_forensics.diagnosis.what_if.consumer import Consumer, Reading
from rebalance_forensics.diagnosis.what_if.faults import Came, FaultSequence, Pace, StoodStill, Went
from rebalance_forensics.timeline.windows import REQUEST_MS

Step = Callable[[float], None]


class Slot:
    """A member's slot in its group; a dynamic member gets another with each life."""

    def __init__(self, member: Consumer) -> None:
        self.member = member
        self.life = member.life
        self.joined = False
        """It asked to join the rebalance that is open."""
        self.busy = False
        """It knows that it has to, and does at its next poll."""
        self.given: set[str] = set()
        """What the group thinks it has."""

    @property
    def name(self) -> str:
        """Sorts as member ids do: by client id first."""
        return f"{self.member.name}/{self.life}"

    @property
    def lives(self) -> bool:
        """True while the process that took it runs."""
        return self.member.alive and self.member.life == self.life


class SimulatedGroup(ABC):
    """A group to which the faults of an incident happen."""

    def __init__(self, sequence: FaultSequence, pace: Pace, chance: Random, *, static: bool = False) -> None:
        self.sequence = sequence
        self.pace = pace
        self.chance = chance
        self.static = static
        self.batch = chance.uniform(*pace.between_polls)
        self.agenda = Agenda()
        self.slots: list[Slot] = []
        names = dict.fromkeys([*sequence.members, *(fault.member for fault in sequence.faults)])
        self.members = {name: self._member(name) for name in names}

    def _member(self, name: str) -> Consumer:
        still = tuple(f for f in self.sequence.faults if isinstance(f, StoodStill) and f.member == name)
        return Consumer(name, self.batch, self.pace.heartbeat, self.chance, still)

    def run(self) -> list[Reading]:
        """Ownership of every partition from begin to end; a member that stood still owned without reading."""
        begin = self.sequence.begin
        first_beat = begin + self.chance.random() * self.pace.heartbeat
        for name in self.sequence.members:
            member = self.members[name]
            member.beats_from = first_beat + self.chance.random() * self.drift()
            member.alive = True
            member.life = 1
            self.slots.append(Slot(member))
        for slot, given in self.settled().items():
            slot.given = given
            slot.member.take(given, begin)
        for fault in self.sequence.faults:
            self._plan(fault)
        self.agenda.run(self.sequence.until)
        for member in self.members.values():
            member.give_up([*member.owned], self.sequence.until)
        return [reading for member in self.members.values() for reading in member.readings]

    def drift(self) -> float:
        """How far apart the heartbeats of members are that began together, in the last rebalance."""
        beats = self.sequence.steady_for / self.pace.heartbeat
        return min(self.pace.heartbeat, REQUEST_MS * math.sqrt(beats))

    @abstractmethod
    def settled(self) -> dict[Slot, set[str]]:
        """What everybody has before the first fault."""

    @abstractmethod
    def joins(self, member: Consumer, now: float) -> None:
        """A process asks to join for the first time, or again after it lost its slot."""

    @abstractmethod
    def removed(self, slot: Slot, now: float) -> None:
        """The group has lost one of its slots."""

    def slot_of(self, member: Consumer) -> Slot | None:
        """The slot that a member's present process has."""
        return next((p for p in self.slots if p.member is member and p.life == member.life), None)

    def remove(self, slot: Slot, now: float) -> None:
        """Take a slot away; its member stops reading."""
        if slot not in self.slots:
            return
        self.slots.remove(slot)
        if slot.life == slot.member.life:
            slot.member.give_up([*slot.member.owned], now)
        self.removed(slot, now)

    def _plan(self, fault: Came | Went | StoodStill) -> None:
        match fault:
            case Came(member=name, at=at):
                self.agenda.plan(at, lambda now: self._comes(self.members[name], now))
            case Went(member=name, at=at):
                self.agenda.plan(at, lambda now: self._goes(self.members[name], fault, now))
            case StoodStill(member=name, begin=begin):
                self.agenda.plan(begin, lambda now: self._stands_still(self.members[name], fault, now))

    def _comes(self, member: Consumer, now: float) -> None:
        if not member.alive:
            member.alive = True
            member.life += 1
            self.joins(member, now)

    def _goes(self, member: Consumer, fault: Went, now: float) -> None:
        # A closing member leaves at once unless it is static (KIP-345); any other loss takes a session timeout.
        slot = self.slot_of(member)
        member.alive = False
        member.give_up([*member.owned], now)
        if slot is None:
            return
        if fault.how == "closed" and not self.static:
            self.remove(slot, now)
            return
        life = slot.life

        def expire(at: float) -> None:
            # A static member that came back took its slot over.
            if slot.life == life:
                self.remove(slot, at)

        self.agenda.plan(self._heard(member, fault, now) + self.pace.session, expire)

    def _heard(self, member: Consumer, fault: Went | StoodStill, now: float) -> float:
        """When it sent its last heartbeat, up to an interval before."""
        return fault.heard if fault.heard is not None else now - (now - member.beats_from) % self.pace.heartbeat

    def _stands_still(self, member: Consumer, fault: StoodStill, now: float) -> None:
        slot = self.slot_of(member)
        if slot is None or not member.alive:
            return
        if fault.how == "frozen":
            removed_at = self._heard(member, fault, now) + self.pace.session
        else:
            # A static member that misses max.poll.interval.ms only stops its heartbeats (KIP-345).
            removed_at = now + self.pace.poll_interval + (self.pace.session if self.static else 0)
        if removed_at < fault.end:
            self.agenda.plan(removed_at, lambda at: self.remove(slot, at))
        # A frozen process finishes its batch before it polls, and learns that its partitions are lost.
        back = fault.end + (member.rest_of_batch() if fault.how == "frozen" else 0)
        self.agenda.plan(back, lambda at: self._wakes(slot, at))

    def _wakes(self, slot: Slot, now: float) -> None:
        """A member that lost its slot meanwhile learns it at its next heartbeat or poll, and joins again."""
        if slot.lives and slot not in self.slots:
            self.rejoins(slot.member, now)

    def rejoins(self, member: Consumer, now: float) -> None:
        """A living process without a slot asks for another."""
        if self.slot_of(member) is None and member.alive:
            member.life += 1
            self.joins(member, now)


class Agenda:
    """Steps in the order of their time; steps of one instant happen in the order in which they were planned."""

    def __init__(self) -> None:
        self._steps: list[tuple[float, int, Step]] = []
        self._places = count()

    def plan(self, at: float, step: Step) -> None:
        """Schedule a step; it is called with its time."""
        heapq.heappush(self._steps, (at, next(self._places), step))

    def run(self, until: float) -> None:
        """Let everything happen up to a time, and what follows from it."""
        while self._steps and self._steps[0][0] <= until:
            at, _, step = heapq.heappop(self._steps)
            step(at)
