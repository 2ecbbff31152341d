"""Verdicts of the analysis on a recording of `python -m lab.clients`, for each client, fault and view.

`python -m lab.clients.judge DIR…` prints the table of docs/trust.md, followed by all verdicts that are not right.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from lab.clients.__main__ import FAULTS
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import analyze

SURE = 0.75
VIEWS = ("all logs", "clients", "member 1", "member 2")


def judged(
    folder: Path, truth: dict[str, str], views: Container[str] = VIEWS
) -> Iterator[tuple[str, str, list[Incident]]]:
    """For each view, its verdict (right, unsure, silent or wrong) and the incidents that it is based on."""
    logs = folder / truth["cause"] / truth["client"]
    nodes = [logs / "node-1", logs / "node-2"]
    for view, paths in zip(VIEWS, ([logs], nodes, nodes[:1], nodes[1:]), strict=True):
        if view not in views:
            continue
        try:
            report = analyze([str(path) for path in paths], AnalyzeOptions(engine="local"))
        except InputError:  # no line that anybody reads
            yield view, "silent", []
            continue
        # The incidents of a client that logs no group are listed under the name of its file.
        incidents = [i for i in report.incidents if i.group in (None, truth["group"]) or not i.group.endswith(FAULTS)]
        yield view, verdict(incidents, truth), incidents


def verdict(incidents: Iterable[Incident], truth: dict[str, str]) -> str:
    """Compare the first causes of a group's incidents with the injected fault."""
    first = [i.root_causes[0] for i in incidents if i.severity != "info"]
    expected = [c for c in first if c.cause == truth["cause"]]
    # A log that names no client is identified by its host, or by its file if it is the only log.
    names = {truth["culprit"], "node-2", "app.log"} if truth["culprit"] else set()
    named = [c for c in expected if not names or {x.name for x in c.culprits} <= names]
    if any(c.confidence >= SURE and c.cause not in (truth["cause"], "startup", "shutdown") for c in first):
        return "wrong"
    if any(c.confidence >= SURE and c not in named for c in expected):
        return "wrong culprit"
    if named and max(c.confidence for c in named) >= SURE:
        return "right"
    return "unsure" if first else "silent"


def main() -> None:
    """Print one line per client and fault."""
    counts: Counter[tuple[str, str]] = Counter()
    details = []
    for folder in map(Path, sys.argv[1:]):
        for truth in json.loads((folder / "truth.json").read_text()):
            row = []
            for view, found, incidents in judged(folder, truth):
                counts[view, found] += 1
                row.append(found)
                if found != "right":
                    details.append((f"{truth['client']} {truth['cause']}, {view}: {found}", incidents))
            print("|", truth["client"], "|", truth["cause"], "|", " | ".join(row), "|", flush=True)
    for heading, incidents in details:
        print(heading)
        for incident in incidents:
            for cause in incident.root_causes[:2]:
                culprits = ", ".join(culprit.name for culprit in cause.culprits)
                print(f"    {incident.group}: {cause.cause} {cause.confidence:.2f} ({culprits}) {incident.severity}")
    print(dict(counts))


if __name__ == "__main__":
    main()
