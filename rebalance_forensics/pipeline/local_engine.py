"""The stages in this process, for a machine without Java."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from rebalance_forensics.pipeline.planning import ReadPlan, weight
from rebalance_forensics.pipeline.schemas import ROWS
from rebalance_forensics.pipeline.stages import in_order, investigate_rows, read_portion


def run_locally(plan: ReadPlan, *, keep_events: bool, progress: Callable[[int], None]) -> pa.Table:
    """All result rows; `progress` is told the bytes done so far."""

    def read() -> Iterator[pa.RecordBatch]:
        done = 0
        for portion in plan.portions:
            for split in portion:
                yield from read_portion([split], plan.reading)
                done += weight(split)
                progress(done)

    results = investigate_rows(in_order(read()), keep_events=keep_events)
    return pa.Table.from_batches(results, ROWS)
