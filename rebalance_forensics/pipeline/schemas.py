"""The one shape in which events, results, counts and messages travel between the stages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import NODEFAULT, Raw, Struct, structs
from msgspec.json import Decoder, Encoder

from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import Event, Speaker
from rebalance_forensics.records import EpochMs, Origin

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
    INCIDENT = 5
    """One Incident in `payload`, of the next CASE."""
    CASE = 6
    """A finished group: a GroupCase in `payload`, whose incidents came before it, a row each."""
    FAILURE = 7
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

_WIDTHS = {pa.int8(): "<i1", pa.int32(): "<i4", pa.int64(): "<i8", pa.timestamp("us", tz="UTC"): "<i8"}


_SPARK_TYPES = {
    pa.int8(): "tinyint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.timestamp("us", tz="UTC"): "timestamp",
}


def spark_type(kind: pa.DataType) -> str:
    """An Arrow type in Spark's words."""
    if pa.types.is_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = (kind.field(place) for place in range(kind.num_fields))
        return f"struct<{', '.join(f'{field.name}: {spark_type(field.type)}' for field in fields)}>"
    return _SPARK_TYPES[kind]


def spark_schema(schema: pa.Schema = ROWS) -> str:
    """An Arrow schema as Spark's schema."""
    return ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in schema)


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    """Rows as one Arrow batch of the schema ROWS."""
    columns = zip(*rows, strict=True) if rows else (() for _ in ROWS)
    arrays = [array_of(column, field.type) for column, field in zip(columns, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def array_of(values: Sequence[str | int | None], kind: pa.DataType) -> pa.Array:
    """What `pa.array` does, which would import pandas first: a third of a second in every worker."""
    known = np.array([value is not None for value in values], dtype=np.bool_)
    present = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    if pa.types.is_string(kind):
        # Not by a builder, which grows by copying: the history of a hot group is hundreds of MB.
        texts = [b"" if value is None else cast("str", value).encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype="<i4")
        return pa.Array.from_buffers(kind, len(values), [present, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])
    numbers = np.array([value or 0 for value in values], dtype=_WIDTHS[kind])
    return pa.Array.from_buffers(kind, len(values), [present, pa.py_buffer(numbers)])


NO_ROWS = pa.Table.from_batches([], ROWS)
"""A table of no rows; `ROWS.empty_table()` would import pandas."""
EVENT_KINDS = array_of([Kind.SHARED, Kind.EVENT], pa.int8())
"""The rows that hold events."""


def is_one_of(name: str, values: Sequence[str | int | None], table: pa.Table) -> pa.ChunkedArray:
    """True if a column of ROWS holds one of these values, row by row; comparing with a number would import pandas."""
    return pc.is_in(table[name], value_set=array_of(values, table.schema.field(name).type))


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch."""
    return [Row(*values) for values in cells_of(batch)]


def cells_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The cells of each row of a batch; times as microseconds."""
    columns = ((c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c).to_pylist() for c in batch.columns)
    return zip(*columns, strict=True)


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


_IN_COLUMNS = frozenset({"at", "origin", "cluster", "group", "pattern"})
_SAID_OFTEN = ("level", "member", "instance_id", "protocol", "error")


def row_of(event: Event, *, shard: int, split: int) -> Row:
    """One event as one row of a shard."""
    kind = type(event).__name__
    return Row(
        shard=shard,
        kind=Kind.SHARED if event.group is None else Kind.EVENT,
        cluster=event.cluster,
        group=event.group,
        ts=None if event.at is None else event.at * 1000,
        path=event.origin.path,
        byte_offset=event.origin.byte_offset,
        line=event.origin.line,
        split=split,
        event=kind,
        pattern=event.pattern,
        payload=payload_of(msgspec.convert(event, _beside_columns(kind), from_attributes=True)),
    )


def event_of(row: Row) -> Event:
    """The event that a row was made from."""
    assert row.event is not None
    assert row.cluster is not None
    assert row.pattern is not None
    fields = structs.asdict(object_of(_beside_columns(row.event), row.payload))
    fields["speaker"] = _once(fields["speaker"])
    for name in _SAID_OFTEN:
        # One object for the same text: a hot group's events say the same few words a million times.
        if type(fields.get(name)) is str:
            fields[name] = sys.intern(fields[name])
    return EVENT_TYPES[row.event](
        at=None if row.ts is None else EpochMs(row.ts // 1000),
        origin=origin_of(row),
        cluster=sys.intern(row.cluster),
        group=row.group and sys.intern(row.group),
        pattern=sys.intern(row.pattern),
        **fields,
    )


@cache
def _beside_columns(kind: str) -> type[Struct]:
    # What of this kind of event stands in no column; a field that holds its default is left out.
    fields = [
        (field.name, field.type, *(() if field.default is NODEFAULT else (field.default,)))
        for field in structs.fields(EVENT_TYPES[kind])
        if field.name not in _IN_COLUMNS
    ]
    return msgspec.defstruct(kind, fields, kw_only=True, omit_defaults=True)


@lru_cache(maxsize=4096)
def _once(speaker: Speaker) -> Speaker:
    # One object for each speaker: a log has few, and each writes many lines.
    return speaker


def origin_of(row: Row) -> Origin:
    """Where the line of an event row stands."""
    assert row.path is not None
    assert row.byte_offset is not None
    assert row.line is not None
    return Origin(path=sys.intern(row.path), byte_offset=row.byte_offset, line=row.line)
