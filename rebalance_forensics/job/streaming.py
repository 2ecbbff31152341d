"""The job as a stream: Spark's checkpoint says how far each log was read, each micro-batch is a run of the job.

What the stream has read is what a run would have read itself; where the two disagree (a log was rolled in between, the
tables know another state of it) the run reads the log itself, so the tables never depend on the checkpoint.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import quote

from rebalance_forensics.job.ahead import ReadAhead
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.run import Outcome
from rebalance_forensics.job.running import run_job
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.engines import OnSpark
from rebalance_forensics.pipeline.tables.ledger import read_ledger
from rebalance_forensics.pipeline.tables.stores import Store, first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

CHECKPOINT = "_checkpoint"
_LOOK_S = 1
"""How soon a stream that is asked to end notices."""
Then = Callable[[Outcome], None]


def follow(options: JobOptions, engine: OnSpark, then: Then) -> None:
    """Run on every batch of new lines, and `then` tell of it; until nothing is new, or until the process is told."""
    whole = replace(options, since=options.since or 0)
    told, failed, busy = [0], list[BaseException](), Lock()

    def on_batch(batch: DataFrame, _number: int) -> None:
        try:
            with busy:
                then(run_job(whole, engine, ReadAhead(session=batch.sparkSession, batch=batch)))
        except BaseException as error:
            failed.append(error)
            raise
        told[0] += 1

    try:
        _await(_trigger(_stream(options, engine), options, on_batch).start(), busy)
    except Exception as error:
        if failed and isinstance(failed[0], InputError):
            raise failed[0] from error
        raise InputError(f"the stream broke off: {first_line(failed[0] if failed else error)}.") from error
    if not told[0]:
        then(run_job(whole, engine))


def _stream(options: JobOptions, engine: OnSpark) -> DataFrame:
    from rebalance_forensics.pipeline.datasource import RebalanceLogs  # noqa: PLC0415 - Spark only where asked for

    engine.session.dataSource.register(RebalanceLogs)
    reading = options.reading
    asked = {
        "cluster": reading.cluster,
        "clusterPerDirectory": "true" if reading.cluster_per_directory else None,
        "tz": ",".join([*filter(None, [reading.zones.default]), *(f"{h}={z}" for h, z in reading.zones.by_host)]),
        "patterns": ",".join(reading.patterns),
        "splitBytes": str(reading.split_bytes),
        "counts": "true",
        "begin": _known(options),
    }
    given = {name: value for name, value in asked.items() if value}
    return engine.session.readStream.format(RebalanceLogs.name()).options(**given).load(",".join(options.inputs))


def _known(options: JobOptions) -> str:
    """How far the tables know each file; a checkpoint counts more, where there is one."""
    entries = read_ledger(Store(options.output), options.scope)
    sizes = {e.path.partition("!/")[0]: e.cells["etag"] for e in entries if e.cells["etag"] and not e.cells["errors"]}
    return json.dumps({path: int(etag.rpartition("-")[2]) for path, etag in sizes.items()})


def _trigger(stream: DataFrame, options: JobOptions, on_batch: Callable[[DataFrame, int], None]) -> DataStreamWriter:
    place = options.checkpoint or f"{Store(options.output).hadoop_name}/{CHECKPOINT}/{quote(options.scope, safe='')}"
    writer = stream.writeStream.foreachBatch(on_batch).option("checkpointLocation", place)
    if options.stream == "continuous":
        return writer.trigger(processingTime=f"{options.every_ms} milliseconds")
    return writer.trigger(availableNow=True)


def _await(query: StreamingQuery, busy: Lock) -> None:
    """Wait for the end of the stream; a run that is at work when the process is told to end is finished."""
    with _told_to_end() as end:
        while not query.awaitTermination(_LOOK_S):
            if end.is_set():
                with busy:
                    query.stop()
                return


@contextmanager
def _told_to_end() -> Iterator[Event]:
    """Set by SIGTERM and Ctrl-C, which mean the same here."""
    end = Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        end.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
