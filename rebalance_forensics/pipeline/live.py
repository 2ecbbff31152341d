"""Logs that are still written: a report that keeps up with them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.planning import ReadPlan, refuse_missing, refuse_patterns
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.reporting import failures_of, report_of
from rebalance_forensics.pipeline.run import Analysis
from rebalance_forensics.pipeline.schemas import ROWS, Kind
from rebalance_forensics.pipeline.stages import in_order, investigate_rows
from rebalance_forensics.pipeline.streams import log_stream, triggered, wait_for
from rebalance_forensics.pipeline.tables.following import PART, Part
from rebalance_forensics.pipeline.tables.listing import list_inputs
from rebalance_forensics.pipeline.tables.looking import Look, look_here, look_tasks
from rebalance_forensics.pipeline.tables.planning import reading_of
from rebalance_forensics.pipeline.tables.sights import profiles_beside
from rebalance_forensics.process import scratch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Show = Callable[[Analysis], None]


def refuse_standing(paths: Sequence[str], options: AnalyzeOptions) -> None:
    """What cannot be followed is said before Spark is started."""
    if "-" in paths:
        raise InputError("--follow follows files; name them, or leave out --follow to read standard input.")
    if options.engine != "spark":
        raise InputError("--follow is Spark's work; leave out --engine local.")
    refuse_missing(paths)
    refuse_patterns(options.patterns)


def follow(
    session: SparkSession,
    paths: Sequence[str],
    options: AnalyzeOptions,
    show: Show,
    *,
    every_ms: int,
    keep_events: bool = False,
) -> None:
    """Show what is known now, and again whenever there is more, until the process is told to end."""
    live, busy = Live(paths, options), Lock()

    def on_batch(batch: DataFrame, _number: int) -> None:
        with busy:
            live.take(batch.toArrow())
            show(live.analysis(keep_events=keep_events))

    with tempfile.TemporaryDirectory(dir=scratch.directory()) as checkpoint:
        stream = log_stream(session, paths, options)
        wait_for(triggered(stream, on_batch, checkpoint, every_ms).start(), busy)


class Live:
    """All rows so far; at any moment they are those of an analysis of the logs as they were then."""

    def __init__(self, paths: Sequence[str], options: AnalyzeOptions) -> None:
        self._paths, self._options = paths, options
        self._rows = ROWS.empty_table()

    def take(self, batch: pa.Table) -> None:
        """Parts of logs, each in place of what was known of it."""
        told = pc.equal(pc.fill_null(batch["event"], ""), PART)
        parts = [Part(**json.loads(payload)) for payload in batch.filter(told)["payload"].to_pylist()]
        fresh = batch.filter(pc.invert(told))
        zeros = pa.array([0] * len(fresh), pa.int32())
        columns = [zeros if name in ("shard", "split") else fresh[name] for name in ROWS.names]
        self._rows = pa.concat_tables([_without(self._rows, parts), pa.Table.from_arrays(columns, schema=ROWS)])

    def analysis(self, *, keep_events: bool = False) -> Analysis:
        """The report of all of it."""
        plan = self._plan()
        results = pa.Table.from_batches(
            investigate_rows(in_order(self._rows.to_batches()), keep_events=keep_events), ROWS
        )
        report = report_of(plan, results, self._options)
        return Analysis(report=report, plan=plan, rows=results, failures=tuple(failures_of(results)))

    def _plan(self) -> ReadPlan:
        """The files as they are now."""
        listing = list_inputs(self._paths)
        looked = look_here(Look(tasks=look_tasks(listing.files), limits=self._options.limits))
        profiles = profiles_beside(looked.sights, self._options.zones)
        return ReadPlan(
            files=tuple(sight.file for sight in looked.sights),
            profiles=tuple(profiles[sight.file.path] for sight in looked.sights),
            errors=(*listing.errors, *looked.errors),
            portions=(),
            reading=reading_of(self._options),
        )


def _without(rows: pa.Table, parts: Sequence[Part]) -> pa.Table:
    """What was known before some parts were read again."""
    begins = {part.path: part.start for part in parts}
    kept = [
        begin is None or (json.loads(payload)["start"] if kind == Kind.COUNTS else offset) < begin
        for kind, path, offset, payload in zip(
            *(rows[name].to_pylist() for name in ("kind", "path", "byte_offset", "payload")), strict=True
        )
        for begin in [begins.get(path.partition("!/")[0])]
    ]
    return rows.filter(pa.array(kept, pa.bool_()))
