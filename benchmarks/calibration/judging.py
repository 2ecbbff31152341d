"""Each cause a report names against the label: right, a neighbour, wrong or not labelled; what stands beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from benchmarks.calibration.labels import SIDES, Label, View
from rebalance_forensics.diagnosis.model import Culprit, Incident, RootCause
from rebalance_forensics.report.model import Report

Verdict = Literal["right", "neighbour", "wrong", "unlabelled"]
FIRM = 0.75
"""A report that names the cause less surely than this has left the question open."""
BENIGN = frozenset({"startup", "shutdown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One cause that one run names: the verdict of an incident, or a rival of it, at its own confidence."""

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


@dataclass(frozen=True, slots=True)
class Asked:
    """A log that a report asks for, in its words, and whose it is where the report says so."""

    words: str
    who: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of one incident in one view."""

    label: Label
    view: View
    findings: tuple[Judged, ...]
    ruled_out: int
    """How many causes its incidents rule out."""
    truths_ruled_out: int
    """How many of these were the real one."""
    asks: tuple[Asked, ...]
    """The logs that it says would decide, in `would_decide` or else among the gaps."""
    decided: tuple[Asked, ...] = ()
    """Those of them that make the report name the real cause firmly when they are laid beside the others."""
    rounds: int | None = None
    """How often all logs asked for are fetched until the real cause is named firmly; None where that never comes."""

    @property
    def open(self) -> bool:
        """Whether the real cause is not named firmly."""
        return bool(self.label.causes) and not any(
            one.cause in self.label.causes and one.confidence >= FIRM for one in self.findings
        )


def run_of(label: Label, view: View, report: Report) -> Run:
    """Judge one report."""
    mine = [one for one in report.incidents if _is_labelled(label, one)]
    ruled = [(one, out.cause) for one in mine for out in one.ruled_out]
    wrongly = [cause for one, cause in ruled if cause in label.causes and one.root_causes[0].cause not in label.causes]
    return Run(
        label=label,
        view=view,
        findings=tuple(judged(label, view, report)),
        ruled_out=len(ruled),
        truths_ruled_out=len(wrongly),
        asks=tuple(dict.fromkeys(_asked(mine))) or tuple(_missed(label, report)),
    )


def _asked(mine: Iterable[Incident]) -> Iterator[Asked]:
    return (Asked(log.needs, log.who) for one in mine for log in one.would_decide)


def _missed(label: Label, report: Report) -> Iterator[Asked]:
    """Where no incident asks, what the gaps of that group say would show more."""
    return (Asked(f"{gap.what} {gap.consequence}", None) for gap in report.gaps if label.group in gap.what)


def _is_labelled(label: Label, incident: Incident) -> bool:
    """Whether it is of the group and the time of which the label speaks."""
    return incident.group == label.group and (incident.ended_at is None or incident.ended_at >= label.from_ms)


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
    return "neighbour" if cause.cause in _neighbours(label, view) else "wrong"


def _neighbours(label: Label, view: View) -> frozenset[str]:
    """What the label says of a side; logs that were cut in another way show at most as much as either side."""
    sides = [view] if view in SIDES else list(SIDES)
    return frozenset().union(*(label.indistinguishable.get(side, frozenset()) for side in sides))


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
