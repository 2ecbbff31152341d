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
    "streams-shutdown": (
        "shutdown",
        "scale-in",
        "member-left",
        "rolling-restart",
        "process-crash",
        "assignment-failure",
        "scale-out",
        "startup",
        "thread-replacement",
    ),
    "static-member-fenced": (
        "static-member-restart",
        "scaling-flap",
        "member-left",
        "process-pause",
        "scale-out",
        "rolling-restart",
        "static-member-expired",
    ),
    "inconsistent-protocol": ("member-left", "scale-in", "scale-out", "shutdown"),
    "group-max-size": ("member-left", "scale-in", "scale-out", "shutdown"),
    "authorization-failure": (
        "member-left",
        "scale-in",
        "shutdown",
        "process-pause",
        "process-crash",
        "rolling-restart",
        "coordinator-failover",
        "scale-out",
    ),
    "thread-replacement": (
        "scaling-flap",
        "member-left",
        "scale-out",
        "scale-in",
        "slow-processing",
        "rolling-restart",
        "process-crash",
        "process-pause",
        "rebalance-straggler",
        "unstable-leader",
    ),
    "streams-endpoint-change": (
        "static-member-restart",
        "rolling-restart",
        "member-left",
        "scale-out",
        "process-crash",
    ),
    "shared-group-id": ("scale-out", "startup", "scaling-flap", "subscription-change"),
    "connect-config-change": ("topic-metadata-change",),
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
