"""KIP-848: the coordinator assigns, each member reconciles at its own pace, nobody waits for a barrier.

A member learns of its target at its next heartbeat. It commits at its next poll, gives partitions up at the one after
and acknowledges that at the one after that (rebalance listeners run in poll()); only then may another member get them,
at its own next heartbeat, and read them one or two polls later.
"""

from __future__ import annotations

from random import Random

from rebalance_forensics.diagnosis.what_if.agenda import Step
from rebalance_forensics.diagnosis.what_if.assignors import sticky
from rebalance_forensics.diagnosis.what_if.consumer import Consumer
from rebalance_forensics.diagnosis.what_if.faults import FaultSequence, Pace
from rebalance_forensics.diagnosis.what_if.simulated_group import SimulatedGroup, Slot
from rebalance_forensics.timeline.windows import TWO_REQUESTS_MS


class EpochGroup(SimulatedGroup):
    """A group with group epochs in slot of generations. `rejoins` of a slot: it is reconciling."""

    def __init__(self, sequence: FaultSequence, pace: Pace, chance: Random) -> None:
        super().__init__(sequence, pace, chance)
        self._target: dict[Slot, set[str]] = {}

    def settled(self) -> dict[Slot, set[str]]:
        """Everybody has its target."""
        self._target = self._targets()
        return {slot: set(given) for slot, given in self._target.items()}

    def joins(self, member: Consumer, now: float) -> None:
        """A newcomer makes a new epoch; the answer to its first heartbeat holds what is free."""
        slot = Slot(member)
        self.slots.append(slot)
        member.beats_from = now
        self._new_epoch(now)
        self._heartbeat(slot, now + TWO_REQUESTS_MS)

    def removed(self, slot: Slot, now: float) -> None:
        """What it had is free."""
        self._target.pop(slot, None)
        self._new_epoch(now)

    def _targets(self) -> dict[Slot, set[str]]:
        slots = {p.name: p for p in sorted(self.slots, key=lambda p: p.name)}
        if not slots:
            return {}
        held = {name: self._target.get(slot, ()) for name, slot in slots.items()}
        return {slots[name]: given for name, given in sticky([*slots], self.sequence.partitions, held).items()}

    def _new_epoch(self, now: float) -> None:
        self._target = self._targets()
        for slot in self.slots:
            self._heartbeat_later(slot, now)

    def _heartbeat_later(self, slot: Slot, now: float) -> None:
        if slot.lives:
            self.agenda.plan(slot.member.next_heartbeat(now), lambda at: self._heartbeat(slot, at))

    def _heartbeat(self, slot: Slot, now: float) -> None:
        """Learn what to give up; with nothing to give up, what is free."""
        if slot.busy or not slot.lives or slot not in self.slots:
            return
        target = self._target[slot]
        held = {p for other in self.slots if other is not slot for p in other.given}
        leaves, gets = slot.given - target, target - slot.given - held
        if leaves:
            slot.busy = True
            self._reconcile(slot, lambda at: self._revoke(slot, leaves, at), now)
        elif gets:
            slot.busy = True
            slot.given |= gets
            self._reconcile(slot, lambda at: self._take(slot, gets, at), now)

    def _reconcile(self, slot: Slot, step: Step, now: float) -> None:
        """Begin at its next poll; with records to commit, the poll after that one calls the rebalance listener."""
        member = slot.member
        poll = member.next_poll(now)

        def commit(at: float) -> None:
            member.polls(at)
            self.agenda.plan(member.next_poll(at), step)

        self.agenda.plan(poll, commit if self.pace.commits_first and member.owned else step)

    def _revoke(self, slot: Slot, leaves: set[str], now: float) -> None:
        if slot.lives and slot in self.slots:
            slot.member.give_up(leaves, now)
            slot.member.polls(now)
            self.agenda.plan(slot.member.next_poll(now), lambda at: self._acknowledge(slot, leaves, at))

    def _acknowledge(self, slot: Slot, leaves: set[str], now: float) -> None:
        slot.busy = False
        if not slot.lives or slot not in self.slots:
            return
        slot.member.polls(now)
        slot.given -= leaves
        slot.member.beats_from = now
        for other in self.slots:
            if self._target[other] & leaves:
                self._heartbeat_later(other, now)
        self._heartbeat(slot, now)

    def _take(self, slot: Slot, gets: set[str], now: float) -> None:
        slot.busy = False
        if slot.lives and slot in self.slots:
            slot.member.take(gets, now)
            slot.member.polls(now)
            slot.member.beats_from = now
            self._heartbeat(slot, now)
