"""The schema of the rows that pass between the stages: events, results, counts and messages."""

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
    """The value as JSON."""
    return _ENCODER.encode(value).decode()


def object_of(cls: type[T], payload: str | bytes | Raw) -> T:
    """The object of class `cls` that a payload encodes; raises msgspec.ValidationError if it encodes another."""
    return cast("T", _reader(cast("Hashable", cls))(payload))


@cache
def _reader(cls: Hashable) -> Callable[[str | bytes | Raw], object]:
    return Decoder(cls).decode


BATCH_ROWS = 4096


class Kind(IntEnum):
    """The kind of a row; within a shard, rows are in this order."""

    COUNTS = 0
    """The counts of one split: a SplitStats in `payload`."""
    LINES = 1
    """The number of lines that start in one split, in `line`; every shard needs it to number those of later splits."""
    HEARD = 2
    """The time that one log covers: a LogSpan in `payload`. Every shard needs it: silence counts only within a log."""
    SHARED = 3
    """An event without a group, which every group of the shard may need."""
    EVENT = 4
    """An event of one group."""
    INCIDENT = 5
    """An Incident in `payload`, of the next CASE."""
    CASE = 6
    """The result for a group: a GroupCase in `payload`, preceded by one INCIDENT row for each of its incidents."""
    FAILURE = 7
    """A group that could not be investigated: a Failure in `payload`."""


class Row(NamedTuple):
    """One row of ROWS."""

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
"""ROWS with large strings: a chunk of Arrow's plain strings holds at most 2 GiB."""

ORDER = ("shard", "kind", "cluster", "group", "ts", "path", "byte_offset")
"""Total order of the rows of a shard: by time; ties by position in the files, so that it is deterministic."""

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
    """The Spark name of an Arrow type."""
    if pa.types.is_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = (kind.field(place) for place in range(kind.num_fields))
        return f"struct<{', '.join(f'{field.name}: {spark_type(field.type)}' for field in fields)}>"
    return _SPARK_TYPES[kind]


def spark_schema(schema: pa.Schema = ROWS) -> str:
    """An Arrow schema as a Spark DDL string."""
    return ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in schema)


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    """The rows as an Arrow batch with the schema ROWS."""
    columns = zip(*rows, strict=True) if rows else (() for _ in ROWS)
    arrays = [array_of(column, field.type) for column, field in zip(columns, ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ROWS)


def array_of(values: Sequence[str | int | None], kind: pa.DataType) -> pa.Array:
    """Like `pa.array`, which imports pandas first: a third of a second in every worker."""
    known = np.array([value is not None for value in values], dtype=np.bool_)
    present = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    if pa.types.is_string(kind):
        # Not with a builder, which copies as it grows: the history of a hot group takes hundreds of MB.
        texts = [b"" if value is None else cast("str", value).encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype="<i4")
        return pa.Array.from_buffers(kind, len(values), [present, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])
    numbers = np.array([value or 0 for value in values], dtype=_WIDTHS[kind])
    return pa.Array.from_buffers(kind, len(values), [present, pa.py_buffer(numbers)])


NO_ROWS = pa.Table.from_batches([], ROWS)
"""An empty table; `ROWS.empty_table()` would import pandas."""
EVENT_KINDS = array_of([Kind.SHARED, Kind.EVENT], pa.int8())
"""The kinds of rows that contain events."""


def is_one_of(name: str, values: Sequence[str | int | None], table: pa.Table) -> pa.ChunkedArray:
    """For each row, whether the column has one of these values; comparing with a number would import pandas."""
    return pc.is_in(table[name], value_set=array_of(values, table.schema.field(name).type))


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch."""
    return [Row(*values) for values in cells_of(batch)]


def cells_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The cells of each row of a batch; times in microseconds."""
    columns = ((c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c).to_pylist() for c in batch.columns)
    return zip(*columns, strict=True)


TaskMessages = list[tuple[str, str]]
"""Pairs of a kind and a text."""
MESSAGES = pa.schema([("what", pa.string()), ("text", pa.string())])


def message_batch(messages: Sequence[tuple[str, str]]) -> pa.RecordBatch:
    """The messages of a task as an Arrow batch."""
    columns = [[what for what, _ in messages], [text for _, text in messages]]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], schema=MESSAGES)


def messages_in(batches: Iterable[pa.RecordBatch]) -> TaskMessages:
    """The messages in Arrow batches."""
    return [pair for b in batches for pair in zip(b.column(0).to_pylist(), b.column(1).to_pylist(), strict=True)]


_IN_COLUMNS = frozenset({"at", "origin", "cluster", "group", "pattern"})
_REPEATED_FIELDS = ("level", "member", "instance_id", "protocol", "error")


def row_of(event: Event, *, shard: int, split: int) -> Row:
    """The event as a row of the shard."""
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
        payload=payload_of(msgspec.convert(event, _payload_type(kind), from_attributes=True)),
    )


def event_of(row: Row) -> Event:
    """The event that a row contains."""
    assert row.event is not None
    assert row.cluster is not None
    assert row.pattern is not None
    fields = structs.asdict(object_of(_payload_type(row.event), row.payload))
    fields["speaker"] = _shared_speaker(fields["speaker"])
    for name in _REPEATED_FIELDS:
        # One object for equal texts: a hot group's events repeat the same few words a million times.
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
def _payload_type(kind: str) -> type[Struct]:
    # The fields of this type of event that have no column; those with their default value are omitted.
    fields = [
        (field.name, field.type, *(() if field.default is NODEFAULT else (field.default,)))
        for field in structs.fields(EVENT_TYPES[kind])
        if field.name not in _IN_COLUMNS
    ]
    return msgspec.defstruct(kind, fields, kw_only=True, omit_defaults=True)


@lru_cache(maxsize=4096)
def _shared_speaker(speaker: Speaker) -> Speaker:
    # One object per speaker: a log has few speakers, and each logs many lines.
    return speaker


def origin_of(row: Row) -> Origin:
    """The position of the line that an event row was read from."""
    assert row.path is not None
    assert row.byte_offset is not None
    assert row.line is not None
    return Origin(path=sys.intern(row.path), byte_offset=row.byte_offset, line=row.line)
