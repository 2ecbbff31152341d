"""Streams probing rebalances that never end (KIP-441)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, seconds, setting
from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.finding import LIKELY, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.events.streams import AssignmentStability, FollowUpRequested, FollowUpTriggered
from rebalance_forensics.timeline.build import Timeline

ROUNDS = 3


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """At least three probing rebalances at the probing interval, the last of which still asks for another."""
    if timeline.kind != "streams":
        return
    probing = [r for r in timeline.rebalances if r.followup == "probing"]
    if len(probing) < ROUNDS or any(e.stable for e in timeline.of(AssignmentStability).since(probing[-1].started_at)):
        return
    told = timeline.of(FollowUpTriggered, FollowUpRequested).since(probing[0].started_at - 60_000)
    lag = timeline.settings.get("acceptable.recovery.lag") or "10000 by default"
    interval = setting(timeline, "probing.rebalance.interval.ms", 600_000)
    yield Finding(
        because=distinct_events([*told[:20], *(e for r in probing for e in r.events[:1])]),
        culprits=(the_group(timeline),),
        confidence=LIKELY,
        severity="warning",
        claims=tuple(probing),
        core=tuple(probing),
        narrative=(
            f"{len(probing)} probing rebalances, {seconds(interval)} apart, and the warm-ups still have not caught up."
        ),
        ongoing=True,
        advice=(
            Advice(
                action="Raise acceptable.recovery.lag or max.warmup.replicas, or find why restoration is slow.",
                why=(
                    f"{len(probing)} probing rebalances so far, one every {seconds(interval)}: they repeat until each "
                    f"warm-up's lag is below acceptable.recovery.lag ({lag})."
                ),
                cost="A task moved earlier restores longer before it processes.",
            ),
        ),
    )


RULE = Rule(
    summary="Probing rebalances of a Streams application that never end.",
    mechanism="While a stateful task warms up on its new owner the leader schedules a probing rebalance every "
    "probing.rebalance.interval.ms. If the warm-up never catches up, they go on for ever.",
    signs="Regular gaps of probing.rebalance.interval.ms, 'unstable assignment' at each, warm-ups that never catch up.",
    remedy="Make restoration faster than the input, or accept a larger lag.",
    usual="fault",
    rank=26,
    diagnose=diagnose,
    settings=(
        "probing.rebalance.interval.ms",
        "acceptable.recovery.lag",
        "max.warmup.replicas",
        "num.standby.replicas",
    ),
    kips=("KIP-441",),
)
