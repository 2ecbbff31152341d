"""The scheduled job: `rebalance-forensics job`, or `python -m rebalance_forensics.job` under spark-submit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rebalance_forensics.job.alerting import deliver, webhook_of
from rebalance_forensics.job.arguments import Invocation, parse
from rebalance_forensics.job.delta import publish
from rebalance_forensics.job.metrics import prometheus
from rebalance_forensics.job.publishing import write_index
from rebalance_forensics.job.run import REFUSED, Outcome, exit_code
from rebalance_forensics.job.running import check, run_job
from rebalance_forensics.job.saying import Voice
from rebalance_forensics.job.sessions import engine_of
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.engines import OnSpark
from rebalance_forensics.pipeline.tables.stores import Store
from rebalance_forensics.report.writing import OutputError, write_whole


def main(arguments: Sequence[str]) -> int:
    """Run once. The summary row goes to standard output as JSON, everything else to standard error."""
    voice = Voice()
    try:
        asked = parse(arguments)
        voice = Voice(asked.log)
        check(asked.options)
        voice.say("INFO", "run starts", inputs=asked.options.inputs, output=asked.options.output)
        with engine_of(asked.engine, tasks=asked.options.tasks, java_home=asked.java_home) as engine:
            outcome = run_job(asked.options, engine)
            if isinstance(engine, OnSpark) and asked.options.table_format == "delta":
                publish(engine.session, Store(asked.options.output))
        _follow_up(asked, outcome, voice)
    except (InputError, OutputError) as refusal:
        voice.say("ERROR", str(refusal))
        return REFUSED
    code = exit_code(outcome, asked.options.fail_on)
    voice.say("INFO", "run is done", **outcome.summary)
    sys.stdout.write(json.dumps(outcome.summary) + "\n")
    return code


def _follow_up(asked: Invocation, outcome: Outcome, voice: Voice) -> None:
    """What comes after the tables: what to say, index, alerts, metrics."""
    options = asked.options
    for sentence in outcome.errors:
        voice.say("WARN", sentence)
    for failure in outcome.failures:
        voice.say("ERROR", f"group {failure.group} could not be investigated:\n{failure.what}", cluster=failure.cluster)
    store = Store(options.output)
    if options.reports_from:
        write_index(store)
    for problem in deliver(store, [webhook_of(text) for text in options.webhooks]) if options.webhooks else ():
        voice.say("WARN", problem)
    if options.metrics:
        write_whole(Path(options.metrics), prometheus(outcome))
