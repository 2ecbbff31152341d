"""The coordinator broker died, froze, restarted or handed the group over."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import restart_brokers_cleanly
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import (
    chains_of_moves,
    whole_cluster_stopped,
    without_coordinator_ms,
)
from rebalance_forensics.diagnosis.episodes.coordinator.move_effects import effects_of_moves
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.signs.coordinator import LOADED, LOST_BY_MOST, offsets_outage_meanwhile
from rebalance_forensics.diagnosis.wording.culprits import broker
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import HAND_OVER_MS


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Moves of the coordinator after the group's first generation, one after another where brokers go in turn."""
    for chain in chains_of_moves(timeline):
        names = list(dict.fromkeys(m.broker for m in chain))
        facts = effects_of_moves(timeline, chain)
        planned = len(names) > 1 and not any(timeline.pauses.any_between(m.at, m.at + HAND_OVER_MS) for m in chain)
        unharmed = "" if facts else ", and the generation stayed as it was"
        yield Hypothesis(
            because=tuple(e for m in sorted(chain, key=lambda m: not m.certain) for e in m.events),
            culprits=tuple(broker(n) for n in sorted(names)),
            answers={LOADED if any(m.certain for m in chain) else LOST_BY_MOST: Present(chain[0].events)},
            severity="info" if planned or whole_cluster_stopped(timeline, chain) else "warning",
            onset=chain[0].at,
            brings=facts,
            narrative=f"{' then '.join(names)} stopped coordinating the group; another broker took over{unharmed}.",
            advice=restart_brokers_cleanly(without_coordinator_ms(chain)),
        )


CAUSE = Cause(
    summary="The coordinator broker died, froze, restarted or handed the group over.",
    mechanism=(
        "A group lives on the leader of one __consumer_offsets partition. When that moves, the new leader"
        " loads the group's metadata and the members find it anew; generations continue where they were "
        "unless sessions expire meanwhile."
    ),
    shows="Load and unload lines, Resigned/Elected, 'coordinator unavailable' at many members, many groups at once.",
    remedy=(
        "Find out why the broker stopped; keep __consumer_offsets replicated and small, session.timeout.ms above"
        " the time to fail over."
    ),
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(LOADED, DECISIVE + WEAK),
        speaks_for(LOST_BY_MOST, DECISIVE),
        speaks_against(offsets_outage_meanwhile, 2 * DECISIVE),
    ),
    brings=(
        "network-partition",
        "process-pause",
        "process-crash",
        "rebalance-straggler",
        "scale-out",
        "unstable-leader",
        "enforced-rebalance",
    ),
    lookalikes=("network-partition",),
    settings=("offsets.topic.replication.factor", "session.timeout.ms", "controlled.shutdown.enable"),
)
