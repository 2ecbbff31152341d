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
RANKS = {
    "assignment-failure": 12,
    "authorization-failure": 10,
    "connect-config-change": 19,
    "coordinator-failover": 13,
    "enforced-rebalance": 23,
    "group-max-size": 10,
    "inconsistent-protocol": 10,
    "member-left": 34,
    "network-partition": 40,
    "offsets-expired": 27,
    "offsets-topic-unavailable": 11,
    "probing-loop": 26,
    "process-crash": 41,
    "process-pause": 42,
    "rebalance-straggler": 21,
    "rolling-restart": 30,
    "scale-in": 36,
    "scale-out": 37,
    "scaling-flap": 28,
    "shared-group-id": 18,
    "shutdown": 29,
    "slow-processing": 20,
    "startup": 31,
    "static-member-expired": 39,
    "static-member-fenced": 10,
    "static-member-restart": 22,
    "streams-endpoint-change": 15,
    "streams-shutdown": 9,
    "subscription-change": 23,
    "thread-replacement": 14,
    "topic-metadata-change": 23,
    "unexplained": 99,
    "unstable-leader": 50,
    "unsubscribe": 20,
}


def cause_of(rule: Rule) -> Cause:
    """The same rule, as a cause."""

    def propose(timeline: Timeline) -> Iterator[Hypothesis]:
        for finding in rule.diagnose(timeline):
            yield hypothesis_of(finding)

    return Cause(
        summary=rule.summary, mechanism=rule.mechanism, shows=rule.signs, remedy=rule.remedy, usual=rule.usual,
        propose=propose, signs=tuple(speaks_for(sign, odds) for odds, sign in _GIVEN.items()),
        settings=rule.settings, kips=rule.kips, brings=rule.brings, lookalikes=rule.lookalikes,
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
