"""Infers transitions of members that no line reports, with the lines that prove them.

Each rule uses lines that Kafka would not have logged otherwise: a join barrier that completed without a member,
partitions that were assigned to another member, a member count, a member that a new coordinator loaded, or a member id
issued to an unknown client.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.coverage import Coverage, covering
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, DepartureWhy, Silent, Start
from rebalance_forensics.timeline.generations import Slot
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.time_index import TimeIndex

LEAVE_GROUP_STATIC_EPOCH = -2
"""The epoch that a static member sends on a temporary leave (ConsumerGroupHeartbeatRequest): it keeps its partitions
until its session expires."""
_RELEASES = (
    ev.PartitionsRevoked, ev.PartitionsLost, ev.OwnershipGivenUp, ev.TasksAssigned, ev.TasksRevoked, ev.TasksLost,
    ev.LeaveSent, ev.ConsumerClosed, ev.StreamsStateChanged,
)  # fmt: skip
_STATES_WITHOUT_PARTITIONS = ("JOINING", "PENDING_SHUTDOWN", "NOT_RUNNING")

_Client = tuple[Participant, str | None]
Newcomer = ev.MemberIdIssued | ev.MemberJoined


class InferredDeparture(Struct, frozen=True):
    """The departure of a client at `at` that no line reports; `shown_at` is the time of the line that proves it."""

    participant: Participant
    client_id: str | None
    at: int
    shown_at: int
    why: DepartureWhy
    proof: tuple[Event, ...]
    rule: Silent


class _Round(NamedTuple):
    slot: Slot
    joined: dict[_Client, Event]
    """The first join of each client."""

    @property
    def last_at(self) -> int:
        return max(map(time_of, self.joined.values()))

    @property
    def began(self) -> int | None:
        return self.slot.prepared[0].at if self.slot.prepared else None


# The join barrier completes only when every member has sent JoinGroup or has been removed. Before 2.4 no client logs
# the leader's assignment and before 2.1 no coordinator logs which members left, so only the list of the members that
# joined shows an absence.
def departures_by_missed_rebalance(
    participants: Participants, events: EventIndex, slots: Iterable[Slot]
) -> list[InferredDeparture]:
    """The departures of members that sent no JoinGroup for a rebalance that all others joined."""
    if not events.has_type(ev.JoinSucceeded):
        return []
    tries: dict[_Client, list[int]] = defaultdict(list)
    for event in events.of_type(ev.JoinStarted):
        participant = participants.of_speaker(event)
        if participant is not None and event.at is not None:
            tries[participant, event.speaker.client_id].append(event.at)
    rounds = []
    for slot in slots:
        joined: dict[_Client, Event] = {}
        for answer in slot.answered:
            if (participant := participants.of_speaker(answer)) is not None:
                joined.setdefault((participant, answer.speaker.client_id), answer)
        rounds += [_Round(slot, joined)] if slot.answered else []
    found: list[InferredDeparture] = []
    waiting: set[_Client] = set()
    ids: dict[_Client, str | None] = {}
    named = ((c, member, time_of(a)) for each in rounds for c, a in each.joined.items() if (member := _id_in(a)))
    last_used: dict[tuple[_Client, str | None], int] = {(client, member): at for client, member, at in named}
    for before, after in pairwise(rounds):
        absent = list(_absent(before, after, tries, waiting))
        out = {(m.participant, m.client_id) for m in absent}
        waiting = (before.joined.keys() | waiting) - after.joined.keys() - out
        ids |= {client: _id_in(answer) for client, answer in before.joined.items()}
        created = after.slot.stabilized
        # If a line counts or lists the members, a missing member need not be inferred.
        if after.slot.computed is None and (created is None or created.member_count is None):
            # A coordinator rejects a member id that it has removed.
            clients = (((m.participant, m.client_id), m) for m in absent)
            found += [m for client, m in clients if last_used.get((client, ids.get(client)), 0) <= before.last_at]
    return sorted(found, key=lambda m: (m.shown_at, m.participant.name, m.client_id or ""))


def _id_in(answer: Event) -> str | None:
    return answer.member if isinstance(answer, ev.JoinSucceeded) else None


def _absent(
    before: _Round, after: _Round, tries: dict[_Client, list[int]], waiting: set[_Client]
) -> Iterator[InferredDeparture]:
    """The clients that sent no JoinGroup; those in `waiting` got no response to the one for the previous generation."""
    until = after.last_at + windows.ROUND_TRIP_MS
    joined_at = min(e.at or 0 for e in after.joined.values())
    began = after.began if after.began is not None else _first_try(before, after, tries)
    since, proof = before.last_at, tuple(after.joined.values())[:2]
    for client in (before.joined.keys() | waiting) - after.joined.keys():
        tried = tries.get(client, [])
        if bisect_right(tried, since) >= bisect_right(tried, until):
            yield InferredDeparture(*client, began, joined_at, _why_absent(after), proof, "missed-rebalance")


def _first_try(before: _Round, after: _Round, tries: dict[_Client, list[int]]) -> int:
    since, until = before.last_at, after.last_at
    tried = [tries.get(client, []) for client in after.joined]
    steps = [times[place] for times in tried if (place := bisect_right(times, since)) < len(times)]
    return min((t for t in steps if t <= until), default=min(e.at or 0 for e in after.joined.values()))


def _why_absent(after: _Round) -> DepartureWhy:
    # The kind of departure: a member without a logged expiry left or missed the barrier, if all expiries are logged.
    # 0.11 logs expired sessions at INFO, and names the offsets partition in each line.
    created = after.slot.stabilized
    if created is None or created.speaker.offsets_partition is None:
        return "vanished"
    open_ms = time_of(created) - (after.began if after.began is not None else time_of(created))
    return "rebalance-timeout" if open_ms > windows.AT_ONCE_MS else "left"


# Without broker logs, only this shows that a member of a KIP-848 group stopped: there is no join barrier, and a member
# whose assignment does not change logs nothing.
def departures_by_takeover(
    participants: Participants,
    starts: Sequence[Start],
    events: EventIndex,
    *,
    coverage: Coverage,
    session_ms: int | None,
) -> list[InferredDeparture]:
    """The departures of members whose partitions were assigned to others before they revoked them."""
    # If an owner's log ends less than a session timeout before, its session cannot have expired: it revoked the
    # partitions, and the line is missing. The same applies if the coordinator's log shows no end of its membership.
    states = events.of_type(ev.MemberTransitioned)
    if not states:
        return []
    given_up, anew = _times(participants, events.of_type(*_RELEASES)), _times(participants, states)
    _keep_while_leaving(participants, states, given_up)
    for start in starts:
        insort(anew[start.participant, None], start.at)
    holders: dict[str, tuple[_Client, int]] = {}
    session = session_ms if session_ms is not None else windows.AT_ONCE_MS
    found = []
    for event in events.of_type(ev.TasksAssigned, ev.PartitionsAssigned):
        given = event.partitions if type(event) is ev.PartitionsAssigned else ()
        if type(event) is ev.TasksAssigned and event.epoch is not None:  # from a streams group (KIP-1071)
            given = event.active
        participant = participants.of_speaker(event) if given else None
        if participant is None or event.at is None:
            continue
        client = (participant, event.speaker.client_id)
        reassigned = {holders[p]: p for p in reversed(given) if p in holders and holders[p][0] != client}
        for (other, since), partition in reassigned.items():
            own, process = _owner_key(other), (other[0], None)
            until = event.at + windows.PROCESS_START_MS
            ends = coverage.ends(other[0])
            gave = ends is not None and ends < event.at < ends + session
            gave = gave or any(_between(given_up[k], since, until) for k in (own, process, (other[0], partition)))
            gave = gave or bool(covering(coverage.brokers, event.at - session, event.at))
            if not gave and not any(_between(anew[k], since, event.at) for k in (own, process)):
                times = event.at, event.at
                found.append(InferredDeparture(*other, *times, "vanished", (event,), "partitions-taken-over"))
        holders |= dict.fromkeys(given, (client, event.at + 1))
    return found


def _keep_while_leaving(
    participants: Participants, states: Sequence[ev.MemberTransitioned], given_up: dict[_Client, list[int]]
) -> None:
    # Drop from `given_up` the lines of static members that close: they keep their partitions until the session expires.
    for event in states:
        if event.after != "LEAVING" or event.epoch != LEAVE_GROUP_STATIC_EPOCH:
            continue
        participant = participants.of_speaker(event)
        if participant is None or event.at is None:
            continue
        begin, end = event.at - windows.HEARTBEAT_MS, event.at + windows.HEARTBEAT_MS
        for key in [k for k in given_up if k[0] is participant]:
            given_up[key] = [at for at in given_up[key] if not begin <= at <= end]


def _owner_key(client: _Client) -> _Client:
    # The owner of a client's partitions: the thread in a Streams instance, otherwise the participant.
    return client[0], streams_thread(client[1] or "") if client[0].kind == "instance" else None


def _times(participants: Participants, events: Sequence[Event]) -> dict[_Client, list[int]]:
    """The times when each owner gave up its partitions, by these lines."""
    # A revocation that names partitions applies only to those. Without an epoch, a stream thread only repeats the
    # assignment of its consumer.
    times: dict[_Client, list[int]] = defaultdict(list)
    for event in events:
        if event.at is None or (type(event) is ev.TasksAssigned and event.epoch is None):
            continue
        participant = participants.of_speaker(event)
        if participant is None or getattr(event, "after", "JOINING") not in _STATES_WITHOUT_PARTITIONS:
            continue
        if type(event) is ev.PartitionsRevoked and event.partitions and participant.kind != "instance":
            for partition in event.partitions:
                times[participant, partition].append(event.at)
        else:
            times[_owner_key((participant, event.speaker.client_id or event.speaker.thread))].append(event.at)
    return times


def _between(times: Sequence[int], begin: int, end: int) -> bool:
    place = bisect_left(times, begin)
    return place < len(times) and times[place] <= end


# Before 3.0 a coordinator logs no newcomer that joins while its barrier is open; from 2.7 on it counts the members of
# every generation. A count higher than the members that stayed or were named shows that one that left shortly before is
# back.
class Headcount:
    """The size of the last generation as its coordinator counted it."""

    def __init__(self) -> None:
        self._size: int | None = None
        self._at = 0
        self._names_everybody = False

    def apply(self, event: Event) -> None:
        """Note the count of members, or that this coordinator names newcomers."""
        if type(event) is ev.GenerationStabilized:
            self._size, self._at = event.member_count, event.at or 0
        elif type(event) is ev.GroupEmptied:
            self._size, self._at = 0, event.at or 0
        elif type(event) is ev.MemberIdIssued or type(event) is ev.MemberJoined:
            self._names_everybody = True

    def unlogged_returns(
        self, event: ev.GenerationStabilized, departures: Iterable[Departure], arrivals: Iterable[Arrival]
    ) -> list[Departure]:
        """The departures that ended unlogged with this generation; both lists are latest first."""
        if self._size is None or event.member_count is None or self._names_everybody:
            return []
        recent = list(takewhile(lambda d: d.at > self._at - windows.SUCCESSION_MS, departures))
        departed = sum(d.at > self._at for d in recent)
        arrived = sum(1 for _ in takewhile(lambda a: a.at > self._at, arrivals))
        extra = max(event.member_count - (self._size - departed + arrived), 0)
        absences = [d for d in reversed(recent) if d.returned is None and not d.participant.has_log]
        return absences[:extra]


# A broker that becomes the coordinator reads the group from __consumer_offsets and logs each member in it. The line
# does not say which broker wrote it, and a broker that never coordinated the group may have.
class LoadedMembers:
    """The members that brokers loaded, kept until one of them acts as the coordinator."""

    def __init__(self) -> None:
        self._by_log: dict[Place, list[ev.MemberLoaded]] = defaultdict(list)
        self._generation = -1

    def apply(self, event: Event) -> list[ev.MemberLoaded]:
        """The loaded members of the last generation, once their broker logs as the coordinator; else none."""
        if type(event) is ev.GenerationStabilized:
            self._generation = event.generation
        if type(event) is ev.MemberLoaded:
            self._by_log[place_of(event)].append(event)
            return []
        if not self._by_log or event.speaker.role != "broker" or event.group is None:
            return []
        loaded = self._by_log.pop(place_of(event), [])
        if not loaded or type(event) is ev.GroupUnloaded:
            return []
        newest = max([e.generation for e in loaded if e.generation is not None], default=-1)
        if type(event) is ev.GroupLoaded and event.generation is not None:
            newest = event.generation
        if 0 <= newest < self._generation:
            return []
        return [e for e in loaded if e.generation in (newest, None)]


class Newcomers:
    """Newcomers whose member id the coordinator's line does not print, oldest first."""

    def __init__(self) -> None:
        self.waiting: deque[Newcomer] = deque()

    def identify(self, event: Event) -> bool:
        """True if the client that asks to join now is the oldest of them, which is then identified."""
        if not any(abs(time_of(event) - time_of(waiting)) <= windows.ROUND_TRIP_MS for waiting in self.waiting):
            return False
        self.waiting.popleft()
        return True

    def returned(
        self, now: int | None, departures: Iterable[Departure], starts: TimeIndex[Start]
    ) -> Iterator[tuple[Departure, Event]]:
        """The newcomers that no client's line identified, each with the departure that it ends.

        That is the longest of the recent absences or, where a process has just started, that of the process. `now` is
        how far the logs are read, None at their end; `departures` are latest first.
        """
        due = list(takewhile(lambda e: now is None or now - time_of(e) > windows.ROUND_TRIP_MS, self.waiting))
        recent = list(takewhile(lambda d: d.at > time_of(due[0]) - windows.SUCCESSION_MS, departures)) if due else []
        for event in due:
            self.waiting.popleft()
            at = time_of(event)
            start = starts.last(at)
            started = start.participant if start is not None and start.at > at - windows.SUCCESSION_MS else None
            absences = [
                d
                for d in recent
                if d.returned is None and at - windows.SUCCESSION_MS < d.at <= at and started in (None, d.participant)
            ]
            if absences:
                yield absences[-1], event
