"""Every cause there is, found by walking causes/: nothing to register."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from rebalance_forensics import defects
from rebalance_forensics.diagnosis import causes
from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.contest import Brings, consequences_of
from rebalance_forensics.diagnosis.engine.orchestrated import with_orchestration
from rebalance_forensics.diagnosis.engine.weights import Weighed, weighed
from rebalance_forensics.timeline.group_timeline import Timeline


@cache
def all_causes() -> dict[str, Cause]:
    """Cause id -> cause, by id."""
    found = {}
    for module in pkgutil.iter_modules(causes.__path__):
        found[module.name.replace("_", "-")] = importlib.import_module(f"{causes.__name__}.{module.name}").CAUSE
    return dict(sorted(found.items()))


@cache
def consequences() -> Brings:
    """What follows from each cause."""
    return consequences_of({name: cause.implies for name, cause in all_causes().items()})


def put_forward(timeline: Timeline) -> tuple[list[Weighed], dict[str, str]]:
    """Every hypothesis, weighed; and by cause the errors of those that broke off."""
    # A cause that breaks off on lines nobody has seen before must not silence the others.
    found, broken = [], {}
    for name, cause in all_causes().items():
        if cause.evidence_types and not timeline.shows_any(cause.evidence_types):
            continue
        try:
            found += [
                weighed(timeline, name, cause, with_orchestration(timeline, name, h)) for h in cause.propose(timeline)
            ]
        except Exception as error:  # noqa: BLE001 - whatever it was, it is reported as a gap
            broken[name] = defects.describe(error)
    for each in found:
        # Each hypothesis has its answers; what other causes are asked of it concerns the few that become a verdict.
        each.subject.answers.clear()
    return found, broken
