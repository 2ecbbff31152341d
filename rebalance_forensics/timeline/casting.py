"""The cast of a group: whose log and whose id is whose."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.actors import Cast
from rebalance_forensics.timeline.namesakes import seats
from rebalance_forensics.timeline.strangers import strangers


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
