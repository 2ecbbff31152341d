"""Streams probing rebalances that never end (KIP-441)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, seconds, setting
from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.streams import AssignmentStability, FollowUpRequested, FollowUpTriggered
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import PROBING_INTERVAL_MS, PROBING_REQUEST_MS

ROUNDS = 3
STILL_PROBING = stated(
    "still-probing", present="each probing rebalance asked for another, and none called the assignment stable"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """At least three probing rebalances at the probing interval, the last of which still asks for another."""
    if timeline.kind != "streams":
        return
    probing = [r for r in timeline.rebalances if r.followup == "probing"]
    if len(probing) < ROUNDS or any(e.stable for e in timeline.of(AssignmentStability).since(probing[-1].started_at)):
        return
    told = timeline.of(FollowUpTriggered, FollowUpRequested).since(probing[0].started_at - PROBING_REQUEST_MS)
    lag = timeline.settings.get("acceptable.recovery.lag")
    interval = setting(timeline, "probing.rebalance.interval.ms", PROBING_INTERVAL_MS)
    lines = distinct_events([*told[:20], *(e for r in probing for e in r.events[:1])])
    yield Hypothesis(
        because=lines,
        culprits=(the_group(timeline),),
        severity="warning",
        explains=tuple(probing),
        answers={STILL_PROBING: Present(lines)},
        narrative=(
            f"{len(probing)} probing rebalances, {seconds(interval)} apart, and the warm-ups still have not caught up."
        ),
        ongoing=True,
        advice=(
            Advice(
                action="Raise acceptable.recovery.lag or max.warmup.replicas, or find why restoration is slow.",
                why=(
                    f"{len(probing)} probing rebalances so far, one every {seconds(interval)}: they repeat until each "
                    f"warm-up's lag is below acceptable.recovery.lag{f' ({lag})' if lag else ''}."
                ),
                cost="A task moved earlier restores longer before it processes.",
            ),
        ),
    )


CAUSE = Cause(
    summary="Probing rebalances of a Streams application that never end.",
    mechanism="While a stateful task warms up on its new owner the leader schedules a probing rebalance every "
    "probing.rebalance.interval.ms. If the warm-up never catches up, they go on for ever.",
    shows="Regular gaps of probing.rebalance.interval.ms, 'unstable assignment' at each, warm-ups that never catch up.",
    remedy="Make restoration faster than the input, or accept a larger lag.",
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
