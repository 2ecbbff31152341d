"""The rows that a stream has read before its run begins: parts of logs with their events and counts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from rebalance_forensics.job.steps.scan_step import ScanPlan, keep_events, unnamed
from rebalance_forensics.pipeline.inputs.file_listing import Listing
from rebalance_forensics.pipeline.inputs.growing_logs import PART, Part
from rebalance_forensics.pipeline.inputs.sights import read_as
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.schemas import MESSAGES, Kind, TaskMessages, messages_in, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAhead:
    """One batch of a stream; its rows are few, so they are read once and persisted."""

    batch: DataFrame

    @contextmanager
    def persisted(self) -> Iterator[None]:
        """Keep the rows while a run works with them."""
        self.batch.persist()
        try:
            yield
        finally:
            self.batch.unpersist()

    def parts(self) -> dict[str, Part]:
        """Path -> the part that was read."""
        rows = (
            self.batch.where(f"kind = {int(Kind.COUNTS)} AND event = '{PART}'").select("payload").distinct().collect()
        )
        return {part.path: part for part in (Part(**json.loads(row.payload)) for row in rows)}

    def scanned(self, paths: Collection[str], store: Store, work: str) -> TaskMessages:
        """Write the events of some files to unpublished files; returns their counts."""
        wanted = frozenset(paths)

        def keep(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return keep_events((_of_paths(batch, wanted) for batch in batches), store, work, unnamed)

        return messages_in(self.batch.mapInArrow(keep, spark_schema(MESSAGES)).toArrow().to_batches())


def _of_paths(batch: pa.RecordBatch, wanted: Collection[str]) -> pa.RecordBatch:
    wanted_rows = [
        path in wanted and event != PART
        for path, event in zip(batch["path"].to_pylist(), batch["event"].to_pylist(), strict=True)
    ]
    return batch.filter(pa.array(wanted_rows, pa.bool_()))


def end_where_stream_stopped(listing: Listing, parts: Mapping[str, Part]) -> None:
    """Limit logs that have grown to where the stream stopped: the rest is for the next batch."""
    listing.files = [
        replace(file, size=part.end) if (part := parts.get(file.path)) and part.end < file.size else file
        for file in listing.files
    ]


def fully_read(parts: Mapping[str, Part], plan: ScanPlan) -> set[str]:
    """The files whose part is exactly what this run would read, in the same way."""
    begins = plan.forgotten_from
    return {
        sight.file.path
        for sight, profile in zip(plan.sights, plan.reads.profiles, strict=True)
        if (part := parts.get(sight.file.path))
        and (part.start, part.end) == (begins[sight.file.path], sight.file.size)
        and part.read_as == read_as(profile, sight.look)
    }
