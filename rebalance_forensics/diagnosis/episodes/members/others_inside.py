"""Members that were in before those whose arrival is seen, as clients without a coordinator's log tell of them."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.events.partitions import PartitionsRevoked
from rebalance_forensics.events.rebalances import JoinReported
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import LAST_JOINED_MS


def led_by_another(timeline: Timeline, run: Sequence[Arrival], *, is_numbered: bool) -> bool:
    """KafkaJS prints who leads: where that is none of them, or where it was cut off, others may have been in.

    So they may where Sarama's log ends before its session, unless it is known which generation that was.
    """
    told = timeline.of(JoinReported).between(run[0].at, run[-1].at + LAST_JOINED_MS)
    leaders = {e.leader for e in told if e.leader or not is_numbered}
    return bool(leaders) and leaders.isdisjoint(a.member for a in run)


def gives_up_a_generation(timeline: Timeline, run: Sequence[Arrival]) -> bool:
    """Whether somebody who came with none of them gives up a generation to let them in (Sarama)."""
    came = {a.participant for a in run}
    ended = timeline.of(PartitionsRevoked).between(run[0].at, run[-1].at + LAST_JOINED_MS)
    told = (timeline.participants.of_speaker(e) for e in ended if e.generation is not None)
    return any(participant is not None and participant not in came for participant in told)
