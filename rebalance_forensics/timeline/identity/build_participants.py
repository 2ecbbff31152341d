"""The profile of a group: its kind, its protocols, and its participants with their logs and ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.timeline.clocks.group_clock import TimedLines
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.identity.foreign_client_ids import foreign_members
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.namesakes import members_by_client_id
from rebalance_forensics.timeline.identity.participant_drafts import ParticipantDrafts
from rebalance_forensics.timeline.identity.participants import Participants, own_member_id, place_name
from rebalance_forensics.timeline.model import GroupKind, Protocol, ProtocolTerm, RebalanceMode
from rebalance_forensics.timeline.protocols import kind_of, protocols_of, rebalance_mode_of


class GroupProfile(Struct, frozen=True):
    """The kind of a group, the protocols it spoke, how it rebalances, and its participants."""

    kind: GroupKind
    protocols: tuple[ProtocolTerm, ...]
    mode: RebalanceMode
    participants: Participants

    @property
    def protocol(self) -> Protocol:
        """The last protocol that the group spoke."""
        return protocol_at_last(self.protocols)


def profile_of(lines: TimedLines) -> GroupProfile:
    """The profile of the group with these lines."""
    grouped = lines.of_the_group()
    kind = kind_of(grouped, lines.own.of_type(SettingsReported))
    protocols = protocols_of(grouped, kind)
    mode = rebalance_mode_of(lines.own, kind, protocol_at_last(protocols))
    return GroupProfile(kind, protocols, mode, build_participants(kind, lines.own))


def protocol_at_last(protocols: Sequence[ProtocolTerm]) -> Protocol:
    """The last of them; unknown where no line shows one."""
    return protocols[-1].protocol if protocols else "unknown"


def build_participants(kind: str, lines: EventIndex) -> Participants:
    """The participants that a group's own lines show; clients' logs are read first."""
    participants = ParticipantDrafts(kind)
    for event in lines.by_clients:
        participants.add_speaker(event)
    if not any(event.speaker.role == "broker" and event.group is not None for event in lines):
        several = _places_of_several_clients(lines.by_clients)
        for event in lines.by_clients:
            if place_name(event) not in several:
                participants.add_nameless(event)
    for client_id, member_ids in members_by_client_id(
        lines, lambda client: sum(a.has_log for a in participants.with_client_id(client)) == 1
    ):
        participants.add_namesake(client_id, member_ids)
    for client_id, member_id in list(foreign_members(participants, lines)) if lines.by_clients else ():
        participants.add_namesake(client_id, [member_id])
    for event in lines:
        participants.link_ids(event)
    participants.name_namesakes()
    for event in lines:
        participants.add_named(event)
    return participants.finished()


def _places_of_several_clients(events: Sequence[Event]) -> set[str]:
    """The places where members of several clients write to one log."""
    names: dict[str, set[str | None]] = defaultdict(set)
    for event in events:
        if member := own_member_id(event):
            names[place_name(event)].add(name_in_member_id(member))
    return {place for place, clients in names.items() if len(clients) > 1}
