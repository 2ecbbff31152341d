"""Monte Carlo simulations of an incident under one protocol; the phase of each poll loop is random."""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import attrgetter
from random import Random
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.what_if.faults import (
    FaultSequence,
    Pace,
    ProcessEnded,
    ProcessStalled,
    ProcessStarted,
)
from rebalance_forensics.timeline.identity.names import topic_of
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import DEFAULTS, INITIAL_DELAY
from rebalance_forensics.timeline.windows import REQUEST_MS

# The length of a batch varies by this share of the average, up or down.
UNEVEN = 0.25


class Reading(Struct, frozen=True):
    """A time during which a member owned a partition."""

    partition: str
    member: str
    begin: float
    end: float


@dataclass(slots=True, eq=False)
class Consumer:
    """A member, which may be several successive processes with the same name."""

    name: str
    batch: float
    """Average time between two polls, in ms."""
    heartbeat: int
    chance: Random
    still: tuple[ProcessStalled, ...] = ()
    alive: bool = False
    life: int = 0
    """Number of its processes so far; steps planned by one are dropped when the next one starts."""
    owned: dict[str, float] = field(default_factory=dict)
    """Partition -> the time since which it is owned."""
    readings: list[Reading] = field(default_factory=list)
    beats_from: float = 0.0
    """It sends heartbeats at this time and at every interval after it."""
    _next: float = 0.0

    def next_poll(self, now: float) -> float:
        """Return when it polls next: at once if it owns nothing, since poll() then waits for the coordinator."""
        if self._next < now:
            # Its position within the batch is unknown.
            self._next = now + self.rest_of_batch()
        at = self._next if self.owned else now
        for standstill in self.still:
            if standstill.begin <= at < standstill.end:
                # A frozen process resumes its batch; a stuck poll loop resumes with its next poll().
                at = standstill.end + (max(at - max(standstill.begin, now), 0) if standstill.how == "frozen" else 0)
        return at

    def polls(self, now: float) -> None:
        """Poll and start a batch."""
        self._next = now + self._gap()

    def rest_of_batch(self) -> float:
        """Return a random time to finish the current batch."""
        return self.chance.random() * self._gap()

    def _gap(self) -> float:
        return self.batch * (1 + UNEVEN * (2 * self.chance.random() - 1))

    def next_heartbeat(self, now: float) -> float:
        """Return the time of its next heartbeat; the heartbeat thread keeps running while the poll loop is stuck."""
        at = now + (self.beats_from - now) % (self.heartbeat + REQUEST_MS)
        frozen = [
            standstill
            for standstill in self.still
            if standstill.how == "frozen" and standstill.begin <= at < standstill.end
        ]
        return max((float(standstill.end) for standstill in frozen), default=at)

    def take(self, partitions: Iterable[str], at: float) -> None:
        """Start to own these partitions."""
        for partition in partitions:
            self.owned.setdefault(partition, at)

    def give_up(self, partitions: Iterable[str], at: float) -> None:
        """Stop owning these partitions."""
        for partition in list(partitions):
            since = self.owned.pop(partition, None)
            if since is not None:
                self.readings.append(Reading(partition, self.name, since, at))


Step = Callable[[float], None]


class Slot:
    """A member id in the group; a dynamic member gets a new one with each process."""

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
        """A name that sorts like a member id: by client id first."""
        return f"{self.member.name}/{self.life}"

    @property
    def lives(self) -> bool:
        """True while the process that has it is running."""
        return self.member.alive and self.member.life == self.life


