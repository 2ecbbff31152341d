"""The typed events as output: an Arrow table, lines of JSON, records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_forensics.events.base import Event, own_fields
from rebalance_forensics.pipeline.run import Analysis
from rebalance_forensics.pipeline.schemas import Row, event_of, rows_of
from rebalance_forensics.report.times import iso

COLUMNS = ("cluster", "group", "ts", "event", "pattern", "path", "line", "byte_offset", "payload")


def event_table(analysis: Analysis) -> pa.Table:
    """Every event once, ordered by cluster, time and position."""
    order = [(name, "ascending") for name in ("cluster", "ts", "path", "byte_offset")]
    return analysis.events.take(pc.sort_indices(analysis.events, sort_keys=order))


def event_lines(analysis: Analysis) -> Iterator[str]:
    """Each event as one line of JSON."""
    for batch in event_table(analysis).to_batches(max_chunksize=4096):
        for row in rows_of(batch):
            yield json.dumps(_document(row), separators=(", ", ": ")) + "\n"


def events_of(analysis: Analysis) -> Iterator[Event]:
    """Each event as an object."""
    for batch in event_table(analysis).to_batches(max_chunksize=4096):
        yield from map(event_of, rows_of(batch))


RECORD = (
    "timestamp", "cluster", "group", "event", "fields", "client_id", "host", "pattern", "path", "line", "byte_offset",
    "text",
)  # fmt: skip
"""The names of a record's values; `fields` contains all fields specific to the type of event."""


def event_records(analysis: Analysis) -> Iterator[tuple[Any, ...]]:
    """Each event as a tuple of values, in the order of RECORD."""
    for event in events_of(analysis):
        speaker, origin = event.speaker, event.origin
        yield (
            *(event.at, event.cluster, event.group, type(event).__name__, own_fields(event)),
            *(speaker.client_id, speaker.host, event.pattern, origin.path, origin.line, origin.byte_offset, event.text),
        )


def _document(row: Row) -> dict[str, Any]:
    event = event_of(row)
    return {
        "event": row.event,
        "timestamp": iso(event.at),
        "cluster": event.cluster,
        "group": event.group,
        **own_fields(event),
        "pattern": event.pattern,
        "path": event.origin.path,
        "line": event.origin.line,
        "byte_offset": event.origin.byte_offset,
        "speaker": {name: value for name, value in msgspec.to_builtins(event.speaker).items() if name != "file"},
        "text": event.text,
    }
