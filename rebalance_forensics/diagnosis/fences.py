"""Members that were fenced, or refused, because another one held their group.instance.id, whoever says so."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.membership import InstanceFenced, StaticMemberFenced
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.rebalancing import HeartbeatFailed, JoinFailed, SyncFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.identity.names import name_in_member_id

_REQUESTS = (JoinFailed, SyncFailed, HeartbeatFailed, OffsetCommitFailed, GroupHeartbeatFailed)
_FENCING = (StaticMemberFenced, InstanceFenced, ExceptionLogged, *_REQUESTS)
_ONCE_MORE = (ExceptionLogged, OffsetCommitFailed)
"""What a fenced member logs beside the line that says so; alone where its log holds no other."""
FENCED, UNRELEASED = "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"


@dataclass(slots=True)
class Fence:
    """One instance id that two members used at a time, and the lines that say so."""

    instance: str | None
    """None where no line names it: many clients don't."""
    actors: list[Actor]
    events: list[Event] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What a reader knows it by."""
        return self.instance or ", ".join(actor.name for actor in self.actors)

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
        """Whether the second was turned away while the first lived."""
        return all(getattr(e, "error", None) == UNRELEASED for e in self.events)

    @property
    def both_seen(self) -> bool:
        """Whether more than the fenced member's word stands behind it: its coordinator's, or the other member's."""
        told = any(isinstance(e, StaticMemberFenced) or getattr(e, "error", None) == UNRELEASED for e in self.events)
        return told or len({(e.speaker.host, e.speaker.file) for e in self.events}) > 1

    @property
    def perhaps_removed(self) -> bool:
        """Under KIP-848 only a member that was removed loses its id to another."""
        return all(isinstance(e, GroupHeartbeatFailed) and e.error == FENCED for e in self.events)


def fences(timeline: Timeline) -> list[Fence]:
    """Every instance id of which one member fenced another, by name."""
    found: dict[str, Fence] = {}
    unnamed: dict[Actor, Fence] = {}
    told = [e for e in timeline.of(*_FENCING) if _is_fence(e)]
    for event in [e for e in told if not isinstance(e, _ONCE_MORE)] or told:
        instance = _instance(event)
        if instance is not None:
            found.setdefault(instance, Fence(instance, _users(timeline, instance))).events.append(event)
        elif (actor := _speaker(timeline, event)) is not None:
            unnamed.setdefault(actor, Fence(None, [actor])).events.append(event)
    for actor, fence in unnamed.items():
        known = next((f for f in found.values() if actor in f.actors), None)
        if known is not None:
            known.events += fence.events
    named = {actor for fence in found.values() for actor in fence.actors}
    alone = [fence for actor, fence in unnamed.items() if actor not in named]
    return sorted([*found.values(), *alone], key=lambda fence: fence.name)


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
    told: str | None = getattr(event, "instance_id", None)
    return told or event.speaker.instance_id


def _name(member: str | None) -> str | None:
    return name_in_member_id(member) if member else None


def _users(timeline: Timeline, instance: str) -> list[Actor]:
    return [a for a in timeline.cast.actors if instance in a.instance_ids]


def _speaker(timeline: Timeline, event: Event) -> Actor | None:
    """Whoever logs it; an exception that names no client is the only member's at that place, where there is one."""
    actor = timeline.cast.of_speaker(event)
    if actor is not None or not isinstance(event, ExceptionLogged):
        return actor
    here = [a for a in timeline.cast.at_place(event) if a.has_log]
    return here[0] if len(here) == 1 else None
