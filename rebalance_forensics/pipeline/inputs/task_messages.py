"""What tasks tell the driver: little, as pairs of texts, and never events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

TaskMessages = list[tuple[str, str]]
"""What it is, and its text."""
MESSAGES = pa.schema([("what", pa.string()), ("text", pa.string())])


def message_batch(messages: Sequence[tuple[str, str]]) -> pa.RecordBatch:
    """What a task reports, as Arrow."""
    columns = [[what for what, _ in messages], [text for _, text in messages]]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], schema=MESSAGES)


def messages_in(batches: Iterable[pa.RecordBatch]) -> TaskMessages:
    """The pairs back from Arrow."""
    return [pair for b in batches for pair in zip(b.column(0).to_pylist(), b.column(1).to_pylist(), strict=True)]
