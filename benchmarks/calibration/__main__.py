"""`python -m benchmarks.calibration INCIDENTS`: analyze labelled incidents, whole and cut down."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from benchmarks.calibration.cuts import CUTS, cut_down
from benchmarks.calibration.judging import Run, run_of
from benchmarks.calibration.labels import VIEWS, Label, View, labels_in
from benchmarks.calibration.results import falls_short, page
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import analyze


def main() -> int:
    """Exit code 1 when the findings of any confidence are right less often than it claims."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("incidents", type=Path, help="directory with one folder an incident: truth.json and logs/")
    parser.add_argument("--views", default=",".join(VIEWS), help="which parts of the logs to show")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "CALIBRATION.md")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    asked = parser.parse_args()
    labels = list(labels_in(asked.incidents))
    if not labels:
        parser.error(f"{asked.incidents}: no folder with a truth.json")
    views = [view for view in VIEWS if view in asked.views.split(",")]
    began = time.monotonic()
    with ProcessPoolExecutor(asked.jobs) as pool:
        runs = list(chain.from_iterable(pool.map(partial(_runs, views=views), labels)))
    minutes = max(1, round((time.monotonic() - began) / 60))
    asked.out.write_text(page(runs, views, minutes, asked.jobs), encoding="utf-8")
    print(asked.out.read_text(encoding="utf-8"))
    return 1 if falls_short(runs) else 0


def _runs(label: Label, views: Sequence[View]) -> list[Run]:
    return [run for view in views if label.shows(view) for run in _run(label, view)]


def _run(label: Label, view: View) -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            if view in CUTS:
                hosts, into = label.folder / "logs", Path(scratch)
                if not cut_down(view, hosts, into, group=label.group, brokers=label.brokers, name=label.name):
                    return
                report = analyze([scratch], AnalyzeOptions(engine="local"))
            else:
                since, until = label.window(view)
                report = analyze(label.logs(view), AnalyzeOptions(engine="local", since=since, until=until))
        except InputError as error:
            print(f"{label.name} {view}: {error}", file=sys.stderr)
            return
    print(f"{label.name} {view}", file=sys.stderr)
    yield run_of(label, view, report)


if __name__ == "__main__":
    sys.exit(main())
