"""The membership of a group during the replay: the current members, and one transition for each join or departure.

Coordinators and clients log the same step, in any order and with different names: old clients log no member id, old
coordinators no newcomers. Both lines become one transition, and a transition that a later line disproves is undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import (
    Arrival,
    Departure,
    DepartureWhy,
    Sighting,
    Silent,
    Start,
    Transition,
    amend,
)
from rebalance_forensics.timeline.identity.names import is_bare_member_id, name_in_member_id
from rebalance_forensics.timeline.identity.participants import Participant, Participants, is_placeholder, placeholder_id
from rebalance_forensics.timeline.membership import lost_membership
from rebalance_forensics.timeline.membership.members import Members
from rebalance_forensics.timeline.membership.silent import Headcount, LoadedMembers, Newcomers
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, PROCESS_START_MS, REQUEST_MS, ROUND_TRIP_MS, SESSION_MS

T = TypeVar("T", bound=Transition)
LEFT = ("closed", "left", "unsubscribed", "poll-timeout")
# The more specific of two lines about a departure gives its reason: a client logs its poll timeout, a coordinator that
# the session expired. A list without the member only shows that it is missing.
_RANK: tuple[DepartureWhy, ...] = (
    "poll-timeout", "unsubscribed", "removed-by-admin", "fenced", "session-expired", "rebalance-timeout",
    "sync-timeout", "revocation-timeout", "closed", "died", "expelled", "left", "vanished",
)  # fmt: skip
# A process start belongs to one arrival; a search of this many of the group's last arrivals finds it.
_RECENT = 50


class MembershipRecorder:
    """The current members and the transitions so far; a step that several lines report is recorded once."""

    def __init__(self, participants: Participants, starts: Sequence[Start]) -> None:
        self.participants = participants
        self.live = Members[Participant]()
        self.transitions: dict[Transition, None] = {}
        self.rejoins: list[tuple[int, int]] = []
        """The spans in which a member was out that came back at once under the same id."""
        self._departures: dict[str, Departure] = {}
        """The last departure of each member id."""
        self._last_departure: dict[Participant, Departure] = {}
        self._seen: set[Participant] = set()
        self._unconfirmed: dict[str, Arrival] = {}
        """Arrivals that the next generation has yet to confirm: a coordinator may withdraw an id that it issued."""
        self._by_placeholder: dict[str, Transition] = {}
        self._refused: dict[tuple[Participant, str | None], tuple[str, Event]] = {}
        self._starts = TimeIndex(starts)
        self._empty = True
        self._headcount = Headcount()
        self._loaded = LoadedMembers()
        self.newcomers = Newcomers()

    def latest(self, kind: type[T]) -> Iterator[T]:
        """The transitions of a type, the last recorded first."""
        return (transition for transition in reversed(self.transitions) if isinstance(transition, kind))

    def name_newcomers(self, now: int | None = None) -> None:
        """Record the return of newcomers that no line named by `now`, or by the end of the logs."""
        for departure, event in self.newcomers.returned(now, self.latest(Departure), self._starts):
            self._return_unlogged(departure, event, "id-issued")

    def count(self, event: Event) -> None:
        """Record members that only a member count shows, or that a new coordinator loaded."""
        if self.newcomers.waiting:
            self.name_newcomers(event.at)
        if type(event) is ev.GenerationStabilized:
            for departure in self._headcount.unlogged_returns(event, self.latest(Departure), self.latest(Arrival)):
                self._return_unlogged(departure, event, "counted-again")
        self._headcount.apply(event)
        for loaded in self._loaded.apply(event):
            # A line that shows the member disproves a departure that was only inferred from its absence.
            known = self._departures.get(loaded.member)
            if known is None or known.why == "vanished":
                self.ensure_member(loaded.member, loaded)

    def member_of(self, participant: Participant, client_id: str | None = None) -> str | None:
        """The latest live member id of a participant; of a Streams instance, that of the thread `client_id`."""
        members = self.members_of(participant, client_id)
        return members[-1] if members else None

    def members_of(self, participant: Participant, client_id: str | None) -> Sequence[str]:
        """The live member ids of a participant: two if a consumer was recreated before the old one was closed."""
        members = self.live.of(participant)
        if participant.kind == "instance" and client_id is not None:
            members = [m for m in members if self.participants.client_of(m) in (client_id, participant.name)]
        return members

    def _participant_of(self, member: str, event: Event) -> Participant | None:
        return self.participants.of_speaker(event) if is_placeholder(member) else self.participants.of_member(member)

    def ensure_member(self, member: str, event: Event) -> None:
        """Record that a line shows this member in the group, even if its join was not logged."""
        participant = self._participant_of(member, event)
        if participant is None:
            return
        if member not in self.live:
            is_known = self._resolve_placeholder(participant, member)
            self._supersede(participant, member)
            self.live[member] = participant
            departure = self._departures.get(member)
            if departure is not None and departure.returned is None and departure.why == "vanished":
                del self.transitions[departure], self._departures[member]
            elif not is_known:
                self._enter(Sighting(participant, member, event.at or 0, (event,), "shown-in-group"), member)
        self._seen.add(participant)
        self._empty = False

    def _enter(self, transition: Transition, member: str) -> None:
        self.live[member] = transition.participant
        if is_placeholder(member):
            self._by_placeholder[member] = transition
        self._empty = False
        self.transitions[transition] = None

    def infer_existing_member(self, participant: Participant, event: Event) -> None:
        """Record a member that joined before the logs begin, by a line about a rejoin or its partitions."""
        ends = type(event) is ev.WorkerStopped and event.phase == "stopped"
        ends = ends or (type(event) is ev.StreamsStateChanged and event.after == "ERROR" and event.before != "CREATED")
        if ends and participant not in self._seen:
            # The stop of a worker, or of the last thread of a Streams client, may be its only line, if the log begins
            # just before it.
            self.depart_unlogged(participant, None, event, "closed")
        gives_back = type(event) is ev.PartitionsRevoked and event.partitions
        if not gives_back and not lost_membership.is_rebalance_notice(event):
            return
        client = event.speaker.client_id
        if self.member_of(participant, client) is None and participant not in self._last_departure:
            self.ensure_member(getattr(event, "member", None) or placeholder_id(participant, client), event)

    def arrive(
        self,
        member: str,
        event: Event,
        *,
        empty: bool = False,
        asked: Event | None = None,
        silent: Silent | None = None,
    ) -> None:
        """Record an arrival; `asked` is the client's JoinGroup, if only the response names the member."""
        participant = self._participant_of(member, event)
        if participant is None or event.at is None:
            return
        if member in self.live:
            self._confirm(member, event)
            return
        if self._resolve_placeholder(participant, member):
            self.live[member] = participant
            return
        departure = self._departures.get(member)
        if departure is not None and departure.returned is None and departure.at - event.at > 0:
            return  # the line is from before the member left
        if departure is not None and self._kept_its_place(departure, event.at):
            self._undo(departure, event.at)
            return
        events, silent = ((event,), silent) if asked is None else ((asked, event), None)
        last = self._last_departure.get(participant)
        fresh, was_empty = self.fresh_start(participant, event), (self._empty or empty) and not self.live
        self._supersede(participant, member)
        arrival = Arrival(
            participant=participant,
            member=member,
            at=events[0].at or event.at,
            events=events,
            silent=silent,
            first=participant not in self._seen,
            ends=last if last is not None and last.returned is None else None,
            start=fresh,
            while_empty=was_empty,
        )
        if arrival.ends is not None:
            amend(arrival.ends, returned=arrival)
        self._unconfirmed[member] = arrival
        self._seen.add(participant)
        self._enter(arrival, member)

    def _confirm(self, member: str, event: Event) -> None:
        # Add a line to an arrival: a KIP-848 client logs JOINING before its heartbeat reaches the coordinator.
        arrival = self._unconfirmed.get(member)
        if arrival is None:
            return
        if type(event) is ev.MemberJoined and member in self.live.joining and event.at is not None:
            amend(arrival, at=event.at)
        amend(arrival, events=(*arrival.events, event), silent=None)

    def _return_unlogged(self, departure: Departure, event: Event, silent: Silent) -> None:
        member = placeholder_id(departure.participant, self.participants.client_of(departure.member or ""))
        arrival = Arrival(departure.participant, member, event.at or 0, (event,), silent, first=False, ends=departure)
        amend(departure, returned=arrival)
        self._enter(arrival, member)

    def withdraw(self, member: str) -> None:
        """Undo the arrival of a member that gave up before it joined."""
        arrival = self._unconfirmed.pop(member, None)
        if arrival is not None and self.live.drop(member) is not None:
            del self.transitions[arrival]
            if arrival.ends is not None:
                amend(arrival.ends, returned=None)

    def depart(
        self, member: str, event: Event, why: DepartureWhy, *, late: bool = False, silent: Silent | None = None
    ) -> None:
        """Record a departure, or another line about it."""
        participant = self.live.get(member) or (None if is_placeholder(member) else self.participants.of_member(member))
        if participant is None or event.at is None:
            return
        known = self._departures.get(member)
        if member not in self.live and known is not None:
            if late or event.at - known.at < 10 * PROCESS_START_MS or self.has_left(member):
                self.add(known, event, why, silent)
                return
        elif known is None and self._is_former(participant, member):
            self.add(self._last_departure[participant], event, why, silent)
            return
        within_ms = {"session-expired": SESSION_MS, "left": HEARTBEAT_MS}.get(why)
        unnamed = self._unnamed_departure(participant, member, event.at - within_ms) if within_ms else None
        if unnamed is not None:
            self.add(unnamed, event, why)
            return
        if member not in self.live and late:
            return
        if self.live.drop(member) is None:
            self._resolve_placeholder(participant, member)
        reason = reason_in(event)
        self._leave(Departure(participant, member, event.at, (event,), silent, why=why, reason=reason), member)

    def shows_former_membership(self, participant: Participant, event: Event) -> bool:
        """True if only the loss itself shows that the client was a member (see `was_refused`)."""
        if type(event) is ev.OwnershipGivenUp:
            return participant not in self._seen
        return lost_membership.was_refused(event) and not self._seen

    def refuse(self, participant: Participant, event: Event) -> None:
        """Record that a request was rejected, which expels a member."""
        if lost_membership.lacks_member_id(event):  # neither this response nor the reset that follows ends a membership
            self._refused[participant, event.speaker.client_id] = "", event
        if lost_membership.was_expelled(event):
            self.expel(participant, event)

    def expel(self, participant: Participant, event: Event) -> None:
        """Record that a client learned that it is no longer a member."""
        member = self._rejected_member(participant, event)
        if member == "":
            return  # the response to a request without a member id
        last = self._last_departure.get(participant)
        if last is not None and self._is_about_former_id(last, event):
            amend(last, events=(*last.events, event), silent=None)
            return
        if member is None:
            if last is not None and last.returned is None:
                amend(last, events=(*last.events, event), silent=None)
            elif last is None and lost_membership.was_a_member(event):
                self.depart_unlogged(participant, None, event, "expelled")
            return
        if member not in self.live and participant not in self._seen and lost_membership.was_a_member(event):
            self.depart_unlogged(participant, member, event, "expelled")
        self.depart(member, event, "expelled", late=True)

    def _is_about_former_id(self, last: Departure, event: Event) -> bool:
        """True for an error without a member id that a client logs after the coordinator issued its new id.

        An application may log an error from its client after the client's next JoinGroup, and in logs of whole seconds
        both are in the same second.
        """
        back = last.returned
        if back is None or getattr(event, "member", None) is not None or event.speaker.role == "broker":
            return False
        issued = back.member not in (None, last.member) and 0 <= time_of(event) - back.at <= ROUND_TRIP_MS
        return issued and all(e.speaker.role == "broker" for e in last.events)

    def _rejected_member(self, participant: Participant, event: Event) -> str | None:
        """The member id that the coordinator rejected; "" for a request without one, None if it is unknown."""
        # A client resets its member id directly after the response (AbstractCoordinator.resetStateAndGeneration). In
        # logs of whole seconds, the next id may appear before the line about the reset.
        client = participant, event.speaker.client_id
        named: str | None = getattr(event, "member", None)
        if named is not None:
            self._refused[client] = named, event
            return named
        former, answer = self._refused.get(client, (None, event))
        same_answer = type(event) is ev.GenerationReset and time_of(event) - time_of(answer) <= ROUND_TRIP_MS
        if same_answer and (former == "" or (former in self._departures and former not in self.live)):
            return former
        return self.member_of(participant, event.speaker.client_id)

    def record_stale_eviction(self, event: Event) -> None:
        """Record an eviction by a former coordinator as a departure without effect: the members stayed in the group."""
        for member in event.members if type(event) is ev.MemberFailed else ():
            participant = self.participants.of_member(member)
            is_out = member in self._departures and member not in self.live
            if participant is not None and event.at is not None and not is_out:
                stale = Departure(participant, member, event.at, (event,), why="session-expired", stayed=True)
                self.transitions[stale] = None

    def has_left(self, member: str) -> bool:
        """True for a dynamic member that left: its id is never used again, so a line that names it was delayed."""
        departure = self._departures.get(member)
        is_reusable = is_placeholder(member) or is_bare_member_id(member)
        return departure is not None and departure.why in LEFT and not is_reusable

    def _is_former(self, participant: Participant, member: str) -> bool:
        """True if `member` is a membership that was known by a placeholder and ended with its process."""
        last = self._last_departure.get(participant)
        if last is None or last.returned is not None or member in self.live or last.why != "vanished":
            return False
        return last.member == self.placeholders(participant, member)[0]

    def _unnamed_departure(self, participant: Participant, member: str, since: int) -> Departure | None:
        # The poll timeout in the client's log that explains a leave without a reason, or an expired session where the
        # member sent no LeaveGroup: static members send none (KIP-345), nor stream threads
        # (internal.leave.group.on.close).
        if member in self.live:
            return None
        left = self._departures.get(self.placeholders(participant, member)[0])
        if left is None or left.why != "poll-timeout" or left.returned is not None:
            return None
        return left if left.member is None and left.at >= since else None

    def write_off(self, member: str, at: int, why: DepartureWhy, proof: Sequence[Event], silent: Silent) -> None:
        """Record a departure of a live member that was not logged."""
        participant = self.live.drop(member)
        assert participant is not None
        self._leave(Departure(participant, member, at, tuple(proof), silent, why=why), member)

    def depart_unlogged(self, participant: Participant, member: str | None, event: Event, why: DepartureWhy) -> None:
        """Record the departure of a member that joined before the logs begin."""
        key = member or placeholder_id(participant, event.speaker.client_id)
        self._leave(Departure(participant, member, event.at or 0, (event,), why=why, reason=reason_in(event)), key)

    def _leave(self, departure: Departure, member: str) -> None:
        self._departures[member] = departure
        self._last_departure[departure.participant] = departure
        self._seen.add(departure.participant)
        self.transitions[departure] = None

    def add(self, departure: Departure, event: Event, why: DepartureWhy, silent: Silent | None = None) -> None:
        """Add a line to a departure; the more specific line gives the reason, the coordinator's line the time."""
        logged_by_broker = any(e.speaker.role == "broker" for e in departure.events)
        sent = departure.events[0]
        # If two rules infer it, the more specific one is recorded.
        rule = silent if departure.silent == "not-assigned" else departure.silent
        reported = silent is None or departure.silent is None
        amend(departure, events=(*departure.events, event), silent=None if reported else rule)
        if logged_by_broker and departure.why in LEFT and why == "session-expired":
            # If a coordinator died before it wrote the next generation, its successor evicts members that had already
            # left.
            return
        if departure.why == "poll-timeout" and lost_membership.was_removed_before(departure, event):
            amend(departure, why="expelled")
        elif _RANK.index(why) < _RANK.index(departure.why) and not lost_membership.noticed_late(departure, event, why):
            amend(departure, why=why)
        if event.speaker.role == "broker" and sent.speaker.role != "broker" and event.at is not None:
            # A LeaveGroup is processed after a JoinGroup on the same connection, which gets its response after the
            # rebalance.
            waited = isinstance(sent, ev.LeaveSent) and event.at - departure.at > HEARTBEAT_MS and not logged_by_broker
            amend(departure, at=event.at if waited else min(departure.at, event.at))
        amend(departure, reason=departure.reason or reason_in(event))

    def _kept_its_place(self, departure: Departure, back_at: int) -> bool:
        # True if a member is back at once with the same id: the group only bumped its epoch.
        # A stream thread whose commit carries a stale epoch unsubscribes and subscribes again (KIP-1071).
        by_itself = departure.returned is None and departure.why in ("unsubscribed", "closed", "left")
        same_id = is_bare_member_id(departure.member or "")
        return self.participants.kind == "streams" and by_itself and same_id and back_at - departure.at <= ROUND_TRIP_MS

    def _undo(self, departure: Departure, back_at: int) -> None:
        assert departure.member is not None
        del self.transitions[departure], self._departures[departure.member]
        if self._last_departure.get(departure.participant) is departure:
            del self._last_departure[departure.participant]
        self.live[departure.member] = departure.participant
        self.rejoins.append((departure.at, back_at))

    def _supersede(self, participant: Participant, member: str) -> None:
        # Remove the former id of a static member, which the coordinator replaced with this one (KIP-345).
        name = name_in_member_id(member)
        for other in self.live.with_name(name) if name in participant.instance_ids else ():
            if other != member:
                self.live.drop(other)

    def _resolve_placeholder(self, participant: Participant, member: str) -> bool:
        """Replace the placeholder of a member with its id; False if there was none. Old clients log no id."""
        known = next((m for m in self.placeholders(participant, member) if m != member and m in self.live), None)
        if known is None:
            return False
        self.live.drop(known)
        transition = self._by_placeholder.pop(known, None)
        if transition is not None:
            amend(transition, member=member)
        if self._unconfirmed.pop(known, None) is not None and isinstance(transition, Arrival):
            self._unconfirmed[member] = transition
        return True

    def placeholders(self, participant: Participant, member: str) -> tuple[str, str]:
        """The possible placeholders of a member: that of its client, and that of its participant."""
        return placeholder_id(participant, self.participants.client_of(member)), placeholder_id(participant, None)

    def fresh_start(self, participant: Participant, event: Event) -> Start | None:
        """The last start of the participant's process that does not belong to an earlier arrival, or None."""
        # A client logs its first lines in any order: its configuration may follow its JoinGroup.
        start = self._starts.of(participant).last((event.at or 0) + 10 * REQUEST_MS)
        if start is None or self.participants.kind != "consumer":
            return start
        return None if any(a.start is start for a in islice(self.latest(Arrival), _RECENT)) else start


def reason_in(event: Event) -> str | None:
    """The reason as logged in the line, or None."""
    reasons = (getattr(event, name, None) for name in ("reason", "client_reason"))
    return next((reason for reason in reasons if isinstance(reason, str)), None)
