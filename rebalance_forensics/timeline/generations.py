"""The generations of classic groups and the epochs of KIP-848 groups: start, members, leader and outcome."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Rebalance, numbered
from rebalance_forensics.timeline.identity.names import erlang_process, name_in_member_id, streams_thread
from rebalance_forensics.timeline.identity.participants import Participant, Participants, is_placeholder, placeholder_id
from rebalance_forensics.timeline.membership.members import Members
from rebalance_forensics.timeline.model import Generation, Member, Outcome
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, REQUEST_MS


@dataclass(slots=True, eq=False)
class Slot:
    """The lines about one generation."""

    number: int
    prepared: list[ev.RebalanceStarted] = field(default_factory=list)
    stabilized: ev.GenerationStabilized | None = None
    received: ev.AssignmentReceived | None = None
    computed: ev.AssignmentComputed | None = None
    emptied: ev.GroupEmptied | None = None
    not_stored: ev.AssignmentNotStored | None = None
    joined: dict[str, Participant] = field(default_factory=dict)
    join_starts: dict[Participant, int] = field(default_factory=dict)
    join_times: list[int] = field(default_factory=list)
    sync_times: list[int] = field(default_factory=list)
    answered: list[Event] = field(default_factory=list)
    failures: list[Event] = field(default_factory=list)
    live: tuple[str, ...] = ()
    leader: str | None = None
    lagging: set[str] = field(default_factory=set)
    """Members that joined later: since 4.3 they get the target assignment of an older epoch until the next one is
    computed."""

    def started_at(self) -> int | None:
        """When the join phase began, by the coordinator's line or else by the first JoinGroup in clients' logs."""
        times = [p.at for p in self.prepared if p.at is not None] or self.join_starts.values()
        return min(times, default=None)

    def stabilized_at(self) -> int | None:
        """When the join phase ended and the generation was created."""
        return min(self.join_times, default=None) if self.stabilized is None else self.stabilized.at

    def completed_at(self) -> int | None:
        """When the coordinator, or else the first member, received the leader's assignment."""
        return min(self.sync_times, default=None) if self.received is None else self.received.at

    def first_at(self) -> int:
        """The earliest known time of the generation; 0 if it has none."""
        emptied_at = self.emptied.at if self.emptied is not None else None
        times = self.started_at(), self.stabilized_at(), self.completed_at(), emptied_at
        return min([at for at in times if at is not None], default=0)

    def proof(self) -> list[Event]:
        """The lines that prove its rebalance."""
        lines: list[Event] = [*self.prepared]
        lines += [e for e in (self.stabilized, self.received, self.computed) if e is not None]
        return lines or self.answered[:3]

    def members(self, participants: Participants) -> tuple[Member, ...]:
        """Its members, from the leader's logged assignment, else the ids that match the coordinator's member count."""
        known = {_member(m, self.joined.get(m) or participants.of_member(m)) for m in _member_ids(self)}
        return _in_order(known | _successors(self, known))

    def outcome(self, *, is_last: bool) -> Outcome:
        """Its outcome; `is_last` if no other one followed it."""
        if self.emptied is not None and self.stabilized is None and not self.joined:
            return "empty"
        if self.received is not None or self.sync_times:
            return "failed" if self.not_stored is not None and not self.sync_times else "stable"
        if self.not_stored is not None:
            return "failed"
        return "unknown" if is_last else "superseded"


_MAKING_GENERATIONS = frozenset({
    ev.RebalanceStarted, ev.GenerationStabilized, ev.AssignmentReceived, ev.AssignmentComputed, ev.GroupEmptied,
    ev.AssignmentNotStored, ev.StreamsParticipants,
})  # fmt: skip


