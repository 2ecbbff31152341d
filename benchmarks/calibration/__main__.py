"""`python -m benchmarks.calibration INCIDENTS`: analyze labelled incidents in seven views, write CALIBRATION.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.calibration.judging import Judged, judged
from benchmarks.calibration.labels import VIEWS, Label, View, labels_in
from benchmarks.calibration.results import page
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import analyze


def main() -> int:
    """Exit code 1 when fewer than nine in ten of the surest findings are right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("incidents", type=Path, help="directory with one folder an incident: truth.json and logs/")
    parser.add_argument("--views", default=",".join(VIEWS), help="which parts of the logs to show")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "CALIBRATION.md")
    asked = parser.parse_args()
    labels = list(labels_in(asked.incidents))
    if not labels:
        parser.error(f"{asked.incidents}: no folder with a truth.json")
    views = [view for view in VIEWS if view in asked.views.split(",")]
    findings = [one for label in labels for view in views if label.shows(view) for one in _findings(label, view)]
    asked.out.write_text(page(findings, len(labels), views), encoding="utf-8")
    print(asked.out.read_text(encoding="utf-8"))
    sure = [one for one in findings if one.confidence >= 0.9 and one.verdict != "unlabelled"]
    return 0 if 10 * sum(one.verdict == "right" for one in sure) >= 9 * len(sure) else 1


def _findings(label: Label, view: View) -> Iterator[Judged]:
    try:
        since, until = label.window(view)
        report = analyze(label.logs(view), AnalyzeOptions(engine="local", since=since, until=until))
    except InputError as error:
        print(f"{label.name} {view}: {error}", file=sys.stderr)
        return
    print(f"{label.name} {view}", file=sys.stderr)
    yield from judged(label, view, report)


if __name__ == "__main__":
    sys.exit(main())
