"""The cost of Spark itself: a session that runs one mapInArrow, or counts lines that contain words."""

from __future__ import annotations

import functools
import operator
import os
import sys
import time
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

WORDS = (
    "Preparing to rebalance group", "Stabilized group", "Assignment received from leader", "has failed, removing",
    "has left group", "Dynamic member with unknown", "Static member", "is now empty", "in state Empty",
    "GroupMetadataManager", "Removing member", "Adding new member", "rejoin", "GroupCoordinator",
)  # fmt: skip


def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The unchanged batches."""
    yield from batches


def main() -> None:
    """`start` runs one mapInArrow; `count FILE…` prints the seconds of a scan for WORDS."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[*]").getOrCreate()
    if sys.argv[1] == "start":
        session.range(0, 1, 1, 1).mapInArrow(same, "id bigint").toArrow()
        return
    found = functools.reduce(operator.or_, (F.col("value").contains(word) for word in WORDS))
    session.read.text(sys.argv[2]).limit(10).count()
    started = time.perf_counter()
    session.read.text(sys.argv[2:]).filter(found).count()
    print(time.perf_counter() - started)


if __name__ == "__main__":
    main()
