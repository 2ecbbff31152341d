"""What tasks tell the driver: little, as pairs of texts, and never events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

Told = list[tuple[str, str]]
"""What it is, and its text."""
TOLD = pa.schema([("what", pa.string()), ("text", pa.string())])


def told_batch(told: Sequence[tuple[str, str]]) -> pa.RecordBatch:
    """What a task tells, as Arrow."""
    columns = [[what for what, _ in told], [text for _, text in told]]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], schema=TOLD)


def told_in(batches: Iterable[pa.RecordBatch]) -> Told:
    """The pairs back from Arrow."""
    return [pair for b in batches for pair in zip(b.column(0).to_pylist(), b.column(1).to_pylist(), strict=True)]
