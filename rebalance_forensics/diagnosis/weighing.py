"""Findings compete for the facts: what a deeper cause explains, its symptoms do not explain again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.finding import Finding
from rebalance_forensics.diagnosis.kafka_settings import number_in
from rebalance_forensics.timeline.build import Timeline

QUIET_MS = 5 * 60 * 1000
"""A cause that comes back to the same culprit within this is the same incident (contract: or three timeouts)."""
ONE_BLOW_MS = 15_000


@dataclass(slots=True, eq=False)
class Draft:
    """An incident in the making: findings of one cause that belong together."""

    cause: str
    started_at: int
    """Its first evidence."""
    last_at: int
    """Its last known effect."""
    names: set[str] = field(default_factory=set)
    """Everybody it blames."""
    findings: list[Finding] = field(default_factory=list)
    struck_at: int | None = None
    """When it last hit somebody, where one blow may hit several."""

    def add(self, finding: Finding) -> None:
        """Take in one more."""
        self.started_at = min(self.started_at, finding.started_at())
        self.last_at = max(self.last_at, finding.last_at())
        self.names |= names_of(finding)
        self.struck_at = finding.struck_at
        self.findings.append(finding)


def names_of(finding: Finding) -> set[str]:
    """Everybody a finding blames."""
    return {c.name for c in finding.culprits}


def weigh(timeline: Timeline, findings: Sequence[Finding]) -> tuple[list[Draft], dict[int, Finding]]:
    """Drafts of incidents, and which finding explains which fact (by identity)."""
    explained: dict[int, Finding] = {}
    kept: list[Finding] = []
    for finding in findings:
        core = finding.core or finding.claims
        if core and all(id(c) in explained for c in core):
            continue
        for claim in finding.claims:
            explained.setdefault(id(claim), finding)
        kept.append(finding)
    return merged(kept, quiet_ms(timeline)), explained


def quiet_ms(timeline: Timeline) -> int:
    """How long a group must be quiet for a repetition to be a new incident."""
    timeouts = [
        number
        for key in ("session.timeout.ms", "max.poll.interval.ms", "rebalance.timeout.ms")
        if (number := number_in(timeline.settings.get(key, ""))) is not None
    ]
    return max(QUIET_MS, 3 * max((t for t in timeouts if t < 3_600_000), default=0))


def _one_blow(draft: Draft, finding: Finding) -> bool:
    """Members that the same thing befalls within seconds have one cause in common, though each is blamed."""
    if draft.struck_at is None or finding.struck_at is None:
        return False
    return abs(finding.struck_at - draft.struck_at) <= ONE_BLOW_MS


def merged(findings: Iterable[Finding], quiet: int) -> list[Draft]:
    """What comes back to the same culprit before the group was quiet for so long is one draft."""
    drafts: list[Draft] = []
    recent: dict[str, list[Draft]] = {}
    for finding in sorted(findings, key=lambda f: (f.started_at(), f.rank, f.cause)):
        at, names = finding.started_at(), names_of(finding)
        alike = recent[finding.cause] = [d for d in recent.get(finding.cause, []) if at - d.last_at <= quiet]
        draft = next((d for d in alike if d.names & names or not (names or d.names) or _one_blow(d, finding)), None)
        if draft is None:
            draft = Draft(finding.cause, at, finding.last_at())
            drafts.append(draft)
            alike.append(draft)
        draft.add(finding)
    return drafts
