"""Events as rows: what is sorted and grouped by stands in columns, the rest in `payload`."""

from __future__ import annotations

import sys
from functools import cache, lru_cache

import msgspec
from msgspec import NODEFAULT, Struct, structs

from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import Event, Speaker
from rebalance_forensics.pipeline.schemas import Kind, Row, object_of, payload_of
from rebalance_forensics.records import EpochMs, Origin

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
    """What of this kind of event stands in no column; a field that holds its default is left out."""
    fields = [
        (field.name, field.type, *(() if field.default is NODEFAULT else (field.default,)))
        for field in structs.fields(EVENT_TYPES[kind])
        if field.name not in _IN_COLUMNS
    ]
    return msgspec.defstruct(kind, fields, kw_only=True, omit_defaults=True)


@lru_cache(maxsize=4096)
def _once(speaker: Speaker) -> Speaker:
    """One object for each speaker: a log has few, and each writes many lines."""
    return speaker


def origin_of(row: Row) -> Origin:
    """Where the line of an event row stands."""
    assert row.path is not None
    assert row.byte_offset is not None
    assert row.line is not None
    return Origin(path=sys.intern(row.path), byte_offset=row.byte_offset, line=row.line)