class SimulatedGroup(ABC):
    """A simulated group with the faults of an incident."""

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
        still = tuple(f for f in self.sequence.faults if isinstance(f, ProcessStalled) and f.member == name)
        return Consumer(name, self.batch, self.pace.heartbeat, self.chance, still)

    def run(self) -> list[Reading]:
        """Return the ownership of every partition over the whole time; a stalled member owns without reading."""
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
        """Return how far heartbeats that started together in the last rebalance have drifted apart."""
        beats = self.sequence.steady_for / self.pace.heartbeat
        return min(self.pace.heartbeat, REQUEST_MS * math.sqrt(beats))

    @abstractmethod
    def settled(self) -> dict[Slot, set[str]]:
        """Return the partitions of each member before the first fault."""

    @abstractmethod
    def joins(self, member: Consumer, now: float) -> None:
        """Handle a join: the first of a process, or one after it lost its slot."""

    @abstractmethod
    def removed(self, slot: Slot, now: float) -> None:
        """Handle the removal of a slot from the group."""

    def slot_of(self, member: Consumer) -> Slot | None:
        """Return the slot of a member's current process."""
        return next((p for p in self.slots if p.member is member and p.life == member.life), None)

    def remove(self, slot: Slot, now: float) -> None:
        """Remove a slot; its member stops reading."""
        if slot not in self.slots:
            return
        self.slots.remove(slot)
        if slot.life == slot.member.life:
            slot.member.give_up([*slot.member.owned], now)
        self.removed(slot, now)

    def _plan(self, fault: ProcessStarted | ProcessEnded | ProcessStalled) -> None:
        match fault:
            case ProcessStarted(member=name, at=at):
                self.agenda.plan(at, lambda now: self._comes(self.members[name], now))
            case ProcessEnded(member=name, at=at):
                self.agenda.plan(at, lambda now: self._goes(self.members[name], fault, now))
            case ProcessStalled(member=name, begin=begin):
                self.agenda.plan(begin, lambda now: self._stands_still(self.members[name], fault, now))

    def _comes(self, member: Consumer, now: float) -> None:
        if not member.alive:
            member.alive = True
            member.life += 1
            self.joins(member, now)

    def _goes(self, member: Consumer, fault: ProcessEnded, now: float) -> None:
        # A dynamic member leaves at once when it closes; a static one (KIP-345) or a crash takes a session timeout.
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
            # A static member that came back has taken over its slot.
            if slot.life == life:
                self.remove(slot, at)

        self.agenda.plan(self._heard(member, fault, now) + self.pace.session, expire)

    def _heard(self, member: Consumer, fault: ProcessEnded | ProcessStalled, now: float) -> float:
        """Return when it sent its last heartbeat, up to an interval before."""
        return (
            fault.last_heartbeat
            if fault.last_heartbeat is not None
            else now - (now - member.beats_from) % self.pace.heartbeat
        )

    def _stands_still(self, member: Consumer, fault: ProcessStalled, now: float) -> None:
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
        # A frozen process finishes its batch before it polls and learns that its partitions are lost.
        back = fault.end + (member.rest_of_batch() if fault.how == "frozen" else 0)
        self.agenda.plan(back, lambda at: self._wakes(slot, at))

    def _wakes(self, slot: Slot, now: float) -> None:
        """Resume a member; if it lost its slot meanwhile, it learns so at its next heartbeat or poll and rejoins."""
        if slot.lives and slot not in self.slots:
            self.rejoins(slot.member, now)

    def at_its_poll(self, slot: Slot, step: Step, now: float, *, commits: bool = True) -> None:
        """Schedule a step for the member's next poll, or for the poll after that if it has to commit first."""
        member = slot.member

        def commit(at: float) -> None:
            member.polls(at)
            self.agenda.plan(member.next_poll(at), step)

        first = commits and self.pace.commits_first and bool(member.owned)
        self.agenda.plan(member.next_poll(now), commit if first else step)

    def rejoins(self, member: Consumer, now: float) -> None:
        """Let a running process without a slot join again."""
        if self.slot_of(member) is None and member.alive:
            member.life += 1
            self.joins(member, now)


class Agenda:
    """Steps ordered by time; steps at the same time run in the order in which they were planned."""

    def __init__(self) -> None:
        self._steps: list[tuple[float, int, Step]] = []
        self._places = count()

    def plan(self, at: float, step: Step) -> None:
        """Schedule a step, which is called with its time."""
        heapq.heappush(self._steps, (at, next(self._places), step))

    def run(self, until: float) -> None:
        """Run all steps up to a time, including those that they plan."""
        while self._steps and self._steps[0][0] <= until:
            at, _, step = heapq.heappop(self._steps)
            step(at)


