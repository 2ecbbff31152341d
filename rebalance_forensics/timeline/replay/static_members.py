"""Static members that started anew and of whose membership nothing more is told."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.identity.participants import Participants
from rebalance_forensics.timeline.replay.drafts import DepartureDraft


def keep_restarted(
    participants: Participants, departures: dict[DepartureDraft, None], rebalances: Sequence[Rebalance]
) -> None:
    """Take back departures that only a new process tells of: within its session a static member is in (KIP-345).

    It had gone if it came back as a new member, or if the group rebalanced; where logs end before, nobody knows.
    """
    last = max((r.started_at for r in rebalances), default=0)
    for gone in [d for d in departures if d.why == "vanished" and d.returned is None]:
        own_words = all(participants.of_speaker(e) is gone.participant for e in gone.events)
        if gone.participant.instance_ids and own_words and gone.at >= last:
            del departures[gone]
