"""The profile of a group: its kind, its protocols, its rebalance mode and its participants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.clocks.group_clock import TimedLines
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.identity.names import name_in_member_id, streams_client
from rebalance_forensics.timeline.identity.participant_drafts import ParticipantDrafts
from rebalance_forensics.timeline.identity.participants import Participants, own_member_id, place_name
from rebalance_forensics.timeline.membership.lost_membership import shows_member
from rebalance_forensics.timeline.membership.namesakes import foreign_members, members_by_client_id
from rebalance_forensics.timeline.model import GroupKind, Protocol, ProtocolTerm, RebalanceMode
from rebalance_forensics.timeline.process_logs import ProcessEvents
from rebalance_forensics.timeline.time_index import joined
from rebalance_forensics.timeline.windows import SUCCESSION_MS


class GroupProfile(Struct, frozen=True):
    """The kind of a group, the protocols it used, its rebalance mode and its participants."""

    kind: GroupKind
    protocols: tuple[ProtocolTerm, ...]
    mode: RebalanceMode
    participants: Participants

    @property
    def protocol(self) -> Protocol:
        """The last protocol that the group used."""
        return protocol_at_last(self.protocols)


def profile_of(lines: TimedLines) -> GroupProfile:
    """The profile of a group by its lines."""
    grouped = lines.of_the_group()
    kind = kind_of(grouped, lines.group_events.of_type(ev.SettingsReported))
    protocols = protocols_of(grouped, kind)
    mode = rebalance_mode_of(lines.group_events, kind, protocol_at_last(protocols))
    return GroupProfile(kind, protocols, mode, build_participants(kind, lines.group_events, lines.process_events))


def protocol_at_last(protocols: Sequence[ProtocolTerm]) -> Protocol:
    """The last protocol; `unknown` if no line shows one."""
    return protocols[-1].protocol if protocols else "unknown"


def build_participants(kind: str, lines: EventIndex, process_events: ProcessEvents) -> Participants:
    """The participants in a group's own lines; client logs are read first."""
    participants = ParticipantDrafts(kind)
    # Consumers appear in lines that name their group; workers and Streams instances in all lines of their process.
    firsts = (log.first_of_each for log in process_events.logs) if kind != "consumer" else ()
    speaking = joined((lines.by_clients, *firsts), time_of)
    for event in speaking:
        participants.add_speaker(event)
    # A coordinator names every member. A log without a name is from one of these, unless no line shows that it joined.
    has_coordinator = any(event.speaker.role == "broker" and event.group is not None for event in lines)
    of_members = _logs_of_members(lines.by_clients) if has_coordinator else frozenset()
    several = _logs_of_several_members(lines.by_clients)
    for event in lines.by_clients:
        if place_of(event) not in several and place_of(event) not in of_members:
            participants.add_nameless(event)
    for client_id, member_ids in members_by_client_id(
        lines, lambda client: sum(a.has_log for a in participants.with_client_id(client)) == 1
    ):
        participants.add_namesake(client_id, member_ids)
    for client_id, member_id in list(foreign_members(participants, lines)) if lines.by_clients else ():
        participants.add_namesake(client_id, [member_id])
    for event in lines:
        participants.link_ids(event)
    participants.name_participants()
    for event in lines:
        participants.add_named(event)
    if of_members:
        participants.add_logs_of_leaders(lines)
        participants.add_logs_of_hosts(lines)
    if _joins_after(lines.by_clients, lines) and _has_one_member(lines):
        participants.add_log_of_only_member(lines.by_clients)
    return participants.finished()


_COUNTING = (ev.GenerationStabilized, ev.AssignmentReceived, ev.GroupEmptied, ev.MemberIdIssued, ev.MemberJoined)


def _has_one_member(lines: EventIndex) -> bool:
    """True if the coordinator's lines never show the group with more than one member."""
    counts: set[int] = set()
    was_empty = False
    for event in lines.of_type(*_COUNTING):
        match event:
            case ev.GenerationStabilized(member_count=int(count)) | ev.AssignmentReceived(member_count=int(count)):
                counts.add(count)
            case ev.GroupEmptied() | ev.MemberIdIssued(state="Empty") | ev.MemberJoined(state="Empty"):
                was_empty = True
    return counts <= {0, 1} and (was_empty or bool(counts))


def _joins_after(by_clients: Sequence[Event], lines: EventIndex) -> bool:
    """True if a member joins soon after the last of these lines, like a restarted process."""
    joins = lines.of_type(ev.MemberIdIssued, ev.MemberJoined)
    last = max((e.at for e in by_clients if e.at is not None), default=None) if joins else None
    return last is not None and joins.any_between(last, last + SUCCESSION_MS)


def _logs_of_members(events: Sequence[Event]) -> frozenset[Place]:
    """The logs of clients that are, were or may be members; a log with only a rejected join is not one of them."""
    refused = {place_of(event) for event in events if isinstance(event, ev.JoinFailed | ev.AuthorizationFailed)}
    return frozenset(place for event in events if (place := place_of(event)) not in refused or shows_member(event))


def _logs_of_several_members(events: Sequence[Event]) -> set[Place]:
    # The logs that several members write to: a line without a name may be from any of them.
    names: dict[Place, set[tuple[str, str | None]]] = defaultdict(set)
    for event in events:
        if member := own_member_id(event):
            names[place_of(event)].add((place_name(event), name_in_member_id(member)))
    return {log for log, writers in names.items() if len(writers) > 1}


