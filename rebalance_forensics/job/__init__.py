"""The scheduled job: `rebalance-forensics job`, or `python -m rebalance_forensics.job` under spark-submit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from rebalance_forensics.defects import DefectError, sentence
from rebalance_forensics.job import dry_run, job_run, publications, stream, written_tables
from rebalance_forensics.job.alerts import Webhook, deliver, webhook_of
from rebalance_forensics.job.arguments import Invocation, parse
from rebalance_forensics.job.iceberg import IcebergTables, publish
from rebalance_forensics.job.micro_batch import ReadAhead
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.run import DEFECT, OK, PARTIAL, REFUSED, TAKEN, Outcome, exit_code, prometheus
from rebalance_forensics.job.steps.engines import JobEngine, OnSpark, engine_of
from rebalance_forensics.job.tenure import TablesTaken, following_up, holding
from rebalance_forensics.pipeline.inputs.stores import Store, writing
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.jvm_launch import reporting_lost_jvm
from rebalance_forensics.process import stop_signals
from rebalance_forensics.process.progress import quiet, shown
from rebalance_forensics.process.timings import Timings, stage, taken
from rebalance_forensics.report.output_files import OutputError, write_whole
from rebalance_forensics.report.plain_text import printable

LOGGER = "rebalance_forensics.job"


class Messages:
    """Writes messages to standard error, as text or JSON."""

    def __init__(self, form: str = "text") -> None:
        self.form = form

    def say(self, level: str, sentence: str, **context: object) -> None:
        """Write a message; INFO appears only in JSON."""
        if self.form == "json":
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            entry = {"ts": now, "level": level, "logger": LOGGER, "msg": sentence, "context": context}
            sys.stderr.write(json.dumps(entry, default=str) + "\n")
        elif level != "INFO":
            harmless = "\n".join(map(printable, sentence.split("\n")))
            sys.stderr.write(f"rebalance-forensics: {harmless}\n")
        sys.stderr.flush()

    def say_timings(self, spent: Timings) -> None:
        """Write how long each stage took; as text too, because the user invocation for it."""
        if self.form == "json":
            stages = {name: {"seconds": took, "cpu_seconds": cpu} for name, (took, cpu) in spent.stages.items()}
            self.say("INFO", "where the time went", stages=stages)
        else:
            self.say("WARN", f"where the time went\n{spent.table()}")


# Time to finish or undo changes in the store after a stop signal; the next run does the rest.
CLEANUP_S = 20.0


def main(arguments: Sequence[str]) -> int:
    """Run once, or as a stream; returns the exit code. Summary rows go to standard output as JSON."""
    messages = Messages()
    with stop_signals.heeded(CLEANUP_S):
        try:
            return _main(arguments, messages)
        except KeyboardInterrupt:
            pass
        except Exception as error:  # noqa: BLE001 - reported to the scheduler in one sentence
            # After a stop signal, the error is only a consequence of the interruption.
            if not stop_signals.is_stopping():
                return _report_error(error, messages)
        messages.say("ERROR", stop_signals.sentence())
        return stop_signals.exit_code()


def _main(arguments: Sequence[str], messages: Messages) -> int:
    if arguments[:1] == ["tables"]:
        sys.stdout.write(f"{written_tables.printed(arguments[1:])}\n")
        return OK
    invocation = parse(arguments)
    messages.form = invocation.log
    job_run.check(invocation.options)
    messages.say("INFO", "run starts", inputs=invocation.options.inputs, output=invocation.options.output)
    # Looking at files needs no Spark, but only Spark may know a table.
    name = "local" if invocation.options.dry_run and not invocation.options.columns else invocation.engine
    with (
        reporting_lost_jvm(),
        shown() if invocation.log == "text" else nullcontext(quiet) as show,
        engine_of(name, workers=invocation.options.tasks, java_home=invocation.java_home, show=show) as engine,
    ):
        if invocation.options.dry_run:
            planned = dry_run.planned(invocation.options, engine)
            for problem in planned.problems:
                messages.say("WARN", problem)
            sys.stdout.write(f"{planned.table()}\n")
            return PARTIAL if planned.problems else OK
        return _run_on(engine, invocation, messages)


def _report_error(error: Exception, messages: Messages) -> int:
    match error:
        case TablesTaken():
            messages.say("ERROR", str(error))
            return TAKEN
        case InputError() | OutputError():
            messages.say("ERROR", str(error))
            return REFUSED
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            messages.say("ERROR", f"{where}{error.strerror or error}; the tables are unchanged.")
            return REFUSED
        case MemoryError():
            messages.say("ERROR", "there is not enough memory; the tables are unchanged.")
        case DefectError():
            messages.say("ERROR", f"{error}.")
        case _:
            messages.say("ERROR", f"{sentence('the run broke off', error)}.")
    return DEFECT


def _run_on(engine: JobEngine, invocation: Invocation, messages: Messages) -> int:
    options, codes = invocation.options, [OK]
    spark = engine if isinstance(engine, OnSpark) else None
    iceberg = IcebergTables.of(spark.session, options) if spark and options.table_format == "iceberg" else None

    def run(options: JobOptions, ahead: ReadAhead | None = None) -> None:
        with taken() as spent, holding(options, messages.say) as tenure:
            outcome = job_run.run_job(options, engine, ahead, tenure)
            shared = iceberg or options.webhooks or options.reports_from
            with (
                writing(options.store, "the tables stand, what comes after them does not"),
                following_up(options, messages.say) if shared else nullcontext(),
            ):
                tenure.confirm()
                with stage("publish"):
                    if iceberg:
                        publish(iceberg)
                    _follow_up(invocation, outcome, messages)
        codes.append(exit_code(outcome, options.fail_on))
        messages.say("INFO", "run is done", **outcome.summary)
        if spent is not None and invocation.timings:
            messages.say_timings(spent)
        sys.stdout.write(json.dumps(outcome.summary) + "\n")
        sys.stdout.flush()

    if options.stream and spark:
        stream.follow(options, spark, run)
    else:
        run(options)
    return max(codes)


def _follow_up(invocation: Invocation, outcome: Outcome, messages: Messages) -> None:
    options = invocation.options
    for defect in (*outcome.errors, *outcome.notes):
        messages.say("WARN", defect)
    for failure in outcome.failures:
        messages.say("ERROR", f"{failure.what}; {failure.consequence}", cluster=failure.cluster)
    store = options.store
    if options.reports_from:
        _attempt(outcome, "the index of the reports could not be written", lambda: publications.write_index(store))
    if options.webhooks:
        hooks = [webhook_of(text) for text in options.webhooks]
        _attempt(outcome, "not all webhooks could be told", lambda: _deliver(store, hooks, messages))
    if options.metrics:
        place = Path(options.metrics)
        # The metrics are readable by all users, as the collector runs as another one; they quote no logs.
        defect = f"{place} could not be written"
        _attempt(outcome, defect, lambda: write_whole(place, prometheus(outcome), 0o644))
    for defect in outcome.defects:
        messages.say("ERROR", defect)


def _attempt(outcome: Outcome, what: str, step: Callable[[], None]) -> None:
    # Run a step that follows the tables; an internal error in it is reported, but does not affect them.
    try:
        step()
    except (InputError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - the tables are written already
        outcome.defects.append(sentence(what, error))


def _deliver(store: Store, hooks: Sequence[Webhook], messages: Messages) -> None:
    for problem in deliver(store, hooks):
        messages.say("WARN", problem)
