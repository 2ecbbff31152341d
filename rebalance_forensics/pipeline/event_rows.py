"""Events as rows: what is sorted and grouped by stands in columns, the rest in `payload`."""

from __future__ import annotations

import json

from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.rows import Codec, dumps, fields_of
from rebalance_forensics.pipeline.schemas import Kind, Row
from rebalance_forensics.records import EpochMs, Origin

_IN_COLUMNS = frozenset({"at", "origin", "cluster", "group", "pattern"})
_CODEC = Codec()
FARTHEST_MS = 253_402_300_799_999
"""The end of the year 9999; a log that says later than that has its digits wrong."""


def row_of(event: Event, *, shard: int, split: int) -> Row:
    """One event as one row of a shard."""
    payload = fields_of(event, without=_IN_COLUMNS)
    return Row(
        shard=shard,
        kind=Kind.SHARED if event.group is None else Kind.EVENT,
        cluster=event.cluster,
        group=event.group,
        ts=None if event.at is None or abs(event.at) > FARTHEST_MS else event.at * 1000,
        path=event.origin.path,
        byte_offset=event.origin.byte_offset,
        line=event.origin.line,
        split=split,
        event=type(event).__name__,
        pattern=event.pattern,
        payload=dumps(payload),
    )


def event_of(row: Row, codec: Codec = _CODEC) -> Event:
    """The event that a row was made from."""
    assert row.event is not None
    assert row.path is not None
    payload = json.loads(row.payload)
    payload["at"] = None if row.ts is None else EpochMs(row.ts // 1000)
    payload["origin"] = {"path": row.path, "byte_offset": row.byte_offset, "line": row.line}
    payload["cluster"], payload["group"], payload["pattern"] = row.cluster, row.group, row.pattern
    return codec.read(EVENT_TYPES[row.event], payload)


def origin_of(row: Row) -> Origin:
    """Where the line of an event row stands."""
    assert row.path is not None
    assert row.byte_offset is not None
    assert row.line is not None
    return Origin(path=row.path, byte_offset=row.byte_offset, line=row.line)
