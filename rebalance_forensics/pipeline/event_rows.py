"""Events as rows: what is sorted and grouped by stands in columns, the rest in `payload`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import Event, Speaker
from rebalance_forensics.pipeline.rows import Codec, dumps, fields_of
from rebalance_forensics.pipeline.schemas import Kind, Row
from rebalance_forensics.records import EpochMs, Origin

_IN_COLUMNS = frozenset({"at", "origin", "cluster", "group", "pattern"})
_SAID_OFTEN = frozenset({"cluster", "group", "pattern", "level", "member", "instance_id", "protocol", "error"})
_CODEC = Codec()


def row_of(event: Event, *, shard: int, split: int) -> Row:
    """One event as one row of a shard."""
    payload = fields_of(event, without=_IN_COLUMNS)
    payload["speaker"] = _speaker_fields(event.speaker)
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
        event=type(event).__name__,
        pattern=event.pattern,
        payload=dumps(payload),
    )


def event_of(row: Row) -> Event:
    """The event that a row was made from."""
    assert row.event is not None
    payload = json.loads(row.payload)
    payload["at"] = None if row.ts is None else EpochMs(row.ts // 1000)
    payload["origin"] = origin_of(row)
    payload["speaker"] = _speaker(tuple(payload["speaker"].items()))
    payload["cluster"], payload["group"], payload["pattern"] = row.cluster, row.group, row.pattern
    for name in _SAID_OFTEN & payload.keys():
        # One object for the same text: a hot group's events say the same few words a million times.
        if type(payload[name]) is str:
            payload[name] = sys.intern(payload[name])
    return _event_reader(row.event)(payload)


@cache
def _event_reader(name: str) -> Callable[[dict[str, Any]], Event]:
    return _CODEC.reader(EVENT_TYPES[name], given=frozenset({"origin", "speaker"}))


@lru_cache(maxsize=4096)
def _speaker_fields(speaker: Speaker) -> dict[str, Any]:
    """The same few speak line after line."""
    return fields_of(speaker)


@lru_cache(maxsize=4096)
def _speaker(told: tuple[tuple[str, Any], ...]) -> Speaker:
    return _CODEC.read(Speaker, dict(told))


def origin_of(row: Row) -> Origin:
    """Where the line of an event row stands."""
    assert row.path is not None
    assert row.byte_offset is not None
    assert row.line is not None
    return Origin(path=sys.intern(row.path), byte_offset=row.byte_offset, line=row.line)
