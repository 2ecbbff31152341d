"""Each finding against the label: right, a neighbour that this view cannot tell apart, wrong, or not labelled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from benchmarks.calibration.labels import Label, View
from rebalance_forensics.diagnosis.model import Culprit, Incident, RootCause
from rebalance_forensics.report.model import Report

Verdict = Literal["right", "neighbour", "wrong", "unlabelled"]
BENIGN = frozenset({"startup", "shutdown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One finding of one run."""

    label: Label
    view: View
    cause: str
    confidence: float
    verdict: Verdict
    said: str

    @property
    def benign(self) -> bool:
        """Start-up and shutdown: easily right, so they are counted apart."""
        return self.cause in BENIGN


def judged(label: Label, view: View, report: Report) -> Iterator[Judged]:
    """Every root cause the report names up to the end of what the label speaks of."""
    for incident in report.incidents:
        if incident.started_at > label.to_ms:
            continue
        for cause in incident.root_causes:
            yield Judged(
                label=label,
                view=view,
                cause=cause.cause,
                confidence=cause.confidence,
                verdict=_verdict(label, view, incident, cause),
                said=f"{incident.group}: {incident.summary}",
            )


def _verdict(label: Label, view: View, incident: Incident, cause: RootCause) -> Verdict:
    if cause.cause == "unexplained":
        return "unlabelled"  # it names no cause, so it cannot be a wrong one
    if incident.group != label.group or not label.causes:
        return _in_a_healthy_group(label, incident, cause)
    if incident.ended_at is not None and incident.ended_at < label.from_ms:
        return _in_a_healthy_group(label, incident, cause)
    if cause.cause in label.causes:
        return "right" if view != "all" or _blames(cause.culprits, label.culprits) else "wrong"
    if cause.cause in label.also or cause.cause in BENIGN:
        return "right"
    return "neighbour" if cause.cause in label.indistinguishable.get(view, ()) else "wrong"


def _in_a_healthy_group(label: Label, incident: Incident, cause: RootCause) -> Verdict:
    """Only that nothing is wrong is known of it."""
    if cause.cause in BENIGN:
        return "right"
    known = incident.group == label.group or incident.group in label.healthy
    return "wrong" if known and incident.severity != "info" else "unlabelled"


def _blames(culprits: Iterable[Culprit], wanted: frozenset[str] | None) -> bool:
    """Every expected culprit is named, and at most one more."""
    if wanted is None:
        return True
    blamed = [{c.name, *c.names} for c in culprits]
    return all(any(_is(name, names) for names in blamed) for name in wanted) and len(blamed) <= len(wanted) + 1


def _is(wanted: str, names: set[str]) -> bool:
    member = re.compile(re.escape(wanted) + r"-(\d+$|[0-9a-f]{8}-|.*StreamThread)")
    return any(n == wanted or member.match(n) or f"/{wanted}/" in f"/{n}/" for n in names)
