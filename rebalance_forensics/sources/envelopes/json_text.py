"""Any other JSON object that holds a log line, whatever its keys are called."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.envelopes.content import begins_record
from rebalance_forensics.sources.layouts.json_field_names import host_in, instant_in, leaves_of, text_in
from rebalance_forensics.sources.layouts.json_fields import object_of

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"ts":"2026-11-20T10:15:30.123Z","pod":"kafka-0","msg":"[2026-11-20 10:15:30,123] INFO '
    "[GroupCoordinator 1]: Stabilized group g "
    '(kafka.coordinator.group.GroupCoordinator)"}'
)
REJECT = '{"amount":4}'


class _AnyObject:
    """The last envelope for objects: keys are told by their names, in any spelling and at any depth."""

    rank = 90
    certain = False

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        fields = object_of(line.text) if line.fields is None else line.fields
        leaves = leaves_of(fields)
        text = text_in(leaves, begins_record)
        if text is None:
            return None
        return (
            replace(
                line,
                text=text.removesuffix("\n"),
                fields=fields,
                at=instant_in(leaves) or line.at,
                host=host_in(leaves) or line.host,
            ),
        )


ENVELOPE = _AnyObject()