class Generations:
    """Collects the events of a group, in time order, into one slot for each generation."""

    def __init__(self, participants: Participants) -> None:
        self.participants = participants
        self.slots: list[Slot] = []
        self.unfinished: list[ev.RebalanceStarted] = []
        self.passed_over: list[ev.RebalanceStarted] = []
        """Rebalances whose generation is not logged: the next logged generation is a later one."""
        self._by_number: dict[int, Slot] = {}
        self._created_by: dict[int, Slot] = {}
        """`id` of the event that shows the creation of a generation -> its slot."""
        self._joining: dict[Participant, int] = {}
        self._failures: list[Event] = []
        self._highest = 0
        self._last_joined: dict[str | None, tuple[Slot, str | None]] = {}

    def apply(self, event: Event) -> None:
        """Apply one event."""
        if type(event) not in _MAKING_GENERATIONS:
            if event.speaker.role != "broker":
                self._apply_client_line(event)
            return
        match event:
            case ev.RebalanceStarted():
                self._prepared(event)
            case ev.GenerationStabilized():
                slot = self._created_by[id(event)] = self._slot(event.generation, event)
                slot.stabilized = slot.stabilized or event
                self._reached(slot)
            case ev.AssignmentReceived():
                slot = self._slot(event.generation, event)
                slot.received = slot.received or event
                slot.leader = event.leader or slot.leader
            case ev.AssignmentComputed(generation=n) if n is not None:
                slot = self._slot(n, event)
                slot.computed = slot.computed or event
                self._led_by_speaker(slot, event)
            case ev.GroupEmptied():
                # Until 0.10.0 this line names no generation; the line about the rebalance names the previous one.
                began = next((e.generation + 1 for e in self.unfinished if e.generation is not None), None)
                if (number := began if event.generation is None else event.generation) is not None:
                    self._slot(number, event).emptied = event
                    self.unfinished.clear()
            case ev.AssignmentNotStored(generation=n) if n is not None:
                self._slot(n, event).not_stored = event
            case ev.StreamsParticipants():
                self._led_by_thread(event)

    def note_members(self, event: Event, live: Members[Participant]) -> None:
        """Record the live member ids at the event that creates a generation."""
        slot = self._created_by.get(id(event))
        if slot is not None:
            # Only the latest ids, at most twice the member count: unlogged departures must not accumulate.
            created = slot.stabilized if type(event) is ev.GenerationStabilized else None
            count = created.member_count if created is not None else None
            most = None if count is None else max(2 * count, 1)
            slot.live = tuple(islice(reversed(live), most))[::-1]

    def _led_by_thread(self, event: ev.StreamsParticipants) -> None:
        # Only the leader logs the participants (StreamsPartitionAssignor), so this thread is the leader.
        thread = streams_thread(event.speaker.thread or "")
        slot, member = self._last_joined.get(thread, (None, None))
        if slot is not None and thread is not None:
            slot.leader = slot.leader or member

    def _apply_client_line(self, event: Event) -> None:
        participant = self.participants.of_speaker(event)
        if participant is None or event.at is None:
            return
        match event:
            case ev.JoinStarted():
                self._joining[participant] = event.at
            case ev.JoinSucceeded():
                slot = self._slot(event.generation, event)
                slot.joined[event.member or placeholder_id(participant, event.speaker.client_id)] = participant
                self._last_joined[streams_thread(event.member or "")] = slot, event.member
                slot.answered.append(event)
                if event.member_count:
                    slot.leader = slot.leader or event.member
                (slot.sync_times if event.after_sync else slot.join_times).append(event.at)
                if participant in self._joining:
                    # A static member that restarts in time rejoins its generation, which started earlier.
                    slot.join_starts.setdefault(participant, self._joining.pop(participant))
                if slot.stabilized is None:
                    self._created_by[id(event)] = slot
                self._reached(slot)
            case ev.SyncSucceeded():
                slot = self._slot(event.generation, event)
                # aiokafka logs the member id when it joins, but not when it syncs.
                if event.member or participant.kind == "instance" or participant not in slot.joined.values():
                    slot.joined.setdefault(
                        event.member or placeholder_id(participant, event.speaker.client_id), participant
                    )
                self._last_joined[streams_thread(event.member or "")] = slot, event.member
                slot.sync_times.append(event.at)
            case ev.WorkerAssigned(generation=n, leader=leader) if n is not None:
                self._slot(n, event).leader = leader
            case ev.JoinFailed() | ev.SyncFailed():
                self._failures.append(event)

    def _led_by_speaker(self, slot: Slot, event: Event) -> None:
        participant = self.participants.of_speaker(event)
        if participant is not None and slot.leader is None:
            slot.leader = next((m for m, a in slot.joined.items() if a is participant), None)

    def _prepared(self, event: ev.RebalanceStarted) -> None:
        if event.generation == 0 and self._highest >= 1 and not self._same_birth(event):
            self._by_number.clear()
            self._highest = 0
        self.unfinished.append(event)

    def _same_birth(self, event: ev.RebalanceStarted) -> bool:
        first = self._by_number.get(1)
        return first is not None and abs(first.first_at() - (event.at or 0)) < ONE_REBALANCE_MS and self._highest == 1

    def _reached(self, slot: Slot) -> None:
        waiting, self.unfinished = self.unfinished, []
        for prepared in waiting:
            if prepared.generation is None or prepared.generation + 1 == slot.number:
                slot.prepared.append(prepared)
            elif prepared.generation < slot.number:
                self.passed_over.append(prepared)
            else:
                self.unfinished.append(prepared)
        slot.failures.extend(self._failures)
        self._failures.clear()

    def _slot(self, number: int, event: Event) -> Slot:
        slot = self._by_number.get(number)
        if slot is None or (number == 1 and self._highest > 1 and (event.at or 0) - slot.first_at() > ONE_REBALANCE_MS):
            if slot is not None:
                self._by_number.clear()
                self._highest = 0
            slot = Slot(number)
            self._by_number[number] = slot
            self.slots.append(slot)
        self._highest = max(self._highest, number)
        return slot

    def finished(self) -> list[Slot]:
        """All slots, ordered by time and number."""
        return sorted(self.slots, key=lambda s: (s.first_at(), s.number))


