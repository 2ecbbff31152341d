"""Every rule there is, found by walking rules/: nothing to register."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from rebalance_forensics.diagnosis import rules
from rebalance_forensics.diagnosis.finding import Finding, Rule
from rebalance_forensics.timeline.build import Timeline


@cache
def all_rules() -> dict[str, Rule]:
    """Cause id -> rule, by id."""
    found = {}
    for module in pkgutil.iter_modules(rules.__path__):
        rule = importlib.import_module(f"{rules.__name__}.{module.name}").RULE
        found[module.name.replace("_", "-")] = rule
    return dict(sorted(found.items()))


def findings_of(timeline: Timeline) -> list[Finding]:
    """What every rule has to say, from the root outwards."""
    found = []
    for cause, rule in all_rules().items():
        for finding in rule.diagnose(timeline):
            finding.cause, finding.rank = cause, rule.rank
            found.append(finding)
    return sorted(found, key=lambda f: (f.rank, f.started_at(), -f.confidence, f.cause, _names(f)))


def _names(finding: Finding) -> tuple[str, ...]:
    return tuple(c.name for c in finding.culprits)
