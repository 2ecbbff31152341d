"""The membership of a group during the replay: member ids that are in, departures and arrivals, with their lines.

Coordinators and clients log the same step, in either order and under different names: old clients print no
member id, old coordinators no newcomer. The table merges both into one departure or arrival, and undoes those that a
later line refutes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import GroupLoaded, GroupUnloaded
from rebalance_forensics.events.membership import LeaveSent, MemberFailed, MemberIdIssued, MemberJoined, MemberLoaded
from rebalance_forensics.events.partitions import OwnershipGivenUp, PartitionsRevoked
from rebalance_forensics.events.rebalances import GenerationReset, GenerationStabilized
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import DepartureWhy, Start, StaticReturn
from rebalance_forensics.timeline.identity.names import is_bare_member_id, name_in_member_id
from rebalance_forensics.timeline.identity.participants import Participant, Participants, placeholder_id
from rebalance_forensics.timeline.replay.drafts import ArrivalDraft, DepartureDraft
from rebalance_forensics.timeline.replay.headcount import Headcount
from rebalance_forensics.timeline.replay.leave_reasons import reason_text
from rebalance_forensics.timeline.replay.lost_membership import (
    is_rebalance_notice,
    lacks_member_id,
    was_a_member,
    was_refused,
)
from rebalance_forensics.timeline.replay.members import Members
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import (
    HEARTBEAT_MS,
    PROCESS_START_MS,
    ROUND_TRIP_MS,
    SESSION_MS,
    SUCCESSION_MS,
)

Newcomer = MemberIdIssued | MemberJoined
LEFT = ("closed", "left", "unsubscribed", "poll-timeout")
_RANK: tuple[DepartureWhy, ...] = (
    "poll-timeout",
    "unsubscribed",
    "removed-by-admin",
    "fenced",
    "session-expired",
    "rebalance-timeout",
    "sync-timeout",
    "revocation-timeout",
    "closed",
    "died",
    "expelled",
    "left",
    "vanished",
)


class MembershipTable:
    """Members, departures and arrivals so far; a step that several lines report is recorded once."""

    def __init__(self, participants: Participants, starts: Sequence[Start]) -> None:
        self.participants = participants
        self.live = Members()
        self.departures: dict[DepartureDraft, None] = {}
        self.arrivals: dict[ArrivalDraft, None] = {}
        self.returns: list[StaticReturn] = []
        self.rejoins: list[tuple[int, int]] = []
        """The spans in which a member was out that came back at once under the same id."""
        self._gone: dict[str, DepartureDraft] = {}
        self._last_departure: dict[Participant, DepartureDraft] = {}
        self._seen: set[Participant] = set()
        self._pending: dict[str, ArrivalDraft] = {}
        self._unnamed: dict[str, ArrivalDraft] = {}
        self._refused: dict[tuple[Participant, str | None], tuple[str, Event]] = {}
        self._starts = TimeIndex(starts)
        self._empty = True
        self._headcount = Headcount()
        self._loaded = LoadedMembers()
        self.unidentified = UnidentifiedNewcomers()

    def name_newcomers(self, now: int | None = None) -> None:
        """Record the returns of newcomers that no line has named by `now`, or by the end of the logs."""
        for departure, event in self.unidentified.returned(now, self.departures, self._starts):
            self._return_unlogged(departure, event)

    def _counted(self, event: Event) -> None:
        if self.unidentified.waiting:
            self.name_newcomers(event.at)
        if isinstance(event, GenerationStabilized):
            for departure in self._headcount.unlogged_returns(
                event, reversed(self.departures), reversed(self.arrivals)
            ):
                self._return_unlogged(departure, event)
        self._headcount.apply(event)
        for loaded in self._loaded.apply(event, self._gone):
            self.ensure_member(loaded.member, loaded)

    def _member_of(self, participant: Participant, client_id: str | None = None) -> str | None:
        """The latest live member id of a participant; of a Streams instance, that of the thread `client_id`."""
        members = self._members_of(participant, client_id)
        return members[-1] if members else None

    def _members_of(self, participant: Participant, client_id: str | None) -> Sequence[str]:
        """The live member ids of a participant: two where a consumer was made anew before the old one was closed."""
        members = self.live.of(participant)
        if participant.kind == "instance" and client_id is not None:
            members = [m for m in members if self.participants.client_of(m) in (client_id, participant.name)]
        return members

    def ensure_member(self, member: str, event: Event) -> None:
        """Record that a line shows this member in the group, whether its join was logged or not."""
        participant = (
            self.participants.of_member(member) if not member.startswith("?") else self.participants.of_speaker(event)
        )
        if participant is None:
            return
        if member not in self.live:
            self._resolve_placeholder(participant, member)
            self._supersede(participant, member)
            self.live[member] = participant
            departure = self._gone.get(member)
            if departure is not None and departure.returned is None and not _has_left(departure):
                del self.departures[departure]
                del self._gone[member]
        self._seen.add(participant)
        self._empty = False

    def _refused_without_its_id(self, participant: Participant, event: Event) -> None:
        """Remember a refused request without a member id: neither it nor the reset that follows ends a membership."""
        if lacks_member_id(event):
            self._refused[participant, event.speaker.client_id] = "", event

    def infer_existing_member(self, participant: Participant, event: Event) -> None:
        """Record a member that joined before the logs begin: only a member is told to rejoin or has partitions."""
        gives_back = isinstance(event, PartitionsRevoked) and event.partitions
        if not gives_back and not is_rebalance_notice(event):
            return
        client = event.speaker.client_id
        if self._member_of(participant, client) is None and participant not in self._last_departure:
            self.ensure_member(getattr(event, "member", None) or placeholder_id(participant, client), event)

    def _arrived(self, member: str, event: Event, *, empty: bool = False, asked: Event | None = None) -> None:
        """Record an arrival; `asked` is the client's JoinGroup, where only the answer to it names the member."""
        participant = (
            self.participants.of_member(member) if not member.startswith("?") else self.participants.of_speaker(event)
        )
        if participant is None or event.at is None:
            return
        if member in self.live:
            recent = self._pending.get(member)
            if recent is not None:
                self._confirm_arrival(recent, event)
            return
        if self._resolve_placeholder(participant, member):
            self.live[member] = participant
            return
        departure = self._gone.get(member)
        if (
            departure is not None
            and departure.returned is None
            and event.at - departure.at < 50
            and departure.at > event.at
        ):
            return
        if departure is not None and self._stayed(departure, event.at):
            self._take_back(departure, event.at)
            return
        events = [event] if asked is None else [asked, event]
        arrival = ArrivalDraft(
            participant, member, events[0].at or event.at, events, first=participant not in self._seen
        )
        arrival.while_empty = (self._empty or empty) and not self.live
        arrival.start = self._fresh_start(participant, event)
        last = self._last_departure.get(participant)
        if last is not None and last.returned is None:
            last.returned = arrival
            arrival.after = last
        self._supersede(participant, member)
        self.live[member] = participant
        self._pending[member] = arrival
        if member.startswith("?"):
            self._unnamed[member] = arrival
        self._seen.add(participant)
        self._empty = False
        self.arrivals[arrival] = None

    def _confirm_arrival(self, arrival: ArrivalDraft, event: Event) -> None:
        """Add a line to an arrival: a KIP-848 client logs JOINING before its heartbeat reaches the coordinator."""
        if isinstance(event, MemberJoined) and arrival.member in self.live.joining and event.at is not None:
            arrival.at = event.at
        arrival.events.append(event)

    def _return_unlogged(self, departure: DepartureDraft, event: Event) -> None:
        """Record the return of a member that no line names."""
        member = placeholder_id(departure.participant, self.participants.client_of(departure.member or ""))
        arrival = ArrivalDraft(departure.participant, member, event.at or 0, [event], first=False, after=departure)
        departure.returned = arrival
        self.live[member] = departure.participant
        self._unnamed[member] = arrival
        self._empty = False
        self.arrivals[arrival] = None

    def _departed(self, member: str, event: Event, why: DepartureWhy, *, late: bool = False) -> None:
        participant = self.live.get(member) or (
            self.participants.of_member(member) if not member.startswith("?") else None
        )
        if participant is None or event.at is None:
            return
        former = self._gone.get(member)
        if (
            member not in self.live
            and former is not None
            and (late or event.at - former.at < 10 * PROCESS_START_MS or self._has_left(member))
        ):
            self._add(former, event, why)
            return
        if former is None and self._is_former(participant, member):
            self._add(self._last_departure[participant], event, why)
            return
        unnamed_leave = self._unnamed_departure(participant, member, event.at) if why == "session-expired" else None
        if unnamed_leave is not None:
            self._add(unnamed_leave, event, why)
            return
        if member not in self.live and late:
            return
        if self.live.drop(member) is None:
            self._resolve_placeholder(participant, member)
        departure = DepartureDraft(participant, member, event.at, why, [event])
        departure.reason = reason_text(event)
        self._note(departure, member)

    def _shows_former_membership(self, participant: Participant, event: Event) -> bool:
        """True where nothing but the loss itself shows that the client was a member (see `was_refused`)."""
        if isinstance(event, OwnershipGivenUp):
            return participant not in self._seen
        return was_refused(event) and not self._seen

    def _expelled(self, participant: Participant, event: Event) -> None:
        member = self._rejected_member(participant, event)
        if member == "":
            return  # the answer to a request that named no member
        if member is None:
            last = self._last_departure.get(participant)
            if last is not None and last.returned is None:
                last.events.append(event)
            elif last is None and was_a_member(event):
                self._depart_unlogged(participant, None, event, "expelled")
            return
        if member not in self.live and participant not in self._seen and was_a_member(event):
            self._depart_unlogged(participant, member, event, "expelled")
        self._departed(member, event, "expelled", late=True)

    def _rejected_member(self, participant: Participant, event: Event) -> str | None:
        """The member id that the coordinator refused; "" for a request without one, None where it is unknown."""
        # A client resets its member id right after the answer (AbstractCoordinator.resetStateAndGeneration). In logs of
        # whole seconds its next id may stand before the line about the reset.
        client = participant, event.speaker.client_id
        named: str | None = getattr(event, "member", None)
        if named is not None:
            self._refused[client] = named, event
            return named
        former, answer = self._refused.get(client, (None, event))
        same_answer = isinstance(event, GenerationReset) and time_of(event) - time_of(answer) <= ROUND_TRIP_MS
        if same_answer and (former == "" or (former in self._gone and former not in self.live)):
            return former
        return self._member_of(participant, event.speaker.client_id)

    def record_stale_eviction(self, event: Event) -> None:
        """Record an eviction by a former coordinator as a departure without effect: the members went on elsewhere."""
        for member in event.members if isinstance(event, MemberFailed) else ():
            participant = self.participants.of_member(member)
            gone_before = member in self._gone and member not in self.live
            if participant is not None and event.at is not None and not gone_before:
                departure = DepartureDraft(participant, member, event.at, "session-expired", [event], stayed=True)
                self.departures[departure] = None

    def _has_left(self, member: str) -> bool:
        """True for a dynamic member that left: its id never comes back, a line that names it was delayed."""
        departure = self._gone.get(member)
        return (
            departure is not None
            and departure.why in LEFT
            and not member.startswith("?")
            and not is_bare_member_id(member)
        )

    def _is_former(self, participant: Participant, member: str) -> bool:
        """True where `member` names a membership that was known by a placeholder and ended with its process."""
        last = self._last_departure.get(participant)
        if last is None or last.returned is not None or member in self.live:
            return False
        return last.why == "vanished" and last.member == placeholder_id(
            participant, self.participants.client_of(member)
        )

    def _unnamed_departure(self, participant: Participant, member: str, at: int) -> DepartureDraft | None:
        """The poll timeout in the client's log that explains an expired session: the member had sent no LeaveGroup."""
        # Static members send none (KIP-345), nor do stream threads (internal.leave.group.on.close).
        if member in self.live:
            return None
        left = self._gone.get(placeholder_id(participant, self.participants.client_of(member)))
        if left is None or left.why != "poll-timeout" or left.returned is not None:
            return None
        return left if left.member is None and at - left.at <= SESSION_MS else None

    def _write_off(self, member: str, at: int, why: DepartureWhy, proof: Sequence[Event]) -> None:
        """Record the departure of a live member that no line reports."""
        participant = self.live.drop(member)
        assert participant is not None
        self._note(DepartureDraft(participant, member, at, why, list(proof)), member)

    def _depart_unlogged(self, participant: Participant, member: str | None, event: Event, why: DepartureWhy) -> None:
        """Record the departure of a member that joined before the logs begin."""
        departure = DepartureDraft(participant, member, event.at or 0, why, [event])
        departure.reason = reason_text(event)
        self._note(departure, member or placeholder_id(participant, event.speaker.client_id))

    def _note(self, departure: DepartureDraft, member: str) -> None:
        self._gone[member] = departure
        self._last_departure[departure.participant] = departure
        self._seen.add(departure.participant)
        self.departures[departure] = None

    def _add(self, departure: DepartureDraft, event: Event, why: DepartureWhy) -> None:
        logged_by_broker = any(e.speaker.role == "broker" for e in departure.events)
        departure.events.append(event)
        if logged_by_broker and departure.why in LEFT and why == "session-expired":
            # A coordinator that dies before the next generation is written leaves who left to its successor to evict.
            return
        if _RANK.index(why) < _RANK.index(departure.why):
            departure.why = why
        if event.speaker.role == "broker" and departure.events[0].speaker.role != "broker" and event.at is not None:
            waited = (
                not logged_by_broker and _is_request(departure.events[0]) and event.at - departure.at > HEARTBEAT_MS
            )
            departure.at = event.at if waited else min(departure.at, event.at)
        departure.reason = departure.reason or reason_text(event)

    def _stayed(self, departure: DepartureDraft, back_at: int) -> bool:
        """True where a member is back at once under its id: the group only bumped its epoch."""
        # A stream thread whose commit carries a stale epoch unsubscribes and subscribes again (KIP-1071).
        by_itself = departure.returned is None and departure.why in ("unsubscribed", "closed", "left")
        same_id = is_bare_member_id(departure.member or "")
        return self.participants.kind == "streams" and by_itself and same_id and back_at - departure.at <= ROUND_TRIP_MS

    def _take_back(self, departure: DepartureDraft, back_at: int) -> None:
        """Undo a departure of a member that stayed (`_stayed`)."""
        assert departure.member is not None
        del self.departures[departure]
        del self._gone[departure.member]
        if self._last_departure.get(departure.participant) is departure:
            del self._last_departure[departure.participant]
        self.live[departure.member] = departure.participant
        self.rejoins.append((departure.at, back_at))

    def _supersede(self, participant: Participant, member: str) -> None:
        """Remove the former id of a static member, which the coordinator has replaced by this one (KIP-345)."""
        name = name_in_member_id(member)
        if name is None or name not in participant.instance_ids:
            return
        for other in self.live.with_name(name):
            if other != member:
                del self.live[other]

    def _resolve_placeholder(self, participant: Participant, member: str) -> bool:
        """Replace the placeholder of a member by its id; False where there was none. Old clients log no id."""
        known = next((m for m in self._placeholders(participant, member) if m != member and m in self.live), None)
        if known is None:
            return False
        self.live.drop(known)
        arrival = self._unnamed.pop(known, None)
        if arrival is not None:
            arrival.member = member
        if self._pending.pop(known, None) is not None and arrival is not None:
            self._pending[member] = arrival
        return True

    def _placeholders(self, participant: Participant, member: str) -> tuple[str, str]:
        return placeholder_id(participant, self.participants.client_of(member)), placeholder_id(participant, None)

    def _fresh_start(self, participant: Participant, event: Event) -> Start | None:
        """The last start of the participant's process that no earlier arrival used."""
        start = self._starts.of(participant).last((event.at or 0) + 500)
        if start is None or self.participants.kind != "consumer":
            return start
        return None if any(a.start is start for a in islice(reversed(self.arrivals), 50)) else start


