"""`python -m benchmarks.calibration INCIDENTS`: analyze labelled incidents with complete and with cut logs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from benchmarks.calibration.judging import Asked, Run, run_of
from benchmarks.calibration.labels import VIEWS, Label, View, labels_in
from benchmarks.calibration.results import falls_short, page
from benchmarks.calibration.shown import Shown, shown, with_log
from benchmarks.excerpts import drawn
from rebalance_forensics.pipeline.refusals import InputError

SAMPLES = Path(__file__).parents[2] / "sample_logs"
SEED = 2
MOST_ROUNDS = 3
"""A person on call does not fetch logs more often for one question."""


def main() -> int:
    """Write CALIBRATION.md; returns exit code 1 if findings are right less often than their confidence claims."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("incidents", type=Path, help="directory with one folder per incident: truth.json and logs/")
    parser.add_argument("--views", default=",".join(VIEWS), help="which parts of the logs to show")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "CALIBRATION.md")
    parser.add_argument("--excerpts", type=int, default=12, help="how many to draw of each incident and sample")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    asked = parser.parse_args()
    labels = list(labels_in(asked.incidents))
    if not labels:
        parser.error(f"{asked.incidents}: no folder with a truth.json")
    views = [view for view in VIEWS if view in asked.views.split(",")]
    began = time.monotonic()
    with ProcessPoolExecutor(asked.jobs) as pool:
        runs = list(chain.from_iterable(pool.map(partial(_runs, views=views), labels)))
        excerpts = {
            what: list(pool.map(partial(drawn, count=asked.excerpts, seed=SEED), _folders_in(directory)))
            for what, directory in (("incidents", asked.incidents), ("samples", SAMPLES))
        }
    minutes = max(1, round((time.monotonic() - began) / 60))
    asked.out.write_text(page(runs, views, excerpts, minutes, asked.jobs), encoding="utf-8")
    print(asked.out.read_text(encoding="utf-8"))
    return 1 if falls_short(runs) else 0


def _folders_in(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.is_dir())


def _runs(label: Label, views: Sequence[View]) -> list[Run]:
    return [run for view in views if label.shows(view) for run in _run(label, view)]


def _run(label: Label, view: View) -> Iterator[Run]:
    with shown(label, view) as logs:
        if logs is None:
            return
        try:
            run = run_of(label, view, logs.report())
        except InputError as error:
            print(f"{label.name} {view}: {error}", file=sys.stderr)
            return
        print(f"{label.name} {view}", file=sys.stderr)
        yield _with_logs_fetched(run, logs) if run.open else run


def _with_logs_fetched(run: Run, logs: Shown) -> Run:
    """The run with the results of fetching the logs that its report asks for: each alone, then all of them.

    If the question stays open, the logs that the next report asks for are fetched as well.
    """
    decided = tuple(one for one in run.asks if _settles(run, logs, [one])) if len(run.asks) > 1 else ()
    rounds, asking = 0, run
    while asking.open and rounds < MOST_ROUNDS:
        more = _with_all(asking, logs, asking.asks)
        if more == logs:
            return replace(run, decided=decided)
        rounds, logs = rounds + 1, more
        asking = run_of(run.label, run.view, logs.report())
    if len(run.asks) == 1 and rounds == 1 and not asking.open:
        decided = run.asks
    return replace(run, decided=decided, rounds=None if asking.open else rounds)


def _settles(run: Run, logs: Shown, asked: Sequence[Asked]) -> bool:
    more = _with_all(run, logs, asked)
    return more != logs and not run_of(run.label, run.view, more.report()).open


def _with_all(run: Run, logs: Shown, asked: Sequence[Asked]) -> Shown:
    for one in asked:
        logs = with_log(logs, run.label, run.view, one.words, one.who)
    return logs


if __name__ == "__main__":
    sys.exit(main())
