"""Analyzes logs from end to end, on either engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from rebalance_forensics import defects
from rebalance_forensics.pipeline import engine_choice, local_engine, report_assembly
from rebalance_forensics.pipeline.options import AnalyzeOptions, Wanted
from rebalance_forensics.pipeline.read_plan import ALONE_ON_SPARK, ReadPlan, plan_reading, refuse_missing
from rebalance_forensics.pipeline.refusals import InputError, refuse_unknown_group
from rebalance_forensics.pipeline.results import Results
from rebalance_forensics.pipeline.spark.jvm_launch import reporting_lost_jvm
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.process import timings
from rebalance_forensics.process.resources import cores
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.wording import count
from rebalance_forensics.sources.files.archives import held_open

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[int, int], None]
"""Called with the bytes done and the total bytes."""


# Minimum input size at which the JVM's optimizing compiler pays off.
JIT_PAYS_FROM_BYTES = 32 << 30


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A report and the data it was made from."""

    report: Report
    plan: ReadPlan
    events: pa.Table
    """Rows of ROWS, each event once, if `keep_events`; line numbers are counted from the start of the file."""
    failures: tuple[Failure, ...] = ()
    """Groups that could not be investigated."""


def analyze(paths: Sequence[str], options: AnalyzeOptions | None = None, *, progress: Progress = no_progress) -> Report:
    """Analyze logs and report what happened to their groups."""
    return analyze_with_events(paths, options or AnalyzeOptions(), keep_events=False, progress=progress).report


def analyze_with_events(
    paths: Sequence[str],
    options: AnalyzeOptions,
    *,
    keep_events: bool,
    progress: Progress = no_progress,
    session: SparkSession | None = None,
) -> Analysis:
    """Analyze logs and, if `keep_events`, keep their events next to the report."""
    wanted = Wanted(events=keep_events, lanes=options.lanes)
    engine = engine_choice.engine_for(paths).engine if options.engine == "auto" else options.engine
    if engine == "spark":
        plan, results = _on_spark(paths, options, session, wanted, progress=progress)
    else:
        with held_open():
            with timings.stage("find the logs"):
                plan = plan_reading(paths, options, workers=options.processes, in_turn=local_engine.IN_TURN)
            total = plan.total_bytes
            results = local_engine.run_locally(
                plan,
                wanted,
                progress=lambda done: progress(done, total),
                processes=options.processes,
            )
    refuse_foreign(plan, paths, results.stats)
    failures = results.failures
    with timings.stage("put the report together"):
        report = report_assembly.report_of(plan, results, options)
    if options.group is not None and not report.groups and options.group not in {failure.group for failure in failures}:
        refuse_unknown_group(options.group, report_assembly.groups_in(results))
    return Analysis(report=report, plan=plan, events=results.events, failures=failures)


def refuse_foreign(plan: ReadPlan, paths: Sequence[str], stats: Sequence[SplitStats]) -> None:
    """Raise InputError if the logs contain no Kafka line."""
    if any(s.matched or s.unmatched_kafka for s in stats):
        return
    refuse_with_defect(chain(plan.defects, *(p.defects for p in plan.profiles), *(s.defects for s in stats)))
    looked_at = ", ".join(paths)
    if not plan.files and not plan.errors:
        raise InputError(f"{looked_at}: no files here; name a directory, file or archive with Kafka logs.")
    lines = sum(s.lines for s in stats)
    failed = "; ".join(sentence for _, sentence, _ in plan.errors[:3])
    if not plan.files:
        raise InputError(f"no Kafka line found: {failed}.")
    what = f"{count(len(plan.files), 'file')} with {count(lines, 'line')}"
    if speakers := sorted({p.component for p in plan.profiles if p.component}):
        raise InputError(
            f"{looked_at}: no line about a consumer group found in {what} ({', '.join(speakers)}); name a longer part "
            "of the log, other members' logs, or server.log of the group's coordinator."
        )
    raise InputError(
        f"{looked_at}: no Kafka line found in {what}; "
        + (f"{failed}." if failed else "name the logs of brokers, consumers, Streams or Connect workers.")
    )


def refuse_with_defect(sentences: Iterable[str]) -> None:
    """Raise DefectError if a defect of this program kept logs from being read: "no Kafka line" would be wrong."""
    if (found := next(iter(sentences), None)) is not None:
        raise defects.DefectError(f"nothing could be analyzed: {found}.")


@reporting_lost_jvm()
def _on_spark(
    paths: Sequence[str],
    options: AnalyzeOptions,
    session: SparkSession | None,
    wanted: Wanted,
    *,
    progress: Progress,
) -> tuple[ReadPlan, Results]:
    # Plan while the JVM starts, then run.
    from rebalance_forensics.pipeline.spark import session as sessions  # noqa: PLC0415 - only if Spark is used
    from rebalance_forensics.pipeline.spark.engine import run_on_spark  # noqa: PLC0415
    from rebalance_forensics.pipeline.spark.warm_server import warm_session  # noqa: PLC0415

    refuse_missing(paths)
    ready = session or sessions.active_session()
    with timings.stage("find the logs, start Spark"), ThreadPoolExecutor(1) as boot:
        small = not any("://" in path for path in paths) and engine_choice.bytes_below(paths) < JIT_PAYS_FROM_BYTES
        if ready:
            booting = None
        elif options.keep_warm:
            booting = boot.submit(warm_session, options.java_home)
        else:
            booting = boot.submit(sessions.start_session, options.java_home, small=small)
        workers = ready.sparkContext.defaultParallelism if ready else cores()
        plan = plan_reading(paths, options, workers=workers, alone_up_to=ALONE_ON_SPARK)
        ready = ready or (booting.result() if booting else None)
    assert ready is not None
    with timings.stage("read and explain, on Spark"):
        return plan, run_on_spark(ready, plan, wanted, progress=progress)