Span = tuple[float, float]


class Unread(Struct, frozen=True, kw_only=True):
    """The unread time of one simulation, in ms."""

    spans: Mapping[str, tuple[Span, ...]]
    """Partition -> spans without a reader."""
    stopped: tuple[Span, ...]
    """Times in which no partition was read."""

    @property
    def partition_ms(self) -> float:
        """Unread time summed over all partitions."""
        return sum(self.by_partition().values())

    @property
    def stopped_ms(self) -> float:
        """Time for which the whole group was stopped."""
        return _length(self.stopped)

    def by_partition(self) -> dict[str, float]:
        """Unread time of each partition."""
        return {partition: _length(spans) for partition, spans in self.spans.items()}


def unread_of(sequence: FaultSequence, readings: Iterable[Reading]) -> Unread:
    """Return the time not covered by the readings; a frozen or stuck member owns partitions without reading them."""
    read: dict[str, list[Span]] = defaultdict(list)
    still = grouped((f for f in sequence.faults if isinstance(f, ProcessStalled)), attrgetter("member"))
    for reading in readings:
        standstills = [(fault.begin, fault.end) for fault in still.get(reading.member, ())]
        read[reading.partition] += outside_stalls((reading.begin, reading.end), standstills)
    begin, until = sequence.begin, sequence.until
    everything = [span for spans in read.values() for span in spans]
    return Unread(
        spans={partition: tuple(gaps(read[partition], begin, until)) for partition in sequence.partitions},
        stopped=tuple(gaps(everything, begin, until)),
    )


def outside_stalls(span: Span, still: Sequence[Span]) -> list[Span]:
    """Return the parts of a span outside the stalls."""
    left = [span]
    for begin, end in still:
        parts = [part for a, b in left for part in ((a, min(b, begin)), (max(a, end), b))]
        left = [(a, b) for a, b in parts if a < b]
    return left


def gaps(read: Iterable[Span], begin: float, until: float) -> Iterator[Span]:
    """Yield the gaps between the spans, from begin to until."""
    reached = begin
    for since, end in sorted(read):
        if since > reached:
            yield reached, min(since, until)
        reached = max(reached, end)
    if reached < until:
        yield reached, until


def _length(spans: Iterable[Span]) -> float:
    return sum(end - begin for begin, end in spans)


class EpochGroup(SimulatedGroup):
    """A KIP-848 group: epochs and reconciliation instead of generations and join barriers."""

    def __init__(self, sequence: FaultSequence, pace: Pace, chance: Random) -> None:
        super().__init__(sequence, pace, chance)
        self._target: dict[Slot, set[str]] = {}

    def settled(self) -> dict[Slot, set[str]]:
        """Return the state in which every member has its target assignment."""
        self._target = self._targets()
        return {slot: set(given) for slot, given in self._target.items()}

    def joins(self, member: Consumer, now: float) -> None:
        """Add a member: a new epoch, and free partitions with the response to its first heartbeat."""
        slot = Slot(member)
        self.slots.append(slot)
        member.beats_from = now
        self._new_epoch(now)
        self._heartbeat(slot, now + REQUEST_MS)

    def removed(self, slot: Slot, now: float) -> None:
        """Free the partitions of a slot and start a new epoch."""
        self._target.pop(slot, None)
        self._new_epoch(now)

    def _targets(self) -> dict[Slot, set[str]]:
        slots = {p.name: p for p in sorted(self.slots, key=lambda p: p.name)}
        if not slots:
            return {}
        owned = {name: self._target.get(slot, ()) for name, slot in slots.items()}
        return {
            slots[name]: given for name, given in sticky_assignment([*slots], self.sequence.partitions, owned).items()
        }

    def _new_epoch(self, now: float) -> None:
        self._target = self._targets()
        for slot in self.slots:
            self._heartbeat_later(slot, now)

    def _heartbeat_later(self, slot: Slot, now: float) -> None:
        if slot.lives:
            self.agenda.plan(slot.member.next_heartbeat(now), lambda at: self._heartbeat(slot, at))

    def _heartbeat(self, slot: Slot, now: float) -> None:
        """Learn which partitions to revoke; without any, get the free ones."""
        if slot.busy or not slot.lives or slot not in self.slots:
            return
        target = self._target[slot]
        taken = {p for other in self.slots if other is not slot for p in other.given}
        leaves, gets = slot.given - target, target - slot.given - taken
        if leaves:
            slot.busy = True
            self.at_its_poll(slot, lambda at: self._revoke(slot, leaves, at), now)
        elif gets:
            slot.busy = True
            slot.given |= gets
            self.at_its_poll(slot, lambda at: self._take(slot, gets, at), now)

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