def _in_order(members: Iterable[Member]) -> tuple[Member, ...]:
    return tuple(sorted(members, key=lambda m: (m.client_id or "", m.member_id or "")))


def _successors(slot: Slot, members: Collection[Member]) -> set[Member]:
    # Clients that replaced a static member with a new member id and keep its assignment in this generation (KIP-345).
    instances = {m.instance_id for m in members if m.instance_id}
    if not instances:
        return set()
    clients = {m.client_id for m in members}
    joined = (_member(m, participant) for m, participant in slot.joined.items())
    return {m for m in joined if m.instance_id in instances and m.client_id not in clients}


def _member_ids(slot: Slot) -> set[str]:
    joined, live = set(slot.joined), set(slot.live)
    if slot.computed is not None and slot.computed.assignment:
        return {member for member, _ in slot.computed.assignment}
    count = slot.stabilized.member_count if slot.stabilized else None
    if slot.emptied is not None and not joined and count is None:
        return set()
    named = {m for m in joined if not is_placeholder(m)}
    both = live | joined if named or not joined else _with_unnamed(live, slot)
    for candidate in (both, live, joined):
        if count is not None and len(candidate) == count:
            return candidate
    if count is not None and len(both) > count and len(joined) <= count:
        places = {m: place for place, m in enumerate(slot.live)}
        surplus = sorted(both - joined, key=lambda m: places.get(m, -1))
        return joined | set(surplus[len(both) - count :])
    return both


def _with_unnamed(live: set[str], slot: Slot) -> set[str]:
    # The live members, and placeholders for clients that joined without logging a member id, as old clients do. If a
    # live id has the name of such a client, it is that client's id. Placeholders that did not join are left out.
    names = {name_in_member_id(m) for m in live}
    live = {m for m in live if not is_placeholder(m) or m in slot.joined}
    for member, participant in slot.joined.items():
        # In a Streams instance, a placeholder represents the client of one thread only.
        thread = participant.client_ids & {member[1:]}
        if not names & ((thread or participant.client_ids) | participant.instance_ids):
            live.add(member)
    return live


