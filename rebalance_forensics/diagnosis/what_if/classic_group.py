"""The classic protocol: a barrier that all members join, a leader that assigns; eager or cooperative (KIP-429).

Members are told of a rebalance by a heartbeat and join at their next poll. An eager member gives everything up before
it joins, and waits inside poll() from then on. A cooperative member keeps reading, so that each of its steps waits for
its next poll: commit, join, the answer to it, the assignment; what it has to give up is free after one more rebalance.
"""

from __future__ import annotations

from random import Random

from rebalance_forensics.diagnosis.what_if.agenda import Step
from rebalance_forensics.diagnosis.what_if.assignors import in_ranges, sticky
from rebalance_forensics.diagnosis.what_if.consumer import Consumer
from rebalance_forensics.diagnosis.what_if.faults import FaultSequence, Pace
from rebalance_forensics.diagnosis.what_if.simulated_group import SimulatedGroup, Slot
from rebalance_forensics.timeline.timeouts import DEFAULT_MS, INITIAL_DELAY
from rebalance_forensics.timeline.windows import TWO_REQUESTS_MS


class ClassicGroup(SimulatedGroup):
    """A group with join barriers."""

    def __init__(
        self, sequence: FaultSequence, pace: Pace, chance: Random, *, cooperative: bool = False, static: bool = False
    ) -> None:
        super().__init__(sequence, pace, chance, static=static)
        self.cooperative = cooperative
        self._open = False
        """Members are asked to join."""
        self._round = 0
        self._not_before = 0.0
        self._leader: Slot | None = None

    def settled(self) -> dict[Slot, set[str]]:
        """Everybody has what the assignor gives it."""
        self._leader = self.slots[0] if self.slots else None
        return self._targets()

    def joins(self, member: Consumer, now: float) -> None:
        """A static member that comes back in time takes its slot again, and nobody else is disturbed."""
        old = next((p for p in self.slots if self.static and p.member is member), None)
        if old is not None:
            old.life = member.life
            if not self._open:
                member.take(old.given, now + TWO_REQUESTS_MS)
                member.beats_from = now
                member.polls(now + TWO_REQUESTS_MS)
                return
            self._join(old, now)
            return
        if not self.slots:
            self._not_before = now + DEFAULT_MS[INITIAL_DELAY]
        slot = Slot(member)
        self.slots.append(slot)
        self._join(slot, now)

    def removed(self, slot: Slot, now: float) -> None:
        """The others share what it had."""
        if self._leader is slot:
            self._leader = None
        if self.slots and not self._open:
            self._rebalance(now)
        self._complete(now)

    def _rebalance(self, now: float, by: Slot | None = None) -> None:
        """Open the barrier, and let the members know at their next heartbeats; whoever opened it knows."""
        self._open = True
        self._round += 1
        opened = self._round
        for slot in self.slots:
            slot.joined = False
            if slot is not by:
                self._tell(slot, now)
        self.agenda.plan(now + self.pace.poll_interval, lambda at: self._give_up_on_the_missing(opened, at))
        self.agenda.plan(self._not_before, self._complete)

    def _give_up_on_the_missing(self, opened: int, now: float) -> None:
        if self._open and self._round == opened:
            for slot in [p for p in self.slots if not p.joined]:
                self.remove(slot, now)

    def _tell(self, slot: Slot, now: float) -> None:
        if not slot.busy and slot.lives:
            slot.busy = True
            self.agenda.plan(slot.member.next_heartbeat(now), lambda at: self._knows(slot, at))

    def _knows(self, slot: Slot, now: float) -> None:
        """It has to rejoin: at its next poll, or at the one after it when it has to commit first."""
        member = slot.member
        poll = member.next_poll(now)
        if self.cooperative and self.pace.commits_first and member.owned:
            self.agenda.plan(poll, lambda at: self._commits(slot, at))
        else:
            self.agenda.plan(poll, lambda at: self._join(slot, at))

    def _commits(self, slot: Slot, now: float) -> None:
        slot.member.polls(now)
        self.agenda.plan(slot.member.next_poll(now), lambda at: self._join(slot, at))

    def _join(self, slot: Slot, now: float) -> None:
        slot.busy = False
        if not slot.lives or slot.joined:
            return
        slot.member.polls(now)
        if not self.cooperative:
            slot.member.give_up([*slot.member.owned], now)
        if slot not in self.slots:
            self.rejoins(slot.member, now)
            return
        if not self._open:
            self._rebalance(now, by=slot)
        slot.joined = True
        self._complete(now)

    def _complete(self, now: float) -> None:
        """Close the barrier once everybody is in, and let the leader assign."""
        if not self._open or now < self._not_before or not self.slots or not all(p.joined for p in self.slots):
            return
        self._open = False
        self._leader = self._leader or self.slots[0]
        leader = self._leader.member
        answered = max(now + TWO_REQUESTS_MS, leader.next_poll(now)) if self.cooperative else now + TWO_REQUESTS_MS
        closed = self._round
        polls = {slot: slot.member.next_poll(now) for slot in self.slots}
        self.agenda.plan(answered, lambda at: self._assign(closed, polls, at))

    def _assign(self, closed: int, polls: dict[Slot, float], now: float) -> None:
        """Each member is given its share; a cooperative one reads the answer at its second poll after the barrier."""
        if self._open or self._round != closed:
            return
        targets = self._targets()
        for slot, given in targets.items():
            slot.joined = False
            slot.given = given
            if self.cooperative and slot.member.owned:
                slot.member.polls(polls[slot])
                slot.member.beats_from = polls[slot]
                at = slot.member.next_poll(max(polls[slot], now))
                self.agenda.plan(at, self._applied_by(slot))
            elif slot.lives:
                slot.member.take(given, now)
                slot.member.polls(now)
                slot.member.beats_from = now

    def _applied_by(self, slot: Slot) -> Step:
        return lambda now: self._apply(slot, now)

    def _apply(self, slot: Slot, now: float) -> None:
        """Give up what is to move, take what is free; the former asks for one more rebalance."""
        if not slot.lives or slot not in self.slots:
            return
        member = slot.member
        member.polls(now)
        moves = [p for p in member.owned if p not in slot.given]
        member.give_up(moves, now)
        taken = {p for other in self.members.values() if other is not member for p in other.owned}
        member.take(slot.given - taken, now)
        if moves and not slot.busy:
            slot.busy = True
            if self.pace.commits_first:
                self._commits(slot, now)
            else:
                self._join(slot, now)

    def _targets(self) -> dict[Slot, set[str]]:
        slots = {p.name: p for p in sorted(self.slots, key=lambda p: p.name)}
        names, partitions = [*slots], self.sequence.partitions
        if not names:
            return {}
        if not self.cooperative:
            return {slots[name]: given for name, given in in_ranges(names, partitions).items()}
        held = {name: slot.member.owned for name, slot in slots.items() if slot.lives}
        given = sticky(names, partitions, held)
        owners = {p: name for name, mine in held.items() for p in mine}
        # What has to be given up first is nobody's until the next rebalance.
        return {slots[name]: {p for p in mine if owners.get(p, name) == name} for name, mine in given.items()}