class ClassicGroup(SimulatedGroup):
    """A classic group: join barriers, generations, a leader."""

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
        """Return the state in which every member has the partitions that the assignor computes."""
        self._leader = self.slots[0] if self.slots else None
        return self._targets()

    def joins(self, member: Consumer, now: float) -> None:
        """Add a member; a static member that is back in time gets its slot again without a rebalance."""
        old = next((p for p in self.slots if self.static and p.member is member), None)
        if old is not None:
            old.life = member.life
            if not self._open:
                member.take(old.given, now + REQUEST_MS)
                member.beats_from = now
                member.polls(now + REQUEST_MS)
                return
            self._join(old, now)
            return
        if not self.slots:
            self._not_before = now + DEFAULTS[INITIAL_DELAY]
        slot = Slot(member)
        self.slots.append(slot)
        self._join(slot, now)

    def removed(self, slot: Slot, now: float) -> None:
        """Rebalance the partitions of a slot among the other members."""
        if self._leader is slot:
            self._leader = None
        if self.slots and not self._open:
            self._rebalance(now)
        self._complete(now)

    def _rebalance(self, now: float, by: Slot | None = None) -> None:
        """Start a rebalance; members other than `by` learn of it at their next heartbeat."""
        self._open = True
        self._round += 1
        opened = self._round
        for slot in self.slots:
            slot.joined = False
            if slot is not by:
                self._notify(slot, now)
        self.agenda.plan(now + self.pace.poll_interval, lambda at: self._give_up_on_the_missing(opened, at))
        self.agenda.plan(self._not_before, self._complete)

    def _give_up_on_the_missing(self, opened: int, now: float) -> None:
        if self._open and self._round == opened:
            for slot in [p for p in self.slots if not p.joined]:
                self.remove(slot, now)

    def _notify(self, slot: Slot, now: float) -> None:
        if not slot.busy and slot.lives:
            slot.busy = True
            self.agenda.plan(slot.member.next_heartbeat(now), lambda at: self._knows(slot, at))

    def _knows(self, slot: Slot, now: float) -> None:
        self.at_its_poll(slot, lambda at: self._join(slot, at), now, commits=self.cooperative)

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
        """Complete the join phase once all members have joined, and let the leader compute the assignment."""
        if not self._open or now < self._not_before or not self.slots or not all(p.joined for p in self.slots):
            return
        self._open = False
        self._leader = self._leader or self.slots[0]
        leader = self._leader.member
        answered = max(now + REQUEST_MS, leader.next_poll(now)) if self.cooperative else now + REQUEST_MS
        closed = self._round
        polls = {slot: slot.member.next_poll(now) for slot in self.slots}
        self.agenda.plan(answered, lambda at: self._assign(closed, polls, at))

    def _assign(self, closed: int, polls: dict[Slot, float], now: float) -> None:
        """Send each member its assignment; a cooperative one gets it at its second poll after the join phase."""
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
                self.agenda.plan(at, partial(self._apply, slot))
            elif slot.lives:
                slot.member.take(given, now)
                slot.member.polls(now)
                slot.member.beats_from = now

    def _apply(self, slot: Slot, now: float) -> None:
        """Revoke partitions that move and take free ones; a revocation requests one more rebalance."""
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
            return {slots[name]: given for name, given in range_assignment(names, partitions).items()}
        owned = {name: slot.member.owned for name, slot in slots.items() if slot.lives}
        given = sticky_assignment(names, partitions, owned)
        owners = {p: name for name, parts in owned.items() for p in parts}
        # A partition that has to be revoked first has no owner until the next rebalance.
        return {slots[name]: {p for p in parts if owners.get(p, name) == name} for name, parts in given.items()}


