"""Members come and go: departures and arrivals, fused from the coordinator's and the clients' words."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupHeartbeatFailed, MemberTransitioned
from rebalance_forensics.events.membership import (
    InstanceFenced,
    LeaveSent,
    MemberFailed,
    MemberIdIssued,
    MemberJoined,
    MemberLeft,
    MemberLoaded,
    PendingMemberRemoved,
    PollTimeoutExpired,
    StaticMemberReplaced,
    Unsubscribed,
)
from rebalance_forensics.events.rebalancing import (
    AssignmentComputed,
    GenerationReset,
    GroupEmptied,
    HeartbeatFailed,
    JoinFailed,
    JoinRequested,
    JoinStarted,
    JoinSucceeded,
    RebalanceStarted,
    SyncFailed,
    SyncSucceeded,
)
from rebalance_forensics.timeline.actors import Actor, Cast
from rebalance_forensics.timeline.facts import Arrival, Departure, DepartureWhy, Start, StaticReturn
from rebalance_forensics.timeline.leaving import reason_text, why_left
from rebalance_forensics.timeline.names import name_in_member_id

EXPELLED = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "ILLEGAL_GENERATION"})
HINT_MS = 2_000
FUSE_MS = 20_000
"""Client and coordinator tell the same departure within this time: clocks differ, and a stopped client writes late."""

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
    "expelled",
    "left",
    "vanished",
)


class Lives:
    """Replays a group's events in time order and keeps who is in."""

    def __init__(self, cast: Cast, starts: Sequence[Start]) -> None:
        self.cast = cast
        self.live: dict[str, Actor] = {}
        self.departures: list[Departure] = []
        self.arrivals: list[Arrival] = []
        self.returns: list[StaticReturn] = []
        self._gone: dict[str, Departure] = {}
        self._last_departure: dict[Actor, Departure] = {}
        self._seen: set[Actor] = set()
        self._pending: dict[str, Arrival] = {}
        self._joining: dict[Actor, list[Event]] = defaultdict(list)
        self._hints: dict[Actor, list[Event]] = defaultdict(list)
        self._starts: dict[Actor, list[Start]] = defaultdict(list)
        self._empty = True
        self._known_as: dict[tuple[Actor, str | None], str] = {}
        self._begins = {id(s.events[0]): s for s in starts}
        for start in starts:
            self._starts[start.actor].append(start)

    def replay(self, events: Sequence[Event]) -> None:
        """Take in all events, oldest first."""
        for event in events:
            self._hear(event)

    def _hear(self, event: Event) -> None:
        start = self._begins.get(id(event))
        if start is not None:
            self._started_anew(start, event)
        match event:
            case MemberIdIssued() | MemberJoined():
                self._coordinator_took_in(event, event.member)
            case MemberLoaded():
                self._is_in(event.member, event)
            case RebalanceStarted():
                self._rebalance_named(event)
            case MemberLeft():
                self._left(event)
            case MemberFailed():
                for member in event.members:
                    self._departed(member, event, event.why if event.why != "unknown" else "session-expired")
            case PendingMemberRemoved():
                self._withdrawn(event.member)
            case StaticMemberReplaced():
                self._replaced(event)
            case GroupEmptied():
                self._emptied(event)
            case AssignmentComputed():
                self._assigned(event)
            case _:
                self._client_said(event)

    # ---- the coordinator's words

    def _coordinator_took_in(self, event: MemberIdIssued | MemberJoined, member: str | None) -> None:
        if member is None:
            actor = self.cast.of_instance(event.instance_id)
            if actor is None:
                return
            member = f"?{actor.name}"
        self._arrived(member, event, empty=event.state in ("Empty", "Dead"))

    def _rebalance_named(self, event: RebalanceStarted) -> None:
        for member in event.members:
            if event.trigger == "member-added":
                self._arrived(member, event)
            elif event.trigger == "member-left":
                self._departed(member, event, why_left(event.client_reason, None))
            elif event.trigger == "heartbeat-expired":
                self._departed(member, event, "session-expired")
            elif event.trigger == "sync-expired":
                self._departed(member, event, "sync-timeout")
            elif event.trigger in ("member-rejoined", "leader-rejoined", "static-member-changed"):
                self._is_in(member, event)

    def _left(self, event: MemberLeft) -> None:
        member = event.member
        if member is None:
            actor = self.cast.of_instance(event.instance_id)
            member = next((m for m, a in self.live.items() if a is actor), None) if actor else None
        if member is not None:
            self._departed(member, event, why_left(event.reason, event.why))

    def _withdrawn(self, member: str) -> None:
        arrival = self._pending.pop(member, None)
        if arrival is not None and member in self.live:
            del self.live[member]
            self.arrivals.remove(arrival)

    def _replaced(self, event: StaticMemberReplaced) -> None:
        actor = self.cast.of_instance(event.instance_id)
        if actor is None:
            return
        if event.old_member:
            self.live.pop(event.old_member, None)
            actor.member_ids.add(event.old_member)
        if event.member:
            actor.member_ids.add(event.member)
            self.live[event.member] = actor
        self._seen.add(actor)
        last = self.returns[-1] if self.returns else None
        if last is not None and last.actor is actor and (event.at or 0) - last.at < 1000:
            last.events.append(event)
        else:
            self.returns.append(StaticReturn(actor, event.at or 0, [event]))

    def _emptied(self, event: GroupEmptied) -> None:
        for member in list(self.live):
            self._departed(member, event, "left")
        self._empty = True

    def _assigned(self, event: AssignmentComputed) -> None:
        """The leader's map is the exact membership: whoever is missing has gone, whoever is new has come."""
        told = {member for member, _ in event.assignment}
        for member in told:
            self._pending.pop(member, None)
        if not told or self.cast.kind in ("connect", "schema-registry"):
            return
        for member in told - self.live.keys():
            self._is_in(member, event)
        for member in set(self.live) - told:
            if not member.startswith("?") and member not in self._pending:
                self._departed(member, event, "vanished")

    # ---- the clients' words

    def _client_said(self, event: Event) -> None:
        actor = self.cast.of_speaker(event)
        if actor is None or event.at is None:
            return
        match event:
            case JoinStarted():
                self._joining[actor].append(event)
            case JoinRequested(why="member-id-required", member=m) if m:
                self._arrived(m, event)
            case JoinSucceeded() | SyncSucceeded():
                self._in_generation(actor, event)
            case LeaveSent():
                self._actor_departed(actor, event.member, event, self._why_sent(actor, event))
            case PollTimeoutExpired():
                self._hints[actor].append(event)
                self._actor_departed(actor, event.member, event, "poll-timeout")
            case Unsubscribed():
                self._hints[actor].append(event)
            case MemberTransitioned():
                self._transitioned(actor, event)
            case HeartbeatFailed() | JoinFailed() | SyncFailed() | GenerationReset() | GroupHeartbeatFailed():
                if event.error in EXPELLED and not _is_first_join(event):
                    self._expelled(actor, event)
            case InstanceFenced():
                self._actor_departed(actor, event.member, event, "fenced")

    def _why_sent(self, actor: Actor, event: LeaveSent) -> DepartureWhy:
        """Before 2.4 the line names no reason; the lines before it, or the heartbeat thread that wrote it, do."""
        why = why_left(event.reason, event.why)
        if why != "left":
            return why
        hints = [h for h in self._hints[actor] if (event.at or 0) - (h.at or 0) < HINT_MS]
        if any(isinstance(h, PollTimeoutExpired) for h in hints) or "heartbeat-thread" in (event.speaker.thread or ""):
            return "poll-timeout"
        return "unsubscribed" if any(isinstance(h, Unsubscribed) for h in hints) else "left"

    def _in_generation(self, actor: Actor, event: JoinSucceeded | SyncSucceeded) -> None:
        member = event.member or self._member_of(actor) or f"?{actor.name}"
        self._pending.pop(member, None)
        if member in self.live:
            return
        known = self._known_as.get((actor, event.speaker.client_id))
        self._known_as[actor, event.speaker.client_id] = member
        gone = self._last_departure.get(actor)
        renewed = known is not None and known != member and not known.startswith("?")
        if self._fresh_start(actor, event) is not None or (gone is not None and gone.returned is None) or renewed:
            self._arrived(member, event)
        else:
            self._is_in(member, event)

    def _transitioned(self, actor: Actor, event: MemberTransitioned) -> None:
        member = event.member or self._member_of(actor) or f"?{actor.name}"
        if event.after == "JOINING" and member not in self.live:
            self._arrived(member, event)
        elif event.after in ("LEAVING", "PREPARE_LEAVING") and event.before != "PREPARE_LEAVING":
            hints = [h for h in self._hints[actor] if (event.at or 0) - (h.at or 0) < FUSE_MS]
            why: DepartureWhy = "closed"
            if any(isinstance(h, PollTimeoutExpired) for h in hints):
                why = "poll-timeout"
            elif any(isinstance(h, Unsubscribed) for h in hints):
                why = "unsubscribed"
            self._actor_departed(actor, event.member, event, why)
        elif event.after == "STALE":
            self._actor_departed(actor, event.member, event, "poll-timeout")
        elif event.after == "FENCED":
            self._expelled(actor, event)
        elif event.after in ("STABLE", "RECONCILING") and member not in self.live:
            self._is_in(member, event)

    def _started_anew(self, start: Start, event: Event) -> None:
        """A process that starts while its members are still in has lost them, whoever noticed."""
        if not any(s.at < start.at for s in self._starts[start.actor]):
            return
        for member in [m for m, a in self.live.items() if a is start.actor]:
            self._departed(member, event, "vanished")

    def _expelled(self, actor: Actor, event: Event) -> None:
        member = getattr(event, "member", None) or self._member_of(actor)
        if member is None:
            last = self._last_departure.get(actor)
            if last is not None and last.returned is None:
                last.events.append(event)
            return
        self._departed(member, event, "expelled", late=True)

    def _actor_departed(self, actor: Actor, member: str | None, event: Event, why: DepartureWhy) -> None:
        known = member or self._member_of(actor)
        if known is None:
            last = self._last_departure.get(actor)
            if last is not None and last.returned is None and abs((event.at or 0) - last.at) < FUSE_MS:
                self._add(last, event, why)
            return
        self._departed(known, event, why)

    # ---- in and out

    def _member_of(self, actor: Actor) -> str | None:
        return next((m for m, a in reversed(self.live.items()) if a is actor), None)

    def _is_in(self, member: str, event: Event) -> None:
        actor = self.cast.of_member(member) if not member.startswith("?") else self.cast.of_speaker(event)
        if actor is None:
            return
        if member not in self.live:
            self._named(actor, member)
            self._supersede(actor, member)
            self.live[member] = actor
            gone = self._gone.get(member)
            if gone is not None and gone.returned is None and gone.why == "vanished":
                self.departures.remove(gone)
                del self._gone[member]
        self._seen.add(actor)
        self._empty = False

    def _arrived(self, member: str, event: Event, *, empty: bool = False) -> None:
        actor = self.cast.of_member(member) if not member.startswith("?") else self.cast.of_speaker(event)
        if actor is None or event.at is None:
            return
        if member in self.live:
            recent = self._pending.get(member)
            if recent is not None:
                recent.events.append(event)
            return
        if self._named(actor, member):
            self.live[member] = actor
            return
        gone = self._gone.get(member)
        if gone is not None and gone.returned is None and event.at - gone.at < 50 and gone.at > event.at:
            return
        arrival = Arrival(actor, member, event.at, [event], first=actor not in self._seen)
        arrival.while_empty = (self._empty or empty) and not self.live
        arrival.start = self._fresh_start(actor, event)
        last = self._last_departure.get(actor)
        if last is not None and last.returned is None:
            last.returned = arrival
            arrival.after = last
        self._supersede(actor, member)
        self.live[member] = actor
        self._pending[member] = arrival
        self._seen.add(actor)
        self._empty = False
        self.arrivals.append(arrival)

    def _departed(self, member: str, event: Event, why: DepartureWhy, *, late: bool = False) -> None:
        actor = self.live.get(member) or (self.cast.of_member(member) if not member.startswith("?") else None)
        if actor is None or event.at is None:
            return
        gone = self._gone.get(member)
        if member not in self.live and gone is not None and (late or event.at - gone.at < 10 * FUSE_MS):
            self._add(gone, event, why)
            return
        if member not in self.live and late:
            return
        if self.live.pop(member, None) is None:
            self._named(actor, member)
        departure = Departure(actor, member, event.at, why, [event])
        departure.reason = reason_text(event)
        self._gone[member] = departure
        self._last_departure[actor] = departure
        self._seen.add(actor)
        self.departures.append(departure)

    def _add(self, departure: Departure, event: Event, why: DepartureWhy) -> None:
        departure.events.append(event)
        if _RANK.index(why) < _RANK.index(departure.why):
            departure.why = why
        if event.speaker.role == "broker" and departure.events[0].speaker.role != "broker" and event.at is not None:
            departure.at = min(departure.at, event.at)
        departure.reason = departure.reason or reason_text(event)

    def _supersede(self, actor: Actor, member: str) -> None:
        """A static member has one id at a time: the new one takes the old one's place without a word."""
        name = name_in_member_id(member)
        if name is None or name not in actor.instance_ids:
            return
        for other in [m for m in self.live if m != member and name_in_member_id(m) == name]:
            del self.live[other]

    def _named(self, actor: Actor, member: str) -> bool:
        """A member known only by its client (old clients log no id) turns out to have this id."""
        unnamed = f"?{actor.name}"
        if member == unnamed or self.live.pop(unnamed, None) is None:
            return False
        arrival = self._pending.pop(unnamed, None)
        if arrival is not None:
            arrival.member = member
            self._pending[member] = arrival
        return True

    def _fresh_start(self, actor: Actor, event: Event) -> Start | None:
        """The last start of the actor's process that no earlier arrival used."""
        starts = self._starts.get(actor, [])
        index = bisect_right([s.at for s in starts], (event.at or 0) + 500) - 1
        if index < 0:
            return None
        start = starts[index]
        used = any(a.start is start and a.actor is actor for a in self.arrivals[-50:])
        return None if used and self.cast.kind == "consumer" else start


def _is_first_join(event: Event) -> bool:
    return isinstance(event, JoinFailed | SyncFailed) and event.generation == -1 and not event.member
