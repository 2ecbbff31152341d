"""TRANSITION: a rule of the former way as a cause."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, speaks_for
from rebalance_forensics.diagnosis.finding import Finding, Rule
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.timeline.build import Timeline

_ODDS = {0.97: 5, 0.9: 4, 0.75: 2, 0.55: 1, 0.4: 0}
_GIVEN = {odds: stated(f"given-{odds}", present=f"the rule is {confidence} sure") for confidence, odds in _ODDS.items()}


BRINGS = {
    "offsets-topic-unavailable": (
        "coordinator-failover",
        "network-partition",
        "process-pause",
        "process-crash",
        "rebalance-straggler",
        "scale-out",
        "startup",
        "assignment-failure",
        "unstable-leader",
    ),
    "assignment-failure": (
        "process-pause",
        "network-partition",
        "process-crash",
        "rebalance-straggler",
        "unstable-leader",
        "enforced-rebalance",
        "slow-processing",
        "member-left",
        "scale-out",
        "topic-metadata-change",
    ),
    "coordinator-failover": (
        "network-partition",
        "process-pause",
        "process-crash",
        "rebalance-straggler",
        "scale-out",
        "unstable-leader",
        "enforced-rebalance",
    ),
    "rebalance-straggler": ("scale-out", "unstable-leader"),
}


def cause_of(rule: Rule, name: str) -> Cause:
    """The same rule, as a cause."""

    def propose(timeline: Timeline) -> Iterator[Hypothesis]:
        for finding in rule.diagnose(timeline):
            yield hypothesis_of(finding)

    return Cause(
        summary=rule.summary, mechanism=rule.mechanism, shows=rule.signs, remedy=rule.remedy, usual=rule.usual,
        propose=propose, signs=tuple(speaks_for(sign, odds) for odds, sign in _GIVEN.items()),
        settings=rule.settings, kips=rule.kips, brings=BRINGS.get(name, ()), lookalikes=rule.lookalikes,
    )  # fmt: skip


def hypothesis_of(finding: Finding) -> Hypothesis:
    """The same finding, as a hypothesis."""
    odds = _ODDS[min(_ODDS, key=lambda c: abs(c - finding.confidence))]
    return Hypothesis(
        because=finding.because, culprits=finding.culprits, narrative=finding.narrative, severity=finding.severity,
        explains=finding.core, brings=finding.claims, onset=finding.onset, until=finding.until,
        answers={_GIVEN[odds]: Present()}, struck_at=finding.struck_at, ongoing=finding.ongoing,
        followups=finding.followups, advice=finding.advice,
    )  # fmt: skip