Protocol = Literal["eager", "eager, static", "cooperative", "cooperative, static", "KIP-848"]
RUNS = 40
FEWEST_RUNS = 9
# Maximum effort of all runs together: large groups get fewer runs, so that the result does not take too long.
WORK = 48_000
# The range excludes the lowest tenth and the highest tenth of the figures.
LEFT_OUT = 0.1


class Spread(Struct, frozen=True, kw_only=True):
    """A figure with its uncertainty: the median of all simulations, and the range of four in five of them."""

    low: float
    middle: float
    high: float


class Simulated(Struct, frozen=True, kw_only=True):
    """Unread and stopped time of an incident under one protocol, in ms, and the simulations behind them."""

    partition_ms: Spread
    stopped_ms: Spread
    runs: tuple[Unread, ...]


def simulate(sequence: FaultSequence, pace: Pace, protocol: Protocol) -> Simulated:
    """Simulate an incident; the same input gives the same figures."""
    runs = min(RUNS, max(FEWEST_RUNS, WORK // max(1, sequence.work)))
    found = tuple(_once(sequence, pace, protocol, seed) for seed in range(runs))
    return Simulated(
        partition_ms=spread_of([run.partition_ms for run in found]),
        stopped_ms=spread_of([run.stopped_ms for run in found]),
        runs=found,
    )


def _once(sequence: FaultSequence, pace: Pace, protocol: Protocol, seed: int) -> Unread:
    chance = Random(seed)  # noqa: S311 - phases of poll loops, no secrets
    return unread_of(sequence, group_of(sequence, pace, protocol, chance).run())


def group_of(sequence: FaultSequence, pace: Pace, protocol: Protocol, chance: Random) -> SimulatedGroup:
    """Return the simulated group of a protocol."""
    if protocol == "KIP-848":
        return EpochGroup(sequence, pace, chance)
    static, cooperative = protocol.endswith("static"), protocol.startswith("cooperative")
    return ClassicGroup(sequence, pace, chance, cooperative=cooperative, static=static)


def spread_of(figures: list[float]) -> Spread:
    """Return the median and the range of the middle four fifths."""
    known = sorted(figures)
    out = round(LEFT_OUT * (len(known) - 1))
    return Spread(low=known[out], middle=known[len(known) // 2], high=known[-1 - out])


def range_assignment(members: Sequence[str], partitions: Sequence[str]) -> dict[str, set[str]]:
    """Assign like RangeAssignor: consecutive partitions of each topic, one more for the first members."""
    given: dict[str, set[str]] = {member: set() for member in members}
    for of_topic in grouped(partitions, topic_of).values():
        each, more = divmod(len(of_topic), len(members))
        begin = 0
        for slot, member in enumerate(members):
            end = begin + each + (slot < more)
            given[member].update(of_topic[begin:end])
            begin = end
    return given


def sticky_assignment(
    members: Sequence[str], partitions: Sequence[str], owned: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """Assign like CooperativeStickyAssignor or KIP-848's uniform assignor: balanced, with as few moves as possible."""
    each, more = divmod(len(partitions), len(members))
    given: dict[str, set[str]] = {}
    taken: set[str] = set()
    for member in sorted(members, key=lambda member_id: -len(owned.get(member_id, ()))):
        before = owned.get(member, ())
        kept = [p for p in partitions if p in before and p not in taken]
        share = each + (more > 0 and len(kept) > each)
        more -= share > each
        given[member] = set(kept[:share])
        taken |= given[member]
    free = [p for p in partitions if p not in taken]
    for partition in free:
        poorest = min(members, key=lambda member_id: len(given[member_id]))
        given[poorest].add(partition)
    return given
