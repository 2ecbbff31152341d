"""The replay of membership: applies the lines of coordinators and clients that add, remove or rename a member.

One forward pass over the lines of a group records the transitions; `revision.py` then corrects them by the whole
history.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import is_error_before_reset
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, DepartureWhy, Start, StaticReturn, amend
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import Participant, Participants, is_placeholder, placeholder_id
from rebalance_forensics.timeline.membership.lost_membership import session_is_over
from rebalance_forensics.timeline.membership.members import MOVES_BY_TRIGGER
from rebalance_forensics.timeline.membership.recording import MembershipRecorder
from rebalance_forensics.timeline.membership.silent import LEAVE_GROUP_STATIC_EPOCH, InferredDeparture
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, PROCESS_START_MS, QUIET_MS, ROUND_TRIP_MS

FIRST_GENERATION = 1
"""A new group starts in generation 0 (ClassicGroup); an empty group that was not deleted keeps its generation."""
# KIP-800 reasons of LeaveGroup; franz-go closes "per normal operation".
_DEPARTURES: Mapping[str | None, DepartureWhy] = {
    why: why for why in ("poll-timeout", "unsubscribed", "closed", "removed-by-admin")
}
# Lines of a client just before it leaves, which may be the only ones that show the reason.
_HINTS = (ev.PollTimeoutExpired, ev.Unsubscribed)
# An eviction without a member id is one of the last departures: the members that missed the rebalance follow it.
_RECENT = 10
# Lines about joins, departures and members. Other lines skip the `case`s, since a negative `isinstance` of a msgspec
# class takes 0.3 us.
_NAMING_MEMBERS = frozenset({
    ev.AssignmentReceived, ev.MemberIdIssued, ev.MemberJoined, ev.RebalanceStarted, ev.MemberLeft, ev.MemberFailed,
    ev.PendingMemberRemoved, ev.StaticMemberReplaced, ev.GroupEmptied, ev.AssignmentComputed,
    ev.TargetAssignmentComputed, ev.MemberReconciled,
})  # fmt: skip


class MembershipReplay(MembershipRecorder):
    """The forward pass: applies the events of a group, oldest first, to the record of its members."""

    def __init__(self, participants: Participants, starts: Sequence[Start]) -> None:
        super().__init__(participants, starts)
        self._recent: dict[Participant, list[Event]] = defaultdict(list)
        self._joining: dict[tuple[Participant, str | None], Event] = {}
        self._answered: dict[tuple[Participant | None, str | None], Event] = {}
        self._mapped = False
        self._converted = False
        self._known_as: dict[tuple[Participant, str | None], str] = {}
        self._begins = {id(s.events[0]): s for s in starts}
        self._between_ids: dict[Participant, tuple[str, Event]] = {}
        self._epoch = 0

    def infer_departure(self, missed: InferredDeparture) -> None:
        """Record the departure of a member that missed a rebalance, unless another line already showed it."""
        anonymous = self._anonymous_expiry(missed)
        if anonymous is not None:
            amend(anonymous, participant=missed.participant, events=(*anonymous.events, *missed.proof))
            self._last_departure[missed.participant] = anonymous
            self._resolve_placeholder(missed.participant, anonymous.member or "")
            return
        for member in self.live.of(missed.participant):
            if missed.participant.kind != "instance" or self.participants.client_of(member) == missed.client_id:
                self.write_off(member, missed.at, missed.why, missed.proof, missed.rule)

    def _anonymous_expiry(self, missed: InferredDeparture) -> Departure | None:
        # It may be an eviction of an unknown member: workers share a client id and log no member id before 2.4.
        for departure in islice(self.latest(Departure), _RECENT):
            known = departure.participant.has_log or missed.client_id not in departure.participant.client_ids
            if not known and missed.at - PROCESS_START_MS <= departure.at <= missed.shown_at:
                return departure
        return None

    def end(self, participant: Participant, at: int, why: DepartureWhy, proof: Sequence[Event]) -> None:
        """Record the end of a participant that sent no LeaveGroup."""
        for member in self.live.of(participant):
            back = self._by_placeholder.get(member)
            if not isinstance(back, Arrival) or back.at <= at:
                self.write_off(member, at, why, proof, "process-ended")

    def apply(self, event: Event) -> None:
        """Apply one event; events come oldest first."""
        start = self._begins.get(id(event))
        if start is not None:
            self._started_anew(start, event)
        self.count(event)
        self._converted |= type(event) is ev.GroupConverted
        if type(event) in _NAMING_MEMBERS:
            self._apply_to_the_named(event)
        else:
            self._apply_client_line(event)
        self.live.apply(event)

    def _apply_to_the_named(self, event: Event) -> None:
        match event:
            case ev.AssignmentReceived(leader=str(member)) if member not in self._departures:
                self.ensure_member(member, event)  # its join may precede the logs
            case ev.MemberIdIssued() | ev.MemberJoined():
                self._coordinator_took_in(event, event.member)
            case ev.RebalanceStarted():
                self._rebalance_named(event)
            case ev.MemberLeft():
                self._left(event)
            case ev.MemberFailed():
                self._failed(event)
            case ev.PendingMemberRemoved():
                self.withdraw(event.member)
            case ev.StaticMemberReplaced():
                self._replaced(event)
            case ev.GroupEmptied():
                for member in list(self.live):
                    self.depart(member, event, "left", silent="group-emptied")
                self._empty = True
            case ev.AssignmentComputed() | ev.TargetAssignmentComputed():
                self._assigned(event)
            case ev.MemberReconciled() if event.member not in self._departures:
                # A member that reconciles (KIP-848) may have joined before the logs begin.
                self.ensure_member(event.member, event)

    def _failed(self, event: ev.MemberFailed) -> None:
        for member in event.members:
            self.depart(member, event, event.why if event.why != "unknown" else "session-expired")

    def _coordinator_took_in(self, event: ev.MemberIdIssued | ev.MemberJoined, member: str | None) -> None:
        if member is None:
            participant = self.participants.of_instance(event.instance_id)
            if participant is None:
                self.newcomers.waiting.append(event)
                return
            member = placeholder_id(participant, None)
        if type(event) is ev.MemberJoined and event.protocol == "classic" and self._converted:
            # The members of a classic group rejoin after its conversion (KIP-848), with the same line as newcomers.
            self.ensure_member(member, event)
            return
        self.arrive(member, event, empty=event.state in ("Empty", "Dead"))

    def _rebalance_named(self, event: ev.RebalanceStarted) -> None:
        for member in event.members:
            match MOVES_BY_TRIGGER.get(event.trigger):
                case None:
                    return
                case "came":
                    self.arrive(member, event)
                case "is in" | "replaced":
                    self.ensure_member(member, event)
                case "left":
                    self.depart(member, event, departure_why(event.why))
                case why:
                    self.depart(member, event, why)

    def _left(self, event: ev.MemberLeft) -> None:
        member = event.member
        if member is None:
            member = next(iter(self.live.of(self.participants.of_instance(event.instance_id))), None)
        if member is None or event.temporarily:
            return  # a static member that closes remains a member until its session expires (KIP-848, epoch -2)
        why = departure_why(event.why)
        participant = self.participants.of_member(member)
        if why == "left" and participant is not None:
            why = self._hinted(participant, event, HEARTBEAT_MS, (ev.Unsubscribed,)) or why
        self.depart(member, event, why)

    def _replaced(self, event: ev.StaticMemberReplaced) -> None:
        participant = self.participants.of_instance(event.instance_id)
        if participant is None:
            return
        if event.old_member:
            self.live.drop(event.old_member)
        if event.member:
            self.live[event.member] = participant
        self._seen.add(participant)
        last = next(self.latest(StaticReturn), None)
        if last is not None and last.participant is participant and (event.at or 0) - last.at < ROUND_TRIP_MS:
            amend(last, events=(*last.events, event))
        else:
            self.transitions[StaticReturn(participant, event.member, event.at or 0, (event,))] = None

    def _assigned(self, event: ev.AssignmentComputed | ev.TargetAssignmentComputed) -> None:
        """Compare the members with the leader's assignment, which names all of them; record missing and new members."""
        if isinstance(event, ev.TargetAssignmentComputed):
            if event.members:
                self._targeted(event, event.members)
            return
        assigned = {member for member, _ in event.assignment}
        if not assigned or self.participants.kind in ("connect", "schema-registry"):
            for member in assigned:
                self._unconfirmed.pop(member, None)
            return
        for member in sorted(self.live.keys() - assigned):
            if not is_placeholder(member) and member not in self._unconfirmed:
                self.depart(member, event, "vanished", silent="not-assigned")
        for member in sorted(assigned - self.live.keys()):
            if self.has_left(member):
                continue
            is_first = event.generation == FIRST_GENERATION
            if is_first or self._came_unannounced(member, event):
                asked = self._unanswered(self.participants.of_member(member), name_in_member_id(member))
                self.arrive(member, event, empty=is_first, asked=asked, silent="assigned")
            else:
                self.ensure_member(member, event)
        for member in assigned:
            self._unconfirmed.pop(member, None)
        self._mapped = True

    def _targeted(self, event: ev.TargetAssignmentComputed, members: Sequence[str]) -> None:
        # Record members that are not in a target assignment as vanished: it contains every member (KIP-848).
        for member in sorted(self.live.keys() - set(members)):
            if not is_placeholder(member) and member not in self.live.joining:
                self.depart(member, event, "vanished", silent="not-assigned")
        for member in members:
            if member not in self._departures:
                self.ensure_member(member, event)

    def _came_unannounced(self, member: str, event: ev.AssignmentComputed) -> bool:
        # True for a newcomer that only the leader's assignment shows: before 2.6.1 its own log has no member id.
        participant = self.participants.of_member(member)
        if participant is None or any(m in self.live for m in self.placeholders(participant, member)):
            return False
        departure = self._last_departure.get(participant)
        returns = departure is not None and departure.returned is None
        return returns or self._mapped or self.fresh_start(participant, event) is not None

    def _apply_client_line(self, event: Event) -> None:
        participant = self.participants.of_speaker(event)
        if participant is None or event.at is None or self._gave_up(participant, event):
            return
        self.infer_existing_member(participant, event)
        match event:
            case ev.JoinStarted():
                self._joining[participant, event.speaker.client_id] = event
            case ev.JoinRequested(why="member-id-required" | "unknown") | ev.JoinFailed(error="MEMBER_ID_REQUIRED"):
                self._given_an_id(participant, event)
            case ev.JoinSucceeded() | ev.SyncSucceeded() | ev.JoinReported() | ev.PartitionsRevoked(member=str()):
                self._in_generation(participant, event, event.member)
            case ev.LeaveSent() | ev.InstanceFenced():
                self._participant_departed(participant, event.member, event, self._why_left(participant, event))
            case ev.PollTimeoutExpired() if (event.member or self.member_of(participant)) not in self.live.joining:
                self._was_not_polled(participant, event)
            case ev.Unsubscribed():
                self._recent[participant].append(event)
                self._explain_leave(participant, event)
            case ev.MemberTransitioned():
                if not (participant.instance_ids and self._static_transitioned(participant, event)):
                    self._transitioned(participant, event)
                self._epoch = max(self._epoch, event.epoch or 0)
            case ev.JoinRequested() | ev.GenerationReset() if _left_unpolled(event):
                self._participant_departed(participant, None, event, "poll-timeout")
            case (
                ev.HeartbeatFailed()
                | ev.JoinFailed()
                | ev.SyncFailed()
                | ev.GenerationReset()
                | ev.GroupHeartbeatFailed()
                | ev.JoinRequested(error="UNKNOWN_MEMBER_ID")
            ):
                self.refuse(participant, event)
            case _ if session_is_over(event) or self.shows_former_membership(participant, event):
                self.expel(participant, event)

    def _given_an_id(self, participant: Participant, event: ev.JoinRequested | ev.JoinFailed) -> None:
        # Record the arrival of a client that rejoins with the member id it was issued (KIP-394).
        if type(event) is ev.JoinFailed:
            if event.member:
                self.arrive(event.member, event, asked=self._asked(participant, event.speaker.client_id))
        elif event.member or self.newcomers.identify(event):
            self.arrive(event.member or placeholder_id(participant, event.speaker.client_id), event)

    def _was_not_polled(self, participant: Participant, event: ev.PollTimeoutExpired) -> None:
        self._recent[participant].append(event)
        # If two consumers have the same client id, only the LeaveGroup that follows names the member.
        if event.member or len(self.members_of(participant, event.speaker.client_id)) < 2:
            self._participant_departed(participant, event.member, event, "poll-timeout")

    def _gave_up(self, participant: Participant, event: Event) -> bool:
        # True for a LeaveGroup with which a client only drops its member id after an error.
        if is_error_before_reset(event):
            self._recent[participant].append(event)
        if type(event) is not ev.LeaveSent:
            return False
        return any(map(is_error_before_reset, self._lines_before(participant, event, HEARTBEAT_MS)))

    def _why_left(self, participant: Participant, event: ev.LeaveSent | ev.InstanceFenced) -> DepartureWhy:
        if isinstance(event, ev.InstanceFenced):
            return "fenced"
        # The reason of a LeaveGroup: before 2.4 by the lines before it, or by the heartbeat thread that wrote it.
        why = departure_why(event.why)
        if why != "left":
            return why
        return "poll-timeout" if _by_heartbeat_thread(event) else self._hinted(participant, event, HEARTBEAT_MS) or why

    def _hinted(
        self, participant: Participant, event: Event, reach_ms: int, hints: tuple[type[Event], ...] = _HINTS
    ) -> DepartureWhy | None:
        kinds = {type(line) for line in self._lines_before(participant, event, reach_ms)}.intersection(hints)
        if ev.PollTimeoutExpired in kinds:
            return "poll-timeout"
        return "unsubscribed" if kinds else None

    def _lines_before(self, participant: Participant, event: Event, reach_ms: int) -> list[Event]:
        return [*takewhile(lambda h: (event.at or 0) - (h.at or 0) < reach_ms, reversed(self._recent[participant]))]

    def _explain_leave(self, participant: Participant, event: ev.Unsubscribed) -> None:
        # Reclassify a leave as an unsubscribe: the consumer logs its LeaveGroup first, then that it unsubscribed.
        absence = self._between_ids.get(participant)
        if absence is not None and (event.at or 0) - (absence[1].at or 0) < HEARTBEAT_MS:
            del self._between_ids[participant]
            self.depart(absence[0], absence[1], "unsubscribed")
        last = self._last_departure.get(participant)
        if last is None or last.returned is not None or (event.at or 0) - last.at >= HEARTBEAT_MS:
            return
        if last.why in ("left", "unsubscribed") or any(type(e) is ev.MemberTransitioned for e in last.events):
            self.add(last, event, "unsubscribed")

    def _in_generation(self, participant: Participant, event: Event, named: str | None) -> None:
        client = event.speaker.client_id
        member = named or self.member_of(participant, client) or placeholder_id(participant, client)
        self._unconfirmed.pop(member, None)
        asked, left = self._asked(participant, client), self._last_departure.get(participant)
        unanswered = self._unanswered(participant, client)
        if asked is not None:
            self._answered[participant, client] = asked
        if member in self.live or self.has_left(member) or predates_leave(left, asked, event):
            return
        if type(event) is ev.PartitionsRevoked and member in self._departures:
            return  # the session of a process that was stopped expires later
        known, self._known_as[participant, client] = self._known_as.get((participant, client)), member
        renewed = known is not None and known != member and not is_placeholder(known)
        returns = left is not None and left.returned is None
        # A member that joins when the group is created: there are no members before generation 1. A static member that
        # restarts gets the current generation of its group (KIP-345).
        is_join = isinstance(event, ev.JoinSucceeded | ev.SyncSucceeded) and not participant.instance_ids
        is_first = is_join and getattr(event, "generation", None) == FIRST_GENERATION
        if is_first or renewed or returns or self.fresh_start(participant, event) is not None:
            self.arrive(member, event, empty=is_first, asked=unanswered)
        else:
            self.ensure_member(member, event)

    def _asked(self, participant: Participant | None, client_id: str | None) -> Event | None:
        return self._joining.get((participant, client_id)) if participant is not None else None

    def _unanswered(self, participant: Participant | None, client_id: str | None) -> Event | None:
        # The client's last JoinGroup, unless its response was seen, which belongs to an earlier membership.
        asked = self._asked(participant, client_id)
        return None if asked is self._answered.get((participant, client_id)) else asked

    def _static_transitioned(self, participant: Participant, event: ev.MemberTransitioned) -> bool:
        """Apply a state of a static KIP-848 member; False if it is handled like that of a dynamic member."""
        # On close it sends epoch -2 and remains a member with its former id until it rejoins; -1 leaves for good.
        former_id, _ = self._between_ids.get(participant, (None, event))
        member = event.member
        if member is None:
            return False
        match event.after:
            case "PREPARE_LEAVING":
                return member in self.live and not self._lines_before(participant, event, PROCESS_START_MS)
            case "LEAVING" if member in self.live:
                if event.epoch == LEAVE_GROUP_STATIC_EPOCH:
                    self._between_ids[participant] = member, event
                else:
                    self.depart(member, event, "closed")
                return True
            case "JOINING":
                return former_id in self.live and former_id != member
            case "RECONCILING" | "STABLE" if former_id is not None and former_id != member:
                self._came_back(participant, former_id, member, event)
        return False

    def _came_back(self, participant: Participant, before: str, member: str, event: ev.MemberTransitioned) -> None:
        # A removal and a new member each bump the epoch, so that a static return leaves it as it is. Its own log may
        # lack the last epoch before, whose assignment it had already.
        closed = self._between_ids.pop(participant)[1]
        if before not in self.live or member in self.live:
            return
        unlogged = 0 if type(closed) is ev.MemberTransitioned else 1
        if (event.epoch or 0) > self._epoch + unlogged:
            self.depart(before, event, "vanished", silent="restarted")
            self.arrive(member, event)
            return
        self.live.drop(before)
        self.live[member] = participant
        self.transitions[StaticReturn(participant, member, event.at or 0, (event,))] = None

    def _transitioned(self, participant: Participant, event: ev.MemberTransitioned) -> None:
        member = event.member or self.member_of(participant) or placeholder_id(participant, event.speaker.client_id)
        if event.after == "JOINING" and member not in self.live:
            self.arrive(member, event)
        elif event.before == "JOINING" and event.after == "FATAL":
            self.withdraw(member)  # its first heartbeat was rejected, so it never was a member
        elif event.after in ("LEAVING", "PREPARE_LEAVING") and event.before != "PREPARE_LEAVING":
            why = self._hinted(participant, event, PROCESS_START_MS) or "closed"
            self._participant_departed(participant, event.member, event, why)
        elif event.after == "STALE":
            self._participant_departed(participant, event.member, event, "poll-timeout")
        elif event.after == "FENCED":
            self.expel(participant, event)
        elif event.after in ("STABLE", "RECONCILING") and member not in self.live:
            self.ensure_member(member, event)

    def _started_anew(self, start: Start, event: Event) -> None:
        if self._starts.of(start.participant)[0].at == start.at and type(event) is not ev.ClientStarted:
            return  # a Java process may log its configuration after the first lines of its member
        absent = self._between_ids.get(start.participant, ("", event))[0]
        # In a log of whole seconds, the coordinator's line about a process may precede its start.
        joined = {a.member for a in takewhile(lambda a: a.at > start.at - ROUND_TRIP_MS, self.latest(Arrival))}
        for member in self.live.of(start.participant):
            if member == absent or member in joined:
                continue
            if start.participant.instance_ids and self._epoch:
                # A static KIP-848 member that ended without a line may still be a member: its next epoch shows it.
                self._between_ids[start.participant] = member, event
            else:
                self.depart(member, event, "vanished", silent="restarted")

    def _participant_departed(
        self, participant: Participant, member: str | None, event: Event, why: DepartureWhy
    ) -> None:
        known = member or self.member_of(participant, event.speaker.client_id)
        if known is None:
            last = self._last_departure.get(participant)
            if last is not None and last.returned is None and abs((event.at or 0) - last.at) < PROCESS_START_MS:
                self.add(last, event, why)
            elif participant not in self._seen or _was_in_again(last, event):
                self.depart_unlogged(participant, None, event, why)
            return
        self.depart(known, event, why)


