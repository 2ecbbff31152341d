"""Logs as a stream of Spark's, and how to wait for its end."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock
from types import FrameType
from typing import TYPE_CHECKING

from rebalance_forensics.pipeline.options import AnalyzeOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

OnBatch = Callable[["DataFrame", int], None]
_LOOK_S = 1
"""How soon a stream that is asked to end notices."""


def log_stream(session: SparkSession, inputs: Sequence[str], reading: AnalyzeOptions, begin: str = "{}") -> DataFrame:
    """The rows of logs as they grow, with counts; `begin` says how far each file is known already."""
    from rebalance_forensics.pipeline.datasource import RebalanceLogs  # noqa: PLC0415 - Spark only where asked for

    session.dataSource.register(RebalanceLogs)
    zones = reading.zones
    asked = {
        "inputs": json.dumps(list(inputs)),
        "cluster": reading.cluster,
        "clusterPerDirectory": "true" if reading.cluster_per_directory else None,
        "tz": ",".join([*filter(None, [zones.default]), *(f"{host}={zone}" for host, zone in zones.by_host)]),
        "patterns": ",".join(reading.patterns),
        "splitBytes": str(reading.split_bytes),
        "unpackRatio": str(reading.limits.ratio),
        "counts": "true",
        "begin": begin,
    }
    given = {name: value for name, value in asked.items() if value}
    return session.readStream.format(RebalanceLogs.name()).options(**given).load()


def triggered(stream: DataFrame, on_batch: OnBatch, checkpoint: str, every_ms: int | None) -> DataStreamWriter:
    """What is done with each batch: every so often, or once for all that is new."""
    writer = stream.writeStream.foreachBatch(on_batch).option("checkpointLocation", checkpoint)
    if every_ms is None:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=f"{every_ms} milliseconds")


def wait_for(query: StreamingQuery, busy: Lock) -> None:
    """Wait for the end of a stream; a batch that is at work when the process is told to end is finished."""
    with stop_event() as end:
        while not query.awaitTermination(_LOOK_S):
            if end.is_set():
                with busy:
                    query.stop()
                return


@contextmanager
def stop_event() -> Iterator[Event]:
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