_EAGER = ("range", "roundrobin", "sticky", "RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "eager", "default")
_THREAD = "-StreamThread-"
_COOPERATIVE = ("cooperative-sticky", "CooperativeStickyAssignor", "sessioned", "compatible")


def kind_of(events: Sequence[Event], process_events: Iterable[Event] = ()) -> GroupKind:
    """The kind of a group: consumer group, Streams application, Connect cluster, Schema Registry or share group.

    `process_events` are other lines of its members' processes: a Streams application's configuration names the group.
    """
    kinds = {type(event) for event in events}
    speakers = {id(event.speaker): event.speaker for event in events}.values()  # few objects for many lines
    roles = {speaker.role for speaker in speakers}
    if ev.RegistryLeaderElected in kinds or "schema-registry" in roles:
        return "schema-registry"
    if "connect" in roles or ev.WorkerAssigned in kinds:
        return "connect"
    protocols = {event.protocol for event in _having("protocol", events, kinds)}
    names = (name for speaker in speakers for name in (speaker.client_id, speaker.thread) if name)
    if any(map(streams_client, names)) or protocols & {"stream", "streams"} or _names_threads(events, kinds):
        return "streams"
    if any(_configures_one_of(events, event) for event in process_events):
        return "streams"
    if "share" in roles or "share" in protocols:
        return "share"
    named = (m for e in events if isinstance(e, ev.RebalanceStarted | ev.MemberFailed) for m in e.members)
    if any(m.startswith("connect-") and not m.startswith("connect-consumer") for m in named):
        return "connect"
    return "consumer" if events else "unknown"


def _having(field: str, events: Iterable[Event], kinds: Iterable[type[Event]]) -> list[Any]:
    """The events whose type has this field; `kinds` are the types of all events."""
    having = {kind for kind in kinds if field in kind.__struct_fields__}
    return [event for event in events if type(event) in having] if having else []


def _configures_one_of(events: Sequence[Event], event: Event) -> bool:
    # True for the configuration of the Streams application whose group these lines name.
    if type(event) is not ev.SettingsReported or event.kind != "StreamsConfig":
        return False
    application = dict(event.settings).get("application.id")
    return application is not None and any(each.group == application for each in events[:1])


def _names_threads(events: Sequence[Event], kinds: Collection[type[Event]]) -> bool:
    if any(event.member and _THREAD in event.member for event in _having("member", events, kinds)):
        return True
    return any(_THREAD in member for event in _having("members", events, kinds) for member in event.members)


# Lines that are specific to one protocol.
_PROTOCOL_OF: Mapping[type[Event], Protocol] = {
    **dict.fromkeys((ev.GenerationStabilized, ev.RebalanceStarted, ev.JoinSucceeded, ev.SyncSucceeded), "classic"),
    **dict.fromkeys((ev.MemberTransitioned, ev.MemberReconciled, ev.GroupHeartbeatFailed), "consumer"),
    ev.TargetAssignmentComputed: "consumer",
}


_NAMING_PROTOCOLS = frozenset({ev.MemberJoined, ev.GroupConverted, ev.GroupEpochBumped})


def _named_protocol(event: Event) -> Protocol | None:
    if type(event) not in _NAMING_PROTOCOLS:
        return None
    match event:
        case ev.MemberJoined(protocol=named) if named in ("consumer", "streams", "share"):
            return cast("Protocol", named)
        case ev.GroupConverted(after=after) if after in ("classic", "consumer", "streams", "share"):
            return cast("Protocol", after)
        case ev.GroupEpochBumped(topology_epoch=epoch):
            return "consumer" if epoch is None else "streams"
    return None


def protocols_of(events: Sequence[Event], kind: GroupKind) -> tuple[ProtocolTerm, ...]:
    """The protocols of the group in time order; a migration results in two terms."""
    terms: list[ProtocolTerm] = []
    mixed = any(type(e) is ev.GroupConverted for e in events)
    for event in events:
        protocol = _PROTOCOL_OF.get(type(event)) or _named_protocol(event)
        if protocol == "consumer" and kind in ("share", "streams"):
            protocol = kind
        if protocol is None or (terms and terms[-1].protocol == protocol):
            continue
        if terms and not mixed and protocol == "classic":
            continue
        if terms:
            terms[-1] = ProtocolTerm(protocol=terms[-1].protocol, started_at=terms[-1].started_at, ended_at=event.at)
        terms.append(ProtocolTerm(protocol=protocol, started_at=event.at, ended_at=None))
        if len(terms) > 20:
            break
    return tuple(terms)


def assignors_in(settings: Mapping[str, str]) -> list[str]:
    """The classes in `partition.assignment.strategy`, as printed by Java; the preferred one comes first."""
    printed = settings.get("partition.assignment.strategy", "").strip("[]").split(",")
    return [name for each in printed if (name := each.strip().removeprefix("class "))]


def rebalance_mode_of(lines: EventIndex, kind: GroupKind, protocol: Protocol) -> RebalanceMode:
    """`eager`, `cooperative` or `server-side`; `unknown` if no line names an assignor."""
    if protocol in ("consumer", "streams", "share"):
        return "server-side"
    if kind == "streams":
        return "cooperative"
    joined = lines.of_type(ev.JoinSucceeded, ev.SyncSucceeded)
    named = [p for e in joined if isinstance(e, ev.JoinSucceeded | ev.SyncSucceeded) and (p := e.protocol)]
    for event in reversed(lines.of_type(ev.SettingsReported)) if not named else ():
        if assignors := assignors_in(dict(event.settings)):
            named.append(assignors[0].rpartition(".")[2])
            break
    last = named[-1] if named else None
    if last in _COOPERATIVE:
        return "cooperative"
    return "eager" if last in _EAGER else "unknown"
