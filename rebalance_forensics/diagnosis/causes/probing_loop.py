"""Streams probing rebalances that never end (KIP-441)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.applications import catch_up
from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.rebalances.probing_rebalances import endless_probing
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.durations import lasting
from rebalance_forensics.timeline.group_timeline import Timeline

STILL_PROBING = stated(
    "still-probing", present="each probing rebalance asked for another, and none called the assignment stable"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """At least three probing rebalances that moved no task, the last of which still asks for another."""
    probing = endless_probing(timeline)
    if probing is not None:
        rounds, interval = len(probing.rebalances), timeline.measured(probing.interval_ms)
        yield Hypothesis(
            because=probing.lines,
            culprits=(the_group(timeline),),
            severity="warning",
            explains=probing.rebalances,
            answers={STILL_PROBING: Present(probing.lines)},
            narrative=(
                f"{rounds} probing rebalances{lasting(interval, ', {} apart,')} and the warm-ups still have not caught "
                "up."
            ),
            ongoing=True,
            advice=catch_up(rounds, interval, timeline.settings.get("acceptable.recovery.lag")),
        )


CAUSE = Cause(
    summary="Probing rebalances of a Streams application that never end.",
    mechanism="While a stateful task warms up on its new owner the leader schedules a probing rebalance every "
    "probing.rebalance.interval.ms. If the warm-up never catches up, they never stop.",
    shows="Regular gaps of probing.rebalance.interval.ms, 'unstable assignment' at each, warm-ups that never catch up.",
    remedy="Make restoration faster than the input, or raise acceptable.recovery.lag.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(STILL_PROBING, DECISIVE),),
    lookalikes=("streams-endpoint-change", "thread-replacement"),
    settings=(
        "probing.rebalance.interval.ms",
        "acceptable.recovery.lag",
        "max.warmup.replicas",
        "num.standby.replicas",
    ),
    kips=("KIP-441",),
)
