"""JSON documents: what a value may be, and the one way they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Document: TypeAlias = dict[str, Json]


def written(document: Json) -> str:
    """Write a document for people and programs: indented, ASCII only, in the order it was built."""
    # ASCII keeps C1 controls and bidirectional marks of log lines out of a terminal that shows `--json -`.
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def written_on_one_line(document: Json) -> str:
    """Write a document as one line of JSON Lines."""
    return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
