"""What the recorded samples show: the report on each, which line follows which, which line proves what."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import rebalance_forensics as rf
from rebalance_forensics.report.html import to_html

SAMPLES = Path(__file__).parents[2] / "sample_logs"
WITHIN_S = 60
"""Lines further apart than this have little to do with each other."""


@dataclass(frozen=True)
class Recorded:
    """What all samples together show, by pattern id."""

    reports: dict[str, str] = field(default_factory=dict)
    """Sample -> its report as a page."""
    before: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    after: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    proves: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Pattern -> the faults in whose proof it stands, with the number of samples."""


def recorded() -> Recorded:
    """Analyze every sample, without Spark."""
    found = Recorded()
    for directory in sorted(path for path in SAMPLES.iterdir() if path.is_dir()):
        analysis = rf.analyze(str(directory), engine="local")
        found.reports[directory.name] = to_html(analysis.report)
        _sequences(found, analysis)
        _proofs(found, analysis)
    return found


def _sequences(found: Recorded, analysis: rf.AnalyzedLogs) -> None:
    """In one file, on one group: what stands before and after, repetition aside."""
    known = analysis.events.dropna(subset=["timestamp", "group"])
    for _, lines in known.groupby(["path", "group"], sort=True):
        ordered = lines.sort_values(["timestamp", "line"])
        for one, other in pairwise(zip(ordered["pattern"], ordered["timestamp"], strict=True)):
            if one[0] != other[0] and (other[1] - one[1]).total_seconds() <= WITHIN_S:
                found.after[one[0]][other[0]] += 1
                found.before[other[0]][one[0]] += 1


def _proofs(found: Recorded, analysis: rf.AnalyzedLogs) -> None:
    places = {(row.path, row.line): row.pattern for row in analysis.events.itertuples()}
    for incident in analysis.report.incidents:
        if incident.severity != "info" and incident.root_causes:
            first = incident.root_causes[0]
            for pattern in {places.get((line.path, line.line)) for line in first.evidence} - {None}:
                found.proves[str(pattern)][first.cause] += 1