@lru_cache(maxsize=1 << 10)
def _member(member_id: str, participant: Participant | None) -> Member:
    """A member for the report; cached, so that generations share the object."""
    name, shown = name_in_member_id(member_id), None if is_placeholder(member_id) else member_id
    if participant is None:
        return Member(member_id=shown, client_id=name)
    instance, client, clients = None, name, participant.client_ids
    if name in participant.instance_ids or (name is None and len(participant.instance_ids) == 1):
        instance = name or next(iter(participant.instance_ids))
        client = min(clients - {instance}, default=min(clients, default=None))
    elif not clients:
        client = name or erlang_process(participant.name)
    elif name is None or (shown is None and name not in clients):
        client = member_id[1:] if member_id[1:] in clients else min(clients)
    host = min(participant.hosts or participant.endpoints, default=None)
    return Member(member_id=shown, client_id=client, instance_id=instance, host=host)


def _failure(event: Event) -> str:
    what = "SyncGroup" if type(event) is ev.SyncFailed else "JoinGroup"
    return f"{what} failed: {getattr(event, 'error', None) or getattr(event, 'detail', None) or 'no reason given'}"


OF_EPOCHS = (ev.GroupEpochBumped, ev.TargetAssignmentComputed, ev.MemberReconciled, ev.MemberTransitioned)
"""The types of events about an epoch."""


@dataclass(slots=True, eq=False)
class EpochSlot(Slot):
    """The lines about one group epoch."""

    bumped: Event | None = None
    targeted: Event | None = None
    began: int | None = None
    stable_times: list[int] = field(default_factory=list)
    admitted: dict[str, Participant | None] = field(default_factory=dict)

    def started_at(self) -> int | None:
        """The time of its first line."""
        return self.began

    def stabilized_at(self) -> int | None:
        """When its target assignment was computed."""
        return self.targeted.at if self.targeted else None

    def completed_at(self) -> int | None:
        """When the last member reached this epoch."""
        return max(self.stable_times, default=None)

    def proof(self) -> list[Event]:
        """The lines that prove its start and its target assignment."""
        return [e for e in (self.bumped, self.targeted) if e is not None]

    def members(self, participants: Participants) -> tuple[Member, ...]:
        """The members that were in the group in this epoch; KIP-848 logs no count and has no leader."""
        return _in_order(_member(m, known or participants.of_member(m)) for m, known in self.admitted.items())

    def outcome(self, *, is_last: bool) -> Outcome:
        """Its outcome; `is_last` if no other one followed it."""
        if self.stable_times or not self.admitted:
            return "stable" if self.stable_times else "empty"
        return "unknown" if is_last else "superseded"


class GroupEpochs:
    """Collects the events of a group, in time order, into one slot for each epoch."""

    def __init__(self, participants: Participants) -> None:
        self.participants = participants
        self.slots: dict[int, EpochSlot] = {}

    def apply(self, event: Event, live: Members[Participant]) -> None:
        """Apply one event; `live` are the current members."""
        match event:
            case ev.GroupEpochBumped():
                slot = self._slot(event.epoch, event)
                slot.bumped = slot.bumped or event
                slot.admitted.update(_admitted(live))
            case ev.TargetAssignmentComputed():
                slot = self._slot(event.epoch, event)
                slot.targeted = slot.targeted or event
                slot.admitted.update(_admitted(live))
            case ev.MemberReconciled(epoch=n, member=m) if n:
                self._slot(n, event).admitted.setdefault(m, self.participants.of_member(m))
            case ev.MemberTransitioned(epoch=n) if n and n > 0:
                self._transitioned(event, n, live)

    def _transitioned(self, event: ev.MemberTransitioned, epoch: int, live: Members[Participant]) -> None:
        if event.after not in ("RECONCILING", "ACKNOWLEDGING", "STABLE"):
            return
        slot = self._slot(epoch, event)
        participant = self.participants.of_speaker(event)
        is_over = any(n > epoch for n in self.slots)
        if event.member:
            if event.member not in slot.admitted and is_over:
                slot.lagging.add(event.member)
            slot.admitted.setdefault(event.member, participant)
        if slot.bumped is None and slot.targeted is None:
            slot.admitted.update({m: a for m, a in live.items() if not is_placeholder(m)})
        # A member that reached this epoch gives partitions up for the next one before it gets the next epoch.
        if event.after == "STABLE" and event.at is not None and not (is_over and slot.stable_times):
            slot.stable_times.append(event.at)

    def _slot(self, epoch: int, event: Event) -> EpochSlot:
        slot = self.slots.setdefault(epoch, EpochSlot(epoch))
        if event.at is not None:
            slot.began = event.at if slot.began is None else min(slot.began, event.at)
        return slot

    def absorbs(self, slot: Slot) -> bool:
        """Merge a slot of classic members into the epoch with its number; False if there is no such epoch."""
        # Classic members of a KIP-848 group log the epoch as their generation.
        epoch = self.slots.get(slot.number)
        if epoch is None or slot.prepared or slot.stabilized or slot.received or slot.emptied:
            return False
        if abs(slot.first_at() - epoch.first_at()) > ONE_REBALANCE_MS:
            return False
        epoch.admitted.update({m: a for m, a in slot.joined.items() if not is_placeholder(m)})
        epoch.stable_times += slot.sync_times
        return True

    def finished(self) -> list[EpochSlot]:
        """All epochs, in the order of their numbers."""
        return [self.slots[n] for n in sorted(self.slots)]