def _left_unpolled(event: ev.JoinRequested | ev.GenerationReset) -> bool:
    """True for the reset after a leave that the heartbeat thread sent."""
    # A close and an unsubscribe log the same reset in the application's thread. HeartbeatThread leaves only in
    # handlePollTimeoutExpiry (AbstractCoordinator).
    return _by_heartbeat_thread(event) and event.why == "leaving"


def _by_heartbeat_thread(event: Event) -> bool:
    return "heartbeat-thread" in (event.speaker.thread or "")


def _was_in_again(last: Departure | None, event: Event) -> bool:
    """True for a client that leaves again after it learned that it was expelled: its rejoin was not logged."""
    # A client that does not know yet that it was evicted may exceed its poll timeout at any later time.
    if last is None or last.why != "expelled" or last.returned is not None:
        return False
    return (event.at or 0) - last.at > QUIET_MS


def departure_why(why: str | None) -> DepartureWhy:
    """The kind of departure for a leave reason; `left` if there is no reason."""
    return _DEPARTURES.get(why, "left")


def predates_leave(left: Departure | None, asked: Event | None, answer: Event) -> bool:
    """True for the response to a JoinGroup that was sent before the client left: the member is not back."""
    if left is None or asked is None:
        return False
    client, sent = answer.speaker.client_id, [e for e in left.events if type(e) is ev.LeaveSent]
    return any(time_of(asked) < time_of(e) <= time_of(answer) for e in sent if e.speaker.client_id == client)
