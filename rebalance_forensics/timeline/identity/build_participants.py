"""The participants of a group: what kind of group they form, whose log and whose id is whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.group_clock import TimedLines
from rebalance_forensics.timeline.identity.actors import Cast
from rebalance_forensics.timeline.identity.foreign_client_ids import strangers
from rebalance_forensics.timeline.identity.namesakes import seats
from rebalance_forensics.timeline.model import GroupKind, Protocol, ProtocolTerm, RebalanceMode
from rebalance_forensics.timeline.protocols import kind_of, protocols_of, rebalance_mode_of


@dataclass(frozen=True, slots=True)
class Participants:
    """Who takes part in the group, and how they agree on who does what."""

    kind: GroupKind
    protocols: tuple[ProtocolTerm, ...]
    mode: RebalanceMode
    cast: Cast

    @property
    def protocol(self) -> Protocol:
        """The protocol the group speaks at last."""
        return protocol_at_last(self.protocols)


def participants_of(lines: TimedLines) -> Participants:
    """Everybody who speaks or is spoken of in the lines of a group."""
    grouped = lines.of_the_group()
    kind = kind_of(grouped)
    protocols = protocols_of(grouped, kind)
    mode = rebalance_mode_of(lines.own, kind, protocol_at_last(protocols))
    return Participants(kind, protocols, mode, cast_of(kind, lines.own))


def protocol_at_last(protocols: Sequence[ProtocolTerm]) -> Protocol:
    """The last of them; unknown where no line shows one."""
    return protocols[-1].protocol if protocols else "unknown"


def cast_of(kind: str, events: Sequence[Event]) -> Cast:
    """The cast of a group, from everything its own lines say; clients' logs are heard first."""
    cast = Cast(kind)
    for event in events:
        cast.learn(event)
    for client_id, member_ids in seats(events, lambda client: sum(a.has_log for a in cast.called(client)) == 1):
        cast.seat(client_id, member_ids)
    for client_id, member_id in list(strangers(cast, events)):
        cast.seat(client_id, [member_id])
    for event in events:
        cast.link(event)
    cast.tell_apart()
    return cast
