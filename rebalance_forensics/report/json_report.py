"""The report as JSON, the public interface for scripts; fields added later follow those of the contract.

The model (diagnosis/model.py, timeline/model.py, report/model.py) declares which fields JSON has; this module writes
times and texts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.process.resources import collecting_rarely
from rebalance_forensics.records import Time
from rebalance_forensics.report.documents import Document, Fields, pieces
from rebalance_forensics.report.model import SCHEMA_VERSION, Report
from rebalance_forensics.report.schema import View
from rebalance_forensics.report.times import iso
from rebalance_forensics.timeline.evidence import shortened
from rebalance_forensics.timeline.model import GroupHistory, LogText, Probability

EVIDENCE_CHARACTERS = 16_384
AT_ONCE = 1_000
"""Number of list elements, such as the generations of a group, that are written at once."""


def to_json(report: Report) -> str:
    """Write the whole report; the same report gives the same bytes."""
    return "".join(json_pieces(report))


def json_pieces(report: Report) -> Iterator[str]:
    """The JSON report in chunks, for a file."""
    with collecting_rarely():
        yield from pieces(
            {
                "schema_version": report.schema_version,
                "tool": _VIEW(report.tool),
                # Each is built when it is written, since the documents of thousands of groups do not fit into memory.
                "inputs": map(_VIEW, report.inputs),
                "groups": map(_in_slices, report.groups),
                "incidents": map(_VIEW, report.incidents),
                "gaps": map(_VIEW, report.gaps),
            }
        )


def _in_slices(history: GroupHistory) -> Struct | Fields:
    # Field by field a short one would take three times as long.
    is_short = max(len(history.generations), len(history.identities), len(history.unread)) <= AT_ONCE
    return _VIEW(history) if is_short else _VIEW.fields(history, AT_ONCE)


def incident_document(incident: Incident) -> Document:
    """One incident as in the report, for messages."""
    document: Document = msgspec.to_builtins(_VIEW(incident))
    return document


@cache
def schema_text() -> str:
    """The JSON Schema (2020-12) of the report."""
    (schema,), definitions = msgspec.json.schema_components(
        [_VIEW.struct_of(Report)], schema_hook=lambda leaf: _SCHEMAS[leaf.__name__], ref_template="#/$defs/{name}"
    )
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:rebalance-forensics:report:{SCHEMA_VERSION}",
        **schema,
        "$defs": definitions,
    }
    return json.dumps(whole, indent=2) + "\n"


def _quoted(text: str) -> str:
    return text if len(text) <= EVIDENCE_CHARACTERS else shortened(text, EVIDENCE_CHARACTERS)


def _rounded(confidence: float) -> float:
    return round(confidence, 4)


_SCHEMAS: dict[str, dict[str, Any]] = {
    "iso": {"type": ["string", "null"], "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
    "_quoted": {"type": "string"},
    "_rounded": {"type": "number", "minimum": 0, "maximum": 1},
}
_VIEW = View({Time: iso, LogText: _quoted, Probability: _rounded}, as_json=True)


if __name__ == "__main__":
    sys.stdout.write(schema_text())
