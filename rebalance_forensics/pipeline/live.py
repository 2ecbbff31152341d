"""`--follow`: a report that is updated as logs grow, without Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import BinaryIO

import pyarrow as pa

from rebalance_forensics.pipeline import datasource, report_assembly, stages
from rebalance_forensics.pipeline.inputs.file_listing import list_inputs
from rebalance_forensics.pipeline.inputs.growing_logs import GrowingLogs, Offset, Part
from rebalance_forensics.pipeline.inputs.sights import profiles_beside
from rebalance_forensics.pipeline.options import AnalyzeOptions, Wanted
from rebalance_forensics.pipeline.read_plan import ReadPlan, reading_of, refuse_missing, refuse_patterns
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.results import results_of
from rebalance_forensics.pipeline.run import Analysis
from rebalance_forensics.pipeline.schemas import NO_ROWS, ROWS, Kind
from rebalance_forensics.process import scratch

Show = Callable[[Analysis], None]
STDIN = "-"
_READ_BYTES = 1 << 16
_NOTHING: Offset = {"files": "{}"}


def refuse_unfollowable(paths: Sequence[str], options: AnalyzeOptions) -> None:
    """Raise InputError, before anything is read, if the inputs cannot be followed."""
    if options.engine == "spark":
        raise InputError("--follow works without Spark; leave out --engine spark.")
    if any("://" in path for path in paths):
        raise InputError("--follow follows files and standard input; for an object store run job --stream.")
    refuse_missing(paths)
    refuse_patterns(options.patterns)


def follow(
    paths: Sequence[str],
    options: AnalyzeOptions,
    show: Show,
    *,
    every_s: float,
    stdin: BinaryIO,
    keep_events: bool = False,
) -> None:
    """Show the analysis now and whenever the logs have grown, until asked to stop or until standard input ends."""
    with datasource.stop_event() as end, _spooled(paths, stdin, end) as files:
        live = Live(files, options)
        while True:
            is_last, began = end.is_set(), monotonic()
            if live.catch_up():
                show(live.analysis(keep_events=keep_events))
            if is_last:
                return
            # A report on weeks of logs takes long to compute: wait at least as long as the last round took.
            end.wait(max(every_s, monotonic() - began))


@contextmanager
def _spooled(paths: Sequence[str], stdin: BinaryIO, end: Event) -> Iterator[list[str]]:
    # The paths, with `-` replaced by a file to which standard input is copied. The end of standard input sets `end`.
    if STDIN not in paths:
        yield list(paths)
        return
    file = scratch.directory() / STDIN

    def copy() -> None:
        with file.open("wb", buffering=0) as spool:
            for more in iter(partial(os.read, stdin.fileno(), _READ_BYTES), b""):
                spool.write(more)
        end.set()

    file.touch()
    Thread(target=copy, daemon=True).start()
    yield [str(file) if path == STDIN else path for path in paths]


class Live:
    """The rows read so far: always the same as those of an analysis of the logs at that time."""

    def __init__(self, paths: Sequence[str], options: AnalyzeOptions) -> None:
        self._paths, self._options = paths, options
        self._logs = GrowingLogs(paths, options, again=True)
        self._known = _NOTHING
        self._rows = NO_ROWS

    def catch_up(self) -> bool:
        """Read what was added; return whether anything was."""
        now = self._logs.offset()
        if now == self._known:
            return False
        added = list(self._logs.added(self._known, now))
        fresh = [batch for portion in added for batch in stages.read_portion(portion.splits, self._logs.reading)]
        kept = _without(self._rows, [portion.part for portion in added])
        self._rows = pa.concat_tables([kept, pa.Table.from_batches(fresh, ROWS)])
        self._known = now
        return True

    def analysis(self, *, keep_events: bool = False) -> Analysis:
        """The analysis of all rows read so far."""
        plan = self._plan()
        rows = stages.investigate_rows(
            stages.in_order(self._rows.to_batches()), Wanted(events=keep_events, lanes=self._options.lanes)
        )
        results = results_of(rows, first_shard=plan.reading.shards[0])
        report = report_assembly.report_of(plan, results, self._options)
        return Analysis(report=report, plan=plan, events=results.events, failures=results.failures)

    def _plan(self) -> ReadPlan:
        listing = list_inputs(self._paths)
        probed = [self._logs.probe(file) for file in listing.files]
        sights = [sight for file_look in probed for sight in file_look.sights]
        profiles = profiles_beside(sights, self._options.zones)
        return ReadPlan(
            files=tuple(sight.file for sight in sights),
            profiles=tuple(profiles[sight.file.path] for sight in sights),
            errors=(*listing.errors, *(error for file_look in probed for error in file_look.errors)),
            portions=(),
            reading=reading_of(self._options),
        )


def _without(rows: pa.Table, parts: Sequence[Part]) -> pa.Table:
    # The rows that are not replaced by reading these parts again.
    begins = {part.path: part.start for part in parts}
    kept = [
        begin is None or (json.loads(payload)["start"] if kind == Kind.COUNTS else offset) < begin
        for kind, path, offset, payload in zip(
            *(rows[name].to_pylist() for name in ("kind", "path", "byte_offset", "payload")), strict=True
        )
        for begin in [begins.get(path.partition("!/")[0])]
    ]
    return rows.filter(pa.array(kept, pa.bool_()))
