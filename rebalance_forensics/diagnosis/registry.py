"""Every rule there is, found by walking rules/: nothing to register."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from rebalance_forensics import defects
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


def findings_of(timeline: Timeline) -> tuple[list[Finding], dict[str, str]]:
    """What every rule has to say, from the root outwards; and by cause the errors of rules that broke off.

    A rule that breaks off on lines nobody has seen before must not silence the others.
    """
    found, broken = [], {}
    for cause, rule in all_rules().items():
        try:
            findings = list(rule.diagnose(timeline))
        except Exception as error:  # noqa: BLE001 - whatever it was, it is told as a gap
            broken[cause] = defects.told(error)
            continue
        for finding in findings:
            finding.cause, finding.rank = cause, finding.rank or rule.rank
        found += findings
    return sorted(found, key=lambda f: (f.rank, f.started_at(), -f.confidence, f.cause, _names(f))), broken


def _names(finding: Finding) -> tuple[str, ...]:
    return tuple(c.name for c in finding.culprits)
