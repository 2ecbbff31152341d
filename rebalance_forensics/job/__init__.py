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


class Voice:
    """Speaks as text or as JSON."""

    def __init__(self, form: str = "text") -> None:
        self.form = form

    def say(self, level: str, sentence: str, **context: object) -> None:
        """One message; as text only warnings and errors are worth a line."""
        if self.form == "json":
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            entry = {"ts": now, "level": level, "logger": LOGGER, "msg": sentence, "context": context}
            sys.stderr.write(json.dumps(entry, default=str) + "\n")
        elif level != "INFO":
            harmless = "\n".join(map(printable, sentence.split("\n")))
            sys.stderr.write(f"rebalance-forensics: {harmless}\n")
        sys.stderr.flush()

    def give_timings(self, spent: Timings) -> None:
        """Write where the time of a run went, also as text, for somebody asked for it."""
        if self.form == "json":
            stages = {name: {"seconds": took, "cpu_seconds": cpu} for name, (took, cpu) in spent.stages.items()}
            self.say("INFO", "where the time went", stages=stages)
        else:
            self.say("WARN", f"where the time went\n{spent.table()}")


# What was begun on a store is undone or finished; what is not by then, the next run does.
TIDYING_S = 20.0


def main(arguments: Sequence[str]) -> int:
    """Run, or follow. Summary rows go to standard output as JSON, everything else to standard error."""
    voice = Voice()
    with stop_signals.heeded(TIDYING_S):
        try:
            return _main(arguments, voice)
        except KeyboardInterrupt:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it was, the scheduler hears of it in one sentence
            # What was cut off fails, of course.
            if not stop_signals.is_stopping():
                return _ending_of(error, voice)
        voice.say("ERROR", stop_signals.sentence())
        return stop_signals.exit_code()


def _main(arguments: Sequence[str], voice: Voice) -> int:
    if arguments[:1] == ["tables"]:
        sys.stdout.write(f"{written_tables.printed(arguments[1:])}\n")
        return OK
    asked = parse(arguments)
    voice.form = asked.log
    job_run.check(asked.options)
    voice.say("INFO", "run starts", inputs=asked.options.inputs, output=asked.options.output)
    # To look at files takes no Spark; a table may be one that only Spark knows.
    name = "local" if asked.options.dry_run and not asked.options.columns else asked.engine
    with (
        reporting_lost_jvm(),
        shown() if asked.log == "text" else nullcontext(quiet) as show,
        engine_of(name, workers=asked.options.tasks, java_home=asked.java_home, show=show) as engine,
    ):
        if asked.options.dry_run:
            planned = dry_run.planned(asked.options, engine)
            for problem in planned.problems:
                voice.say("WARN", problem)
            sys.stdout.write(f"{planned.table()}\n")
            return PARTIAL if planned.problems else OK
        return _run_on(engine, asked, voice)


def _ending_of(error: Exception, voice: Voice) -> int:
    match error:
        case TablesTaken():
            voice.say("ERROR", str(error))
            return TAKEN
        case InputError() | OutputError():
            voice.say("ERROR", str(error))
            return REFUSED
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            voice.say("ERROR", f"{where}{error.strerror or error}; the tables are as they were.")
            return REFUSED
        case MemoryError():
            voice.say("ERROR", "there is not enough memory; the tables are as they were.")
        case DefectError():
            voice.say("ERROR", f"{error}.")
        case _:
            voice.say("ERROR", f"{sentence('the run broke off', error)}.")
    return DEFECT


def _run_on(engine: JobEngine, asked: Invocation, voice: Voice) -> int:
    options, codes = asked.options, [OK]
    spark = engine if isinstance(engine, OnSpark) else None
    iceberg = IcebergTables.of(spark.session, options) if spark and options.table_format == "iceberg" else None

    def run(options: JobOptions, ahead: ReadAhead | None = None) -> None:
        with taken() as spent, holding(options, voice.say) as tenure:
            outcome = job_run.run_job(options, engine, ahead, tenure)
            shared = iceberg or options.webhooks or options.reports_from
            with (
                writing(options.store, "the tables stand, what comes after them does not"),
                following_up(options, voice.say) if shared else nullcontext(),
            ):
                tenure.confirm()
                with stage("publish"):
                    if iceberg:
                        publish(iceberg)
                    _follow_up(asked, outcome, voice)
        codes.append(exit_code(outcome, options.fail_on))
        voice.say("INFO", "run is done", **outcome.summary)
        if spent is not None and asked.timings:
            voice.give_timings(spent)
        sys.stdout.write(json.dumps(outcome.summary) + "\n")
        sys.stdout.flush()

    if options.stream and spark:
        stream.follow(options, spark, run)
    else:
        run(options)
    return max(codes)


def _follow_up(asked: Invocation, outcome: Outcome, voice: Voice) -> None:
    options = asked.options
    for defect in (*outcome.errors, *outcome.notes):
        voice.say("WARN", defect)
    for failure in outcome.failures:
        voice.say("ERROR", f"{failure.what}; {failure.consequence}", cluster=failure.cluster)
    store = options.store
    if options.reports_from:
        _attempt(outcome, "the index of the reports could not be written", lambda: publications.write_index(store))
    if options.webhooks:
        hooks = [webhook_of(text) for text in options.webhooks]
        _attempt(outcome, "not all webhooks could be told", lambda: _deliver(store, hooks, voice))
    if options.metrics:
        place = Path(options.metrics)
        # Counts and names only: the collector runs as another user.
        defect = f"{place} could not be written"
        _attempt(outcome, defect, lambda: write_whole(place, prometheus(outcome), 0o644))
    for defect in outcome.defects:
        voice.say("ERROR", defect)


def _attempt(outcome: Outcome, what: str, step: Callable[[], None]) -> None:
    # Do what comes after the tables; a defect of ours in it is reported beside them.
    try:
        step()
    except (InputError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it was, the tables are written
        outcome.defects.append(sentence(what, error))


def _deliver(store: Store, hooks: Sequence[Webhook], voice: Voice) -> None:
    for problem in deliver(store, hooks):
        voice.say("WARN", problem)
