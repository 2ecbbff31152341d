"""Static members that started anew and of whose membership nothing more is told."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.timeline.facts import Rebalance, Start
from rebalance_forensics.timeline.replay.drafts import DepartureDraft


def keep_restarted(
    departures: dict[DepartureDraft, None], starts: Sequence[Start], rebalances: Sequence[Rebalance]
) -> None:
    """Take back departures that only a new process tells of: within its session a static member is in (KIP-345).

    It had gone if it came back as a new member, or if the group rebalanced; where logs end before, nobody knows.
    """
    last = max((r.started_at for r in rebalances), default=0)
    of_a_start = {id(e) for start in starts for e in start.events}
    for gone in [d for d in departures if d.why == "vanished" and d.returned is None and d.participant.instance_ids]:
        if gone.at >= last and all(id(e) in of_a_start for e in gone.events):
            del departures[gone]
