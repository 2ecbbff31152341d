"""A finding and the rule that makes it: no evidence, no finding; no explanation, no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from rebalance_forensics.diagnosis.model import Advice, Culprit, Severity
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact, fact_ended_at

CERTAIN = 0.97
"""The lines say it in so many words."""
LIKELY = 0.9
"""The lines of both sides fit this cause and no other."""
PROBABLE = 0.75
"""It fits best; one neighbour cannot be excluded for want of a log."""
UNSURE = 0.55
"""It fits, and so does a neighbour, a little less well."""
GUESS = 0.4
"""Several causes would look the same in these logs, so each is less likely than not."""


@dataclass(slots=True, kw_only=True, eq=False)
class Finding:
    """One cause, once: what it explains (`claims`), who is to blame, and the lines that prove it.

    `core` are the claims without which there is no finding; all `claims` when left empty.
    `because` must not be empty. `until` is the last effect known to the rule. `cause` is set from the module's name,
    `rank` from the rule, unless what was found lies deeper than what the rule finds elsewhere.
    `struck_at` is when it hit whoever is blamed, where one blow may hit several (a host, a switch, a power line).
    """

    because: tuple[Event, ...]
    culprits: tuple[Culprit, ...]
    confidence: float
    narrative: str
    severity: Severity
    claims: tuple[Fact, ...] = ()
    core: tuple[Fact, ...] = ()
    onset: int | None = None
    until: int | None = None
    struck_at: int | None = None
    ongoing: bool = False
    advice: tuple[Advice, ...] = ()
    followups: tuple[str, ...] = ()
    cause: str = ""
    rank: int = 0

    def __post_init__(self) -> None:
        """Refuse a claim without proof."""
        if not self.because:
            raise ValueError("a finding needs evidence")

    def started_at(self) -> int:
        """The first evidence, or the onset that the rule names."""
        if self.onset is not None:
            return self.onset
        return min((e.at for e in self.because if e.at is not None), default=0)

    def last_at(self) -> int:
        """The last evidence, claim or effect."""
        times = [e.at for e in self.because if e.at is not None]
        times += [fact_ended_at(c) for c in self.claims]
        if self.until is not None:
            times.append(self.until)
        return max(times, default=self.started_at())


Usual = Literal["fault", "planned", "benign", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One root cause: how to find it and how to explain it. Its id is its module's name.

    `rank` orders causes from the root outwards: what a lower rank explains, a higher one does not claim again.
    """

    summary: str
    mechanism: str
    signs: str
    remedy: str
    usual: Usual
    rank: int
    diagnose: Callable[[Timeline], Iterable[Finding]]
    settings: tuple[str, ...] = ()
    kips: tuple[str, ...] = field(default=())
    brings: tuple[str, ...] = field(default=())
    lookalikes: tuple[str, ...] = field(default=())
