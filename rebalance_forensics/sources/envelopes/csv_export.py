"""A row of a CSV export with a header line: Splunk's `_raw`, CloudWatch Insights' `@message`, Datadog, Kibana."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.envelopes.json_text import ENVELOPE as ANY_OBJECT
from rebalance_forensics.sources.layouts.json_fields import object_of

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"_row":"csv","_time":"2026-11-20T10:15:30.123+00:00","host":"b1","_raw":"[2026-11-20 10:15:30'
    ",123] INFO [GroupCoordinator 1]: "
    'Stabilized group g (kafka.coordinator.group.GroupCoordinator)"}'
)
REJECT = '{"host":"b1","message":"joined"}'


class _CsvRow:
    """The reader of CSV documents hands each row over as an object marked `_row`."""

    rank = 5
    certain = True

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        fields = object_of(line.text) if line.fields is None else line.fields
        if fields is None or "_row" not in fields:
            return None
        return ANY_OBJECT.peel(replace(line, fields={name: cell for name, cell in fields.items() if name != "_row"}))


ENVELOPE = _CsvRow()
