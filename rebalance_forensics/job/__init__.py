"""The scheduled job: `rebalance-forensics job`, or `python -m rebalance_forensics.job` under spark-submit."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rebalance_forensics.job.ahead import ReadAhead
from rebalance_forensics.job.alerting import deliver, webhook_of
from rebalance_forensics.job.arguments import Invocation, parse
from rebalance_forensics.job.lake_tables import Lake, publish
from rebalance_forensics.job.metrics import prometheus
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.publishing import write_index
from rebalance_forensics.job.run import OK, REFUSED, TAKEN, Outcome, exit_code
from rebalance_forensics.job.running import check, run_job
from rebalance_forensics.job.saying import Voice
from rebalance_forensics.job.sessions import engine_of
from rebalance_forensics.job.streaming import follow
from rebalance_forensics.job.tenure import TablesTaken, following_up, holding
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.engines import JobEngine, OnSpark
from rebalance_forensics.process import stop_signals
from rebalance_forensics.report.writing import FULL, OutputError, remedy, write_whole

TIDYING_S = 20.0
"""What was begun on a store is undone or finished; what is not by then, the next run does."""


def main(arguments: Sequence[str]) -> int:
    """Run, or follow. Summary rows go to standard output as JSON, everything else to standard error."""
    voice = Voice()
    with stop_signals.heeded(TIDYING_S):
        try:
            return _main(arguments, voice)
        except KeyboardInterrupt:
            voice.say("ERROR", stop_signals.sentence())
        except Exception:
            if not stop_signals.is_stopping():
                raise
            # What was cut off fails, of course.
            voice.say("ERROR", stop_signals.sentence())
        return stop_signals.exit_code()


def _main(arguments: Sequence[str], voice: Voice) -> int:
    try:
        asked = parse(arguments)
        voice.form = asked.log
        check(asked.options)
        voice.say("INFO", "run starts", inputs=asked.options.inputs, output=asked.options.output)
        with engine_of(asked.engine, tasks=asked.options.tasks, java_home=asked.java_home) as engine:
            try:
                return _run_on(engine, asked, voice)
            except OSError as error:
                if error.errno not in (*FULL, errno.EROFS):
                    raise
                why = os.strerror(error.errno).lower()
                raise OutputError(
                    f"--output {asked.options.output}: {why}; {remedy(error)}, then run it again."
                ) from error
    except (InputError, OutputError) as refusal:
        voice.say("ERROR", str(refusal))
        return REFUSED
    except TablesTaken as taken:
        voice.say("ERROR", str(taken))
        return TAKEN


def _run_on(engine: JobEngine, asked: Invocation, voice: Voice) -> int:
    """One run, or those of a stream; the worst of their exit codes."""
    options, codes = asked.options, [OK]
    spark = engine if isinstance(engine, OnSpark) else None
    lake = Lake.of(spark.session, options) if spark and options.table_format != "parquet" else None

    def run(options: JobOptions, ahead: ReadAhead | None = None) -> None:
        with holding(options, voice.say) as tenure:
            outcome = run_job(options, engine, ahead, tenure)
            shared = lake or options.webhooks or options.reports_from
            with following_up(options, voice.say) if shared else nullcontext():
                tenure.confirm()
                if lake:
                    publish(lake)
                _follow_up(asked, outcome, voice)
        codes.append(exit_code(outcome, options.fail_on))
        voice.say("INFO", "run is done", **outcome.summary)
        sys.stdout.write(json.dumps(outcome.summary) + "\n")
        sys.stdout.flush()

    if options.stream and spark:
        follow(options, spark, run)
    else:
        run(options)
    return max(codes)


def _follow_up(asked: Invocation, outcome: Outcome, voice: Voice) -> None:
    """What comes after the tables: what to say, index, alerts, metrics."""
    options = asked.options
    for sentence in outcome.errors:
        voice.say("WARN", sentence)
    for failure in outcome.failures:
        voice.say("ERROR", f"group {failure.group} could not be investigated:\n{failure.what}", cluster=failure.cluster)
    store = options.store
    if options.reports_from:
        write_index(store)
    for problem in deliver(store, [webhook_of(text) for text in options.webhooks]) if options.webhooks else ():
        voice.say("WARN", problem)
    if options.metrics:
        # Counts and names only, and whoever collects them is another user.
        write_whole(Path(options.metrics), prometheus(outcome), 0o644)
