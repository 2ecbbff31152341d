"""A cause that breaks off on lines nobody has seen before."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.timeline.group_timeline import Timeline


def causes_but_for(name: str) -> dict[str, Cause]:
    """All causes, this one with a defect of ours."""
    causes = all_causes()
    return causes | {name: replace(causes[name], propose=_breaks_off)}


def _breaks_off(_timeline: Timeline) -> Iterator[Hypothesis]:
    yield from ()
    raise LookupError("no such case")
