"""Findings compete for the facts: what a deeper cause explains, its symptoms do not explain again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.finding import Fact, Finding
from rebalance_forensics.timeline.build import Timeline

QUIET_MS = 5 * 60 * 1000
"""A cause that comes back to the same culprit within this is the same incident (contract: or three timeouts)."""


@dataclass(slots=True, eq=False)
class Draft:
    """An incident in the making: findings of one cause that belong together."""

    findings: list[Finding] = field(default_factory=list)

    @property
    def cause(self) -> str:
        """The cause of its first finding."""
        return self.findings[0].cause

    @property
    def started_at(self) -> int:
        """Its first evidence."""
        return min(f.started_at() for f in self.findings)

    @property
    def last_at(self) -> int:
        """Its last known effect."""
        return max(f.last_at() for f in self.findings)

    def names(self) -> set[str]:
        """Everybody it blames."""
        return {c.name for f in self.findings for c in f.culprits}

    def claims(self) -> list[Fact]:
        """Every fact it explains."""
        return [c for f in self.findings for c in f.claims]


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
    return _merged(kept, quiet_ms(timeline)), explained


def quiet_ms(timeline: Timeline) -> int:
    """How long a group must be quiet for a repetition to be a new incident."""
    timeouts = [
        int(value)
        for key in ("session.timeout.ms", "max.poll.interval.ms", "rebalance.timeout.ms")
        if (value := timeline.settings.get(key, "")).isdigit()
    ]
    return max(QUIET_MS, 3 * max((t for t in timeouts if t < 3_600_000), default=0))


def _merged(findings: Sequence[Finding], quiet: int) -> list[Draft]:
    drafts: list[Draft] = []
    for finding in sorted(findings, key=lambda f: (f.started_at(), f.rank, f.cause)):
        names = {c.name for c in finding.culprits}
        for draft in drafts:
            same = draft.cause == finding.cause and (draft.names() & names or (not names and not draft.names()))
            if same and finding.started_at() - draft.last_at <= quiet:
                draft.findings.append(finding)
                break
        else:
            drafts.append(Draft([finding]))
    return drafts