def _admitted(live: Members[Participant]) -> dict[str, Participant]:
    return {m: a for m, a in live.items() if not is_placeholder(m) and m not in live.joining}


def _as_generations(slots: Sequence[Slot], participants: Participants) -> Iterator[tuple[int, Generation]]:
    """Each slot as a generation with its earliest time; `joined` and `left` are relative to the previous slot."""
    previous: set[str] = set()
    for place, slot in enumerate(slots):
        members = slot.members(participants)
        everybody = {m.member_id for m in members if m.member_id}
        ids = everybody - slot.lagging
        generation = Generation(
            generation=slot.number,
            started_at=slot.started_at(),
            completed_at=slot.completed_at(),
            trigger=None,
            leader=slot.leader,
            members=members,
            joined=tuple(sorted(ids - previous)),
            left=tuple(sorted(previous - ids)),
            outcome=slot.outcome(is_last=place == len(slots) - 1),
            reason=next((p.reason for p in slot.prepared if p.reason), None),
            failures=tuple(dict.fromkeys(_failure(e) for e in slot.failures)),
            emptied_at=slot.emptied.at if slot.emptied is not None else None,
        )
        yield slot.first_at(), generation
        previous = ids


def all_generations(
    participants: Participants, slots: Sequence[Slot], bumps: Sequence[EpochSlot]
) -> tuple[Generation, ...]:
    """The generations and epochs of a group, oldest first."""
    began = [*_as_generations(slots, participants), *_as_generations(bumps, participants)]
    return tuple(generation for _, generation in sorted(began, key=lambda b: (b[0], b[1].generation)))


def all_rebalances(
    classic: Generations, slots: Sequence[Slot], bumps: Sequence[EpochSlot], rejoins: Iterable[tuple[int, int]]
) -> tuple[Rebalance, ...]:
    """The rebalances of a group, oldest first; rebalances within `rejoins` did not change the members."""
    without_end = (*classic.passed_over, *classic.unfinished)
    found = [Rebalance(generation=None, started_at=p.at or 0, events=(p,)) for p in without_end]
    shown = [slot for slot in slots if slot.stabilized or slot.joined or slot.prepared]
    for slot in (*shown, *bumps):
        started = slot.started_at()
        rebalance = Rebalance(
            generation=slot.number,
            started_at=started if started is not None else slot.first_at(),
            stabilized_at=slot.stabilized_at(),
            completed_at=slot.completed_at(),
            events=tuple(slot.proof()),
            join_sent_at=dict(slot.join_starts),
            failures=tuple(slot.failures),
        )
        found.append(rebalance)
    again = [(out - REQUEST_MS, back + REQUEST_MS) for out, back in rejoins]
    found = [replace(r, followup="rejoin") if any(a <= r.started_at <= b for a, b in again) else r for r in found]
    return numbered("rebalance", sorted(found, key=lambda r: (r.started_at, r.generation or 0)))
