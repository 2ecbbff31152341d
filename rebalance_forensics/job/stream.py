"""Runs the job as a stream: Spark's checkpoint records how far each log was read, and each micro-batch is a run.

A run uses the rows of its micro-batch only if it would have read exactly the same. Otherwise (the log was rolled in the
meantime, or the tables contain another state of it) it reads the log itself, so tables never depend on the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import quote

from rebalance_forensics.defects import DefectError, sentence
from rebalance_forensics.job.job_run import check
from rebalance_forensics.job.lake.editions import edition_of
from rebalance_forensics.job.lake.ledger import read_ledger
from rebalance_forensics.job.micro_batch import ReadAhead
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.steps.engines import OnSpark
from rebalance_forensics.job.tenure import TablesTaken
from rebalance_forensics.pipeline.datasource import log_stream, wait_for
from rebalance_forensics.pipeline.inputs.stores import Store, first_line
from rebalance_forensics.pipeline.refusals import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHECKPOINT, OFFSETS = "_checkpoint", "_offsets"


def follow(options: JobOptions, engine: OnSpark, run: Callable[[JobOptions, ReadAhead | None], None]) -> None:
    """Call `run` on every batch of new lines, until there are no more or the process is stopped."""
    store = check(options)
    if "connect" in type(engine.session).__module__:
        raise InputError("--stream wants a session of classic Spark; over Spark Connect, run without it on a schedule.")
    # A stream has no interval: it reads every line from the first one.
    whole = replace(options, since=options.since or 0)
    events, failed, busy = [0], list[BaseException](), Lock()

    def on_batch(batch: DataFrame, _number: int) -> None:
        try:
            with busy:
                run(whole, ReadAhead(batch=batch))
        except BaseException as error:
            failed.append(error)
            raise
        events[0] += 1

    place = options.checkpoint or f"{store.hadoop_name}/{CHECKPOINT}/{quote(options.scope, safe='')}"
    offsets = f"{store.uri.rstrip('/')}/{OFFSETS}/{quote(options.scope, safe='')}"
    stream = log_stream(
        engine.session, options.inputs, options.reading, besides=options.output, checkpoint=place,
        offsets=offsets, begin=_known(store, options.scope),
    )  # fmt: skip
    try:
        writer = stream.writeStream.foreachBatch(on_batch).option("checkpointLocation", place)
        if options.stream == "continuous":
            writer = writer.trigger(processingTime=f"{options.every_ms} milliseconds")
        else:
            writer = writer.trigger(availableNow=True)
        wait_for(writer.start(), busy)
    except Exception as error:
        if failed and isinstance(failed[0], InputError | TablesTaken):
            raise failed[0] from error
        if failed and isinstance(failed[0], Exception) and not isinstance(failed[0], OSError):
            raise DefectError(sentence("the stream broke off", failed[0])) from failed[0]
        raise InputError(f"the stream broke off: {first_line(failed[0] if failed else error)}.") from error
    if not events[0]:
        run(whole, None)


def _known(store: Store, scope: str) -> dict[str, int]:
    # Path -> the size up to which the tables contain it. If there is a checkpoint, it takes precedence.
    entries = read_ledger(edition_of(store), scope)
    sizes = {e.path.partition("!/")[0]: e.cells["etag"] for e in entries if e.cells["etag"]}
    return {path: int(etag.rpartition("-")[2]) for path, etag in sizes.items()}
