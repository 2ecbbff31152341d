"""Compares each cause in a report with the label: right, a neighbour, wrong or not labelled."""

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
"""A report that names the cause with less confidence leaves the question open."""
BENIGN = frozenset({"startup", "shutdown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A cause in the report of one run: the verdict of an incident or a rival, with its confidence."""

    label: Label
    view: View
    cause: str
    confidence: float
    verdict: Verdict
    said: str

    @property
    def benign(self) -> bool:
        """True for start-up and shutdown, which are counted separately because they are easily right."""
        return self.cause in BENIGN


@dataclass(frozen=True, slots=True)
class Asked:
    """A log that a report asks for, in the words of the report, and the host or client that wrote it, if named."""

    words: str
    who: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The result for one incident in one view."""

    label: Label
    view: View
    findings: tuple[Judged, ...]
    ruled_out: int
    """Number of causes that its incidents rule out."""
    truths_ruled_out: int
    """How many of these are the real cause."""
    asks: tuple[Asked, ...]
    """The logs that the report asks for, in `would_decide`, otherwise in the gaps."""
    decided: tuple[Asked, ...] = ()
    """The logs among them that, added to the others, make the report name the real cause at `FIRM` or more."""
    rounds: int | None = None
    """How often logs are fetched until the real cause is named at `FIRM` or more; None if it never is."""

    @property
    def open(self) -> bool:
        """True if the report does not name the real cause at `FIRM` or more."""
        return bool(self.label.causes) and not any(
            one.cause in self.label.causes and one.confidence >= FIRM for one in self.findings
        )


def run_of(label: Label, view: View, report: Report) -> Run:
    """Compare one report with its label."""
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
    """The logs that the gaps of the group ask for; used if no incident asks for one."""
    return (Asked(f"{gap.what} {gap.consequence}", None) for gap in report.gaps if label.group in gap.what)


def _is_labelled(label: Label, incident: Incident) -> bool:
    """True for an incident of the labelled group that does not end before the labelled time."""
    return incident.group == label.group and (incident.ended_at is None or incident.ended_at >= label.from_ms)


def judged(label: Label, view: View, report: Report) -> Iterator[Judged]:
    """Every root cause of the incidents that start before the labelled time ends."""
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
    """The causes that look like the real one in this view; a view other than a side shows at most as much as a side."""
    sides = [view] if view in SIDES else list(SIDES)
    return frozenset().union(*(label.indistinguishable.get(side, frozenset()) for side in sides))


def _in_a_healthy_group(label: Label, incident: Incident, cause: RootCause) -> Verdict:
    """The verdict on a finding in a group that is only known to be healthy."""
    if cause.cause in BENIGN:
        return "right"
    known = incident.group == label.group or incident.group in label.healthy
    return "wrong" if known and incident.severity != "info" else "unlabelled"


def _blames(culprits: Iterable[Culprit], wanted: frozenset[str] | None) -> bool:
    """True if every expected culprit is named, and at most one other."""
    if wanted is None:
        return True
    blamed = [{c.name, *c.names} for c in culprits]
    return all(any(_is(name, names) for names in blamed) for name in wanted) and len(blamed) <= len(wanted) + 1


def _is(wanted: str, names: set[str]) -> bool:
    member = re.compile(re.escape(wanted) + r"-(\d+$|[0-9a-f]{8}-|.*StreamThread)")
    return any(n == wanted or member.match(n) or f"/{wanted}/" in f"/{n}/" for n in names)
