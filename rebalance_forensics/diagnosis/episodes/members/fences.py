"""Members fenced or rejected because another member held their group.instance.id, shown by any side."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.membership import InstanceFenced, StaticMemberFenced
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinFailed, SyncFailed
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, PROCESS_START_MS, REQUEST_TIMEOUT_MS

_REQUESTS = (JoinFailed, SyncFailed, HeartbeatFailed, OffsetCommitFailed, GroupHeartbeatFailed)
FENCING = (StaticMemberFenced, InstanceFenced, ExceptionLogged, *_REQUESTS)
# A fenced member logs these beside the fencing line; alone where its log holds no other.
_ONCE_MORE = (ExceptionLogged, OffsetCommitFailed)
FENCED, UNRELEASED = "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"


@dataclass(slots=True)
class Fence:
    """One instance id that two members used at the same time, and the lines that show it."""

    instance: str | None
    """None where no line names it, as with many clients."""
    participants: list[Participant]
    events: list[Event] = field(default_factory=list)
    holder_ran: bool = False
    """For a rejected newcomer: True if the member that held the id is known to have been running."""

    @property
    def name(self) -> str:
        """The instance id, or the names of its members."""
        return self.instance or ", ".join(participant.name for participant in self.participants)

    @property
    def begin(self) -> int:
        """The first line."""
        return min(map(time_of, self.events))

    @property
    def end(self) -> int:
        """The last line."""
        return max(map(time_of, self.events))

    @property
    def refused(self) -> bool:
        """True if the second member was rejected while the first was running."""
        return all(map(_is_refusal, self.events))

    @property
    def both_seen(self) -> bool:
        """True if the coordinator or the other member shows it as well, not only the fenced member."""
        if self.refused:
            return self.holder_ran
        logged_by_coordinator = any(isinstance(e, StaticMemberFenced) for e in self.events)
        return logged_by_coordinator or len({(e.speaker.host, e.speaker.file) for e in self.events}) > 1

    @property
    def once(self) -> bool:
        """True if a single member was fenced: fencing is fatal, so a member that came back would be fenced again."""
        if self.refused or self.perhaps_removed:
            return False
        return len({m for e in self.events if (m := getattr(e, "member", None))}) <= 1

    @property
    def perhaps_removed(self) -> bool:
        """True under KIP-848, where only a member that was removed loses its id to another."""
        return all(isinstance(e, GroupHeartbeatFailed) and e.error == FENCED for e in self.events)


def fences(timeline: Timeline) -> list[Fence]:
    """Every instance id with a fenced or rejected member, by name."""
    found: dict[str, Fence] = {}
    unnamed: dict[Participant, Fence] = {}
    lines = [e for e in timeline.of(*FENCING) if _is_fence(e) and not _was_closing(timeline, e)]
    for event in [e for e in lines if not isinstance(e, _ONCE_MORE)] or lines:
        instance = _instance(event)
        if instance is not None:
            found.setdefault(instance, Fence(instance, _users(timeline, instance))).events.append(event)
        elif (participant := _speaker(timeline, event)) is not None:
            unnamed.setdefault(participant, Fence(None, [participant])).events.append(event)
    for participant, fence in unnamed.items():
        same = next((f for f in found.values() if participant in f.participants), None)
        if same is not None:
            same.events += fence.events
    named = {participant for fence in found.values() for participant in fence.participants}
    alone = [fence for participant, fence in unnamed.items() if participant not in named]
    known = [fence for fence in (*found.values(), *alone) if not (fence.refused and _holder_died(timeline, fence))]
    for fence in known:
        fence.holder_ran = fence.refused and _holder_ran(timeline, fence)
    return sorted(known, key=lambda fence: fence.name)


def moves_during_fence(timeline: Timeline, fence: Fence) -> tuple[Fact, ...]:
    """The arrivals, returns and departures of the id's members meanwhile."""
    participants, begin, end = fence.participants, fence.begin - PROCESS_START_MS, fence.end + PROCESS_START_MS
    found: list[Fact] = [d for d in timeline.departures.between(begin, end) if d.participant in participants]
    initial = initial_arrivals(timeline)
    found += [a for a in timeline.arrivals.between(begin, end) if a.participant in participants and a.id not in initial]
    found += [r for r in timeline.returns.between(begin, end) if r.participant in participants]
    return tuple(found)


def _was_closing(timeline: Timeline, event: Event) -> bool:
    """True if the fenced member had begun to close: its successor only came before it was done."""
    participant = timeline.participants.of_speaker(event) or timeline.participants.of_member(
        event.member if isinstance(event, StaticMemberFenced) else None
    )
    if participant is None or _is_refusal(event):
        return False
    stop = timeline.stops.of(participant).last(time_of(event) - 1)
    if stop is None or time_of(event) - stop.at > REQUEST_TIMEOUT_MS:
        return False
    return not timeline.starts.of(participant).any_between(stop.at + 1, time_of(event))


def _holder_died(timeline: Timeline, fence: Fence) -> bool:
    # Under KIP-848 a member that dies holds its id until its session expires: its own successor is rejected.
    until = fence.end + session_timeout_ms(timeline) + NEXT_HEARTBEAT_MS
    departures = timeline.departures.between(fence.begin, until)
    return any(d.why == "session-expired" and d.participant in fence.participants for d in departures)


def _holder_ran(timeline: Timeline, fence: Fence) -> bool:
    """True if the holder's own log continues, or its coordinator did not evict it."""
    refused = {timeline.participants.of_speaker(e) for e in fence.events}
    holders = [p for p in fence.participants if p not in refused and timeline.starts.of(p).first(fence.begin) is None]
    if any((timeline.coverage.ends(holder) or 0) > fence.end + HEARTBEAT_MS for holder in holders):
        return True
    until = fence.begin + session_timeout_ms(timeline) + NEXT_HEARTBEAT_MS
    return bool(covering(timeline.coverage.brokers, fence.begin, until))


def _is_refusal(event: Event) -> bool:
    """True if a newcomer was rejected, by the coordinator's line or its own (UNRELEASED_INSTANCE_ID)."""
    if isinstance(event, StaticMemberFenced):
        return event.newcomer
    return getattr(event, "error", None) == UNRELEASED


def _is_fence(event: Event) -> bool:
    match event:
        case StaticMemberFenced() | InstanceFenced():
            return True
        case ExceptionLogged(exception=name):
            return (name or "").endswith("FencedInstanceIdException")
        case GroupHeartbeatFailed(error=error):
            return error in (FENCED, UNRELEASED)
    return getattr(event, "error", None) == FENCED


def _instance(event: Event) -> str | None:
    match event:
        case StaticMemberFenced(instance_id=i, member=m, current_member=c):
            return i or _name(m) or _name(c)
    instance: str | None = getattr(event, "instance_id", None)
    return instance or event.speaker.instance_id


def _name(member: str | None) -> str | None:
    return name_in_member_id(member) if member else None


def _users(timeline: Timeline, instance: str) -> list[Participant]:
    return [a for a in timeline.participants.everybody if instance in a.instance_ids]


def _speaker(timeline: Timeline, event: Event) -> Participant | None:
    """The member that logged it; for an exception without a client name, the only member at that place."""
    participant = timeline.participants.of_speaker(event)
    if participant is not None or not isinstance(event, ExceptionLogged):
        return participant
    neighbors = [a for a in timeline.participants.at_place(event) if a.has_log]
    return neighbors[0] if len(neighbors) == 1 else None
