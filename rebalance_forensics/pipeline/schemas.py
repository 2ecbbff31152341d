"""The one shape in which events, results, counts and messages travel between the stages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import IntEnum
from functools import cache
from typing import NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw
from msgspec.json import Decoder, Encoder

T = TypeVar("T")

_ENCODER = Encoder()


def payload_of(value: object) -> str:
    """`value` as JSON."""
    return _ENCODER.encode(value).decode()


def object_of(cls: type[T], payload: str | bytes | Raw) -> T:
    """The object of class `cls` that a payload was made from; raises msgspec.ValidationError for any other."""
    return cast("T", _reader(cast("Hashable", cls))(payload))


@cache
def _reader(cls: Hashable) -> Callable[[str | bytes | Raw], object]:
    return Decoder(cls).decode


BATCH_ROWS = 4096


class Kind(IntEnum):
    """What a row holds; within a shard rows come in this order."""

    COUNTS = 0
    """What one split read: a SplitStats in `payload`."""
    LINES = 1
    """How many lines start in one split of a file, in `line`: every shard counts those of later splits on."""
    HEARD = 2
    """How far one log was read: a LogSpan in `payload`. Every shard needs it: silence counts only while a log lasts."""
    SHARED = 3
    """An event without a group, which every group of the shard may need."""
    EVENT = 4
    """An event of one group."""
    CASE = 5
    """A finished group: a GroupCase in `payload`."""
    FAILURE = 6
    """A group that could not be investigated: a Failure in `payload`."""


class Row(NamedTuple):
    """One row; the fields are those of ROWS."""

    shard: int
    kind: int
    cluster: str | None = None
    group: str | None = None
    ts: int | None = None
    """Microseconds since 1970, UTC."""
    path: str | None = None
    byte_offset: int | None = None
    line: int | None = None
    split: int | None = None
    event: str | None = None
    pattern: str | None = None
    payload: str = "{}"


ROWS = pa.schema(
    [
        ("shard", pa.int32()),
        ("kind", pa.int8()),
        ("cluster", pa.string()),
        ("group", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("path", pa.string()),
        ("byte_offset", pa.int64()),
        ("line", pa.int64()),
        ("split", pa.int32()),
        ("event", pa.string()),
        ("pattern", pa.string()),
        ("payload", pa.string()),
    ]
)

LARGE_ROWS = pa.schema(
    [(field.name, pa.large_string() if pa.types.is_string(field.type) else field.type) for field in ROWS]
)
"""ROWS for more text in a column than the 2 GiB that Arrow's strings reach in one chunk."""

ORDER = ("shard", "kind", "cluster", "group", "ts", "path", "byte_offset")
"""Total order of the rows of a shard: by time, ties as the files have them, never by chance."""

_DDL = {
    pa.int8(): "tinyint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.timestamp("us", tz="UTC"): "timestamp",
}

_WIDTHS = {pa.int8(): "<i1", pa.int32(): "<i4", pa.int64(): "<i8", pa.timestamp("us", tz="UTC"): "<i8"}


def spark_schema(schema: pa.Schema = ROWS) -> str:
    """An Arrow schema as Spark's schema."""
    return ", ".join(f"`{field.name}` {_DDL[field.type]}" for field in schema)


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    """Rows as one Arrow batch of the schema ROWS."""
    columns = zip(*rows, strict=True) if rows else (() for _ in ROWS)
    arrays = [array_of(column, field.type) for column, field in zip(columns, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def array_of(values: Sequence[str | int | None], kind: pa.DataType) -> pa.Array:
    """What `pa.array` does, which would import pandas first: a third of a second in every worker."""
    if pa.types.is_string(kind):
        strings = pa.lib.StringBuilder()
        strings.append_values(values)
        return strings.finish()
    known = np.array([value is not None for value in values], dtype=np.bool_)
    numbers = np.array([value or 0 for value in values], dtype=_WIDTHS[kind])
    present = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [present, pa.py_buffer(numbers)])


NO_ROWS = pa.Table.from_batches([], ROWS)
"""A table of no rows; `ROWS.empty_table()` would import pandas."""
EVENT_KINDS = array_of([Kind.SHARED, Kind.EVENT], pa.int8())
"""The rows that hold events."""


def is_one_of(name: str, values: Sequence[str | int | None], table: pa.Table) -> pa.ChunkedArray:
    """True if a column of ROWS holds one of these values, row by row; comparing with a number would import pandas."""
    return pc.is_in(table[name], value_set=array_of(values, table.schema.field(name).type))


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch; times as microseconds."""
    columns = [
        (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for column in batch.columns
    ]
    return [Row(*values) for values in zip(*columns, strict=True)]


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
