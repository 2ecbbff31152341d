"""The scheduled job: `rebalance-forensics job`, or `python -m rebalance_forensics.job` under spark-submit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.running import REFUSED, check, exit_code, run_job
from rebalance_forensics.job.sessions import engine_of
from rebalance_forensics.pipeline.refusals import InputError


def main(arguments: Sequence[str]) -> int:
    """Run once; the exit code is the one of contract and schedulers. The summary goes to standard output."""
    try:
        asked = parse(arguments)
        check(asked.options)
        with engine_of(asked.engine, tasks=asked.options.tasks, java_home=asked.java_home) as engine:
            outcome = run_job(asked.options, engine)
    except InputError as refusal:
        _say(str(refusal))
        return REFUSED
    for sentence in outcome.errors:
        _say(sentence)
    for failure in outcome.failures:
        _say(f"group {failure.group} could not be investigated:\n{failure.what}")
    sys.stdout.write(json.dumps(outcome.summary) + "\n")
    return exit_code(outcome, asked.options.fail_on)


def _say(sentence: str) -> None:
    sys.stderr.write(f"rebalance-forensics: {sentence}\n")
