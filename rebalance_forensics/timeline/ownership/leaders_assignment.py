"""Members without lines of their own own what the leader gave them ("Finished assignment for group …")."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics.events.rebalances import AssignmentComputed
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.ownership.consumers import Consumers
from rebalance_forensics.timeline.ownership.readings import Ledger, Loss, Owner


def assigned_by_leader(
    ledger: Ledger,
    timeline: Timeline,
    consumers: Consumers,
    event: AssignmentComputed,
    at: int,
    began: Mapping[int | None, int],
) -> None:
    """Take in a printed assignment; under eager everybody gave up all of it once the rebalance began."""
    if not event.assignment:
        return
    begin = min(began.get(event.generation, at), at)
    given: dict[Owner, tuple[str, ...]] = {}
    for member, partitions in event.assignment:
        owner = consumers.of_member(member)
        if owner is not None:
            given[owner] = (*given.get(owner, ()), *partitions)
    eager = timeline.mode == "eager"
    for owner in [owner for owner in ledger.owned if not consumers.tells(owner, at)]:
        kept = () if eager else given.get(owner, ())
        gone = [partition for partition in ledger.owned[owner] if partition not in kept]
        loss = Loss(at=begin, why="revoked", certain=False, earliest=begin) if eager else Loss(at=at, why="revoked")
        ledger.release(owner, gone, loss)
    for owner, partitions in given.items():
        if not consumers.tells(owner, at):
            ledger.assign(owner, partitions, at)
