"""Monte-Carlo replays of an incident under one protocol; the phase of each poll loop is random."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.what_if.consumer import Consumer, Reading
from rebalance_forensics.diagnosis.what_if.faults import FaultSequence, Pace, StoodStill
from rebalance_forensics.diagnosis.what_if.simulated_group import SimulatedGroup, Slot, Step
from rebalance_forensics.timeline.timeouts import DEFAULT_MS, INITIAL_DELAY
from rebalance_forensics.timeline.windows import REQUEST_MS

Span = tuple[float, float]


class Unread(Struct, frozen=True, kw_only=True):
    """The unread time of one replay, in milliseconds."""

    spans: Mapping[str, tuple[Span, ...]]
    """Partition -> spans without a reader."""
    stopped: tuple[Span, ...]
    """Spans in which no partition was read."""

    @property
    def partition_ms(self) -> float:
        """Unread time summed over all partitions."""
        return sum(self.by_partition().values())

    @property
    def stopped_ms(self) -> float:
        """Time for which the whole group stopped."""
        return _length(self.stopped)

    def by_partition(self) -> dict[str, float]:
        """Unread time of each partition."""
        return {partition: _length(spans) for partition, spans in self.spans.items()}


def unread_of(sequence: FaultSequence, readings: Iterable[Reading]) -> Unread:
    """The gaps between the readings; a frozen or stuck member owns partitions without reading them."""
    read: dict[str, list[Span]] = defaultdict(list)
    still = _standstills(sequence)
    for reading in readings:
        read[reading.partition] += awake((reading.begin, reading.end), still[reading.member])
    begin, until = sequence.begin, sequence.until
    everything = [span for spans in read.values() for span in spans]
    return Unread(
        spans={partition: tuple(gaps(read[partition], begin, until)) for partition in sequence.partitions},
        stopped=tuple(gaps(everything, begin, until)),
    )


def _standstills(sequence: FaultSequence) -> dict[str, list[Span]]:
    found: dict[str, list[Span]] = defaultdict(list)
    for fault in sequence.faults:
        if isinstance(fault, StoodStill):
            found[fault.member].append((fault.begin, fault.end))
    return found


def awake(span: Span, still: Sequence[Span]) -> list[Span]:
    """The parts of a span outside the standstills."""
    left = [span]
    for begin, end in still:
        parts = [part for a, b in left for part in ((a, min(b, begin)), (max(a, end), b))]
        left = [(a, b) for a, b in parts if a < b]
    return left


def gaps(read: Iterable[Span], begin: float, until: float) -> Iterator[Span]:
    """The gaps between the spans, from begin to until."""
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
    """A KIP-848 group: epochs and reconciliation in place of generations and join barriers."""

    def __init__(self, sequence: FaultSequence, pace: Pace, chance: Random) -> None:
        super().__init__(sequence, pace, chance)
        self._target: dict[Slot, set[str]] = {}

    def settled(self) -> dict[Slot, set[str]]:
        """The state in which every member has its target assignment."""
        self._target = self._targets()
        return {slot: set(given) for slot, given in self._target.items()}

    def joins(self, member: Consumer, now: float) -> None:
        """Add a member: a new epoch, and what is free with the answer to its first heartbeat."""
        slot = Slot(member)
        self.slots.append(slot)
        member.beats_from = now
        self._new_epoch(now)
        self._heartbeat(slot, now + REQUEST_MS)

    def removed(self, slot: Slot, now: float) -> None:
        """Free the partitions of a slot and begin a new epoch."""
        self._target.pop(slot, None)
        self._new_epoch(now)

    def _targets(self) -> dict[Slot, set[str]]:
        slots = {p.name: p for p in sorted(self.slots, key=lambda p: p.name)}
        if not slots:
            return {}
        owned = {name: self._target.get(slot, ()) for name, slot in slots.items()}
        return {slots[name]: given for name, given in sticky([*slots], self.sequence.partitions, owned).items()}

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
        taken = {p for other in self.slots if other is not slot for p in other.given}
        leaves, gets = slot.given - target, target - slot.given - taken
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
        """The state in which every member has what the assignor gives it."""
        self._leader = self.slots[0] if self.slots else None
        return self._targets()

    def joins(self, member: Consumer, now: float) -> None:
        """A static member that comes back in time takes its slot again, and nobody else is disturbed."""
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
            self._not_before = now + DEFAULT_MS[INITIAL_DELAY]
        slot = Slot(member)
        self.slots.append(slot)
        self._join(slot, now)

    def removed(self, slot: Slot, now: float) -> None:
        """Rebalance the partitions of a slot among the others."""
        if self._leader is slot:
            self._leader = None
        if self.slots and not self._open:
            self._rebalance(now)
        self._complete(now)

    def _rebalance(self, now: float, by: Slot | None = None) -> None:
        """Open the barrier; members other than `by` learn it at their next heartbeats."""
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
        """Rejoin at the next poll, or at the one after it if the member commits first."""
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
        answered = max(now + REQUEST_MS, leader.next_poll(now)) if self.cooperative else now + REQUEST_MS
        closed = self._round
        polls = {slot: slot.member.next_poll(now) for slot in self.slots}
        self.agenda.plan(answered, lambda at: self._assign(closed, polls, at))

    def _assign(self, closed: int, polls: dict[Slot, float], now: float) -> None:
        """Give each member its share; a cooperative one reads the answer at its second poll after the barrier."""
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
        owned = {name: slot.member.owned for name, slot in slots.items() if slot.lives}
        given = sticky(names, partitions, owned)
        owners = {p: name for name, parts in owned.items() for p in parts}
        # What has to be given up first is nobody's until the next rebalance.
        return {slots[name]: {p for p in parts if owners.get(p, name) == name} for name, parts in given.items()}


Protocol = Literal["eager", "eager, static", "cooperative", "cooperative, static", "KIP-848"]
RUNS = 40
FEWEST_RUNS = 9
# What all runs together may take, so that nobody waits for an answer to `what if`: large groups get fewer runs.
WORK = 48_000
# The range leaves out the tenth with the lowest and the tenth with the highest figures.
LEFT_OUT = 0.1


class Spread(Struct, frozen=True, kw_only=True):
    """A figure with its uncertainty: the median of all replays, and where four in five of them lie."""

    low: float
    middle: float
    high: float


class Simulated(Struct, frozen=True, kw_only=True):
    """Unread and stopped time of an incident under one protocol, in milliseconds, and every replay behind them."""

    partition_ms: Spread
    stopped_ms: Spread
    runs: tuple[Unread, ...]


def simulate(sequence: FaultSequence, pace: Pace, protocol: Protocol) -> Simulated:
    """Replay an incident; the same input gives the same figures."""
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
    """The model of a protocol."""
    if protocol == "KIP-848":
        return EpochGroup(sequence, pace, chance)
    static, cooperative = protocol.endswith("static"), protocol.startswith("cooperative")
    return ClassicGroup(sequence, pace, chance, cooperative=cooperative, static=static)


def spread_of(figures: list[float]) -> Spread:
    """The median, and where the middle four fifths lie."""
    known = sorted(figures)
    out = round(LEFT_OUT * (len(known) - 1))
    return Spread(low=known[out], middle=known[len(known) // 2], high=known[-1 - out])


def in_ranges(members: Sequence[str], partitions: Sequence[str]) -> dict[str, set[str]]:
    """RangeAssignor: of every topic each member gets a row of partitions, the first ones one more."""
    given: dict[str, set[str]] = {member: set() for member in members}
    topics: dict[str, list[str]] = defaultdict(list)
    for partition in partitions:
        topics[partition.rpartition("-")[0]].append(partition)
    for of_topic in topics.values():
        each, more = divmod(len(of_topic), len(members))
        begin = 0
        for slot, member in enumerate(members):
            end = begin + each + (slot < more)
            given[member].update(of_topic[begin:end])
            begin = end
    return given


def sticky(
    members: Sequence[str], partitions: Sequence[str], owned: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """CooperativeStickyAssignor and KIP-848's uniform: even shares, and as few moves as that allows."""
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