def _is_request(event: Event) -> bool:
    """True for a LeaveGroup: on its connection it waits behind a JoinGroup, whose answer waits for the rebalance."""
    return isinstance(event, LeaveSent)


class LoadedMembers:
    """The members that brokers loaded from `__consumer_offsets`, kept until one of them acts as the coordinator."""

    def __init__(self) -> None:
        self._by_log: dict[Place, list[MemberLoaded]] = defaultdict(list)
        self._generation = -1

    def apply(self, event: Event, departures: Mapping[str, DepartureDraft]) -> list[MemberLoaded]:
        """The loaded members of the last generation, once their broker logs as the coordinator; else none.

        Members that left since are not among them.
        """
        if isinstance(event, GenerationStabilized):
            self._generation = event.generation
        if isinstance(event, MemberLoaded):  # the line itself does not say which broker wrote it
            self._by_log[place_of(event)].append(event)
            return []
        if not self._by_log or event.speaker.role != "broker" or event.group is None:
            return []
        loaded = self._by_log.pop(place_of(event), [])
        if not loaded or isinstance(event, GroupUnloaded):
            return []
        newest = max(_generation(e) for e in loaded)
        if isinstance(event, GroupLoaded) and event.generation is not None:
            newest = event.generation
        if 0 <= newest < self._generation:
            return []
        return [e for e in loaded if _generation(e) in (newest, -1) and not _has_left(departures.get(e.member))]


