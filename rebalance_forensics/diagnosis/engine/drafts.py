"""Incidents in the making: what happens to the same culprit before the group was quiet belongs together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.timeline.windows import PROCESS_START_MS


@dataclass(slots=True, eq=False)
class Draft:
    """An incident in the making: hypotheses of one cause that belong together."""

    cause: str
    started_at: int
    """Its first evidence."""
    last_at: int
    """Its last known effect."""
    names: set[str] = field(default_factory=set)
    """Names of the culprits."""
    findings: list[Weighed] = field(default_factory=list)
    struck_at: int | None = None
    """Time of the last strike, for causes that may strike several members at once."""

    def add(self, weighed: Weighed) -> None:
        """Add a finding."""
        self.started_at = min(self.started_at, weighed.hypothesis.started_at())
        self.last_at = max(self.last_at, weighed.hypothesis.last_at())
        self.names |= names_of(weighed)
        self.struck_at = weighed.hypothesis.struck_at
        self.findings.append(weighed)


def names_of(weighed: Weighed) -> set[str]:
    """Names of a hypothesis' culprits."""
    return {c.name for c in weighed.hypothesis.culprits}


def _struck_together(draft: Draft, weighed: Weighed) -> bool:
    """True if both struck within seconds: such members have one cause in common, though each is blamed."""
    if draft.struck_at is None or weighed.hypothesis.struck_at is None:
        return False
    return abs(weighed.hypothesis.struck_at - draft.struck_at) <= PROCESS_START_MS


def _belongs(draft: Draft, weighed: Weighed, names: set[str]) -> bool:
    """True if it shares a culprit with the draft, or both have none, or both struck at once."""
    return not draft.names.isdisjoint(names) or not (names or draft.names) or _struck_together(draft, weighed)


def merged(findings: Iterable[Weighed], quiet: int) -> list[Draft]:
    """One draft for what recurs for the same culprit before the group was quiet for `quiet` ms."""
    drafts: list[Draft] = []
    recent: dict[str, list[Draft]] = {}
    for weighed in sorted(findings, key=lambda w: (w.hypothesis.started_at(), w.cause)):
        at, names = weighed.hypothesis.started_at(), names_of(weighed)
        alike = recent[weighed.cause] = [d for d in recent.get(weighed.cause, ()) if at - d.last_at <= quiet]
        draft = next((d for d in alike if _belongs(d, weighed, names)), None) if alike else None
        if draft is None:
            draft = Draft(
                weighed.cause, at, weighed.hypothesis.last_at(), names, [weighed], weighed.hypothesis.struck_at
            )
            drafts.append(draft)
            alike.append(draft)
        else:
            draft.add(weighed)
    return drafts
