"""The same members come and go again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rebalance_forensics.diagnosis.advice.deployments import calm_the_autoscaler
from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.flaps import flapping_members
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.group_timeline import Timeline

CYCLED = stated("left-and-came-back-repeatedly", present="the same members left and came back while the others stayed")
TAKEN_OVER = stated("places-taken-in-turn", present="members without a name left and others came in their place")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that shut down cleanly at least twice and came back, while others stayed throughout."""
    for flapping in flapping_members(timeline):
        found = about_absences(
            timeline,
            flapping.absences,
            culprits=culprits_of(timeline, flapping.participants),
            answers={TAKEN_OVER if flapping.nameless else CYCLED: Present(flapping.lines)},
            severity="warning",
            brings=flapping.arrivals,
            narrative=(
                f"{{who}} left and came back {len(flapping.absences)} times while the other members stayed: "
                "scaling that does not settle."
            ),
            advice=calm_the_autoscaler(flapping),
        )
        yield replace(found, participants=flapping.participants)


CAUSE = Cause(
    summary="The same members are added and removed again and again, usually by an autoscaler.",
    mechanism=(
        "Each step is a rebalance; its pause raises the lag that the autoscaler watches, which makes the next step."
    ),
    shows="Alternating scale-out and scale-in of the same members while others stay.",
    remedy="Hysteresis: a longer stabilization window, or scaling on a smoother signal than lag.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(CYCLED, WEAK),
        speaks_for(TAKEN_OVER, WEAK),
        speaks_for(closes.shutdown_logged, WEAK),
        speaks_against(closes.error_before_close, STRONG, absent=STRONG),
    ),
    brings=("member-left", "scale-in", "scale-out", "rolling-restart"),
    lookalikes=("rolling-restart", "slow-processing", "thread-replacement"),
    settings=("session.timeout.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