def _has_left(departure: DepartureDraft | None) -> bool:
    """A departure that was only concluded from an absence is refuted by a line that shows the member in the group."""
    return departure is not None and departure.why != "vanished"


def _generation(event: MemberLoaded) -> int:
    return event.generation if event.generation is not None else -1


class UnidentifiedNewcomers:
    """Newcomers whose member id the coordinator's line does not name, oldest first."""

    def __init__(self) -> None:
        self.waiting: deque[Newcomer] = deque()

    def add(self, event: Newcomer) -> None:
        """Keep a newcomer until a client's line, or a departure before, identifies it."""
        self.waiting.append(event)

    def identify(self, event: Event) -> bool:
        """True where the client that asks to join now is the oldest of them, which is then identified."""
        if not any(abs((event.at or 0) - (waiting.at or 0)) <= ROUND_TRIP_MS for waiting in self.waiting):
            return False
        self.waiting.popleft()
        return True

    def returned(
        self, now: int | None, departures: dict[DepartureDraft, None], starts: TimeIndex[Start]
    ) -> Iterator[tuple[DepartureDraft, Event]]:
        """The newcomers that no client's line identified, each with the departure that it ends.

        That is the longest of the recent absences or, where a process has just started, that of the process. `now` is
        how far the logs are read, None at their end.
        """
        while self.waiting and (now is None or now - (self.waiting[0].at or 0) > ROUND_TRIP_MS):
            event = self.waiting.popleft()
            at = event.at or 0
            start = starts.last(at)
            started = start.participant if start is not None and start.at > at - SUCCESSION_MS else None
            absence: DepartureDraft | None = None
            for departure in reversed(departures):
                if departure.at <= at - SUCCESSION_MS:
                    break
                if departure.returned is None and departure.at <= at and started in (None, departure.participant):
                    absence = departure
            if absence is not None:
                yield absence, event
