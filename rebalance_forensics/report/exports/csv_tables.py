"""Exports generations, incidents, pauses and unread times as CSV whose cells no spreadsheet executes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec import Struct

from rebalance_forensics.diagnosis.model import Blame, Impact, Incident
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.schema import Columns, Value
from rebalance_forensics.report.times import iso
from rebalance_forensics.report.wording import ranges
from rebalance_forensics.timeline.model import Generation, GroupHistory, Pause, UnreadSpan

GENERATIONS = Columns(
    (GroupHistory, "cluster, group"),
    (Generation, "generation, started_at, completed_at, took_ms as ms, trigger, followup, outcome, leader"),
    (Generation, "size as members, joined, left, reason"),
)
INCIDENTS = Columns(
    (Incident, "id, cluster, group_name as group, severity, started_at, ended_at, ongoing"),
    (Blame, "cause, confidence, culprit_names as culprits"),
    (Impact, "unread_partition_ms, unread_at_least, longest_unread_ms, longest_unread_partition, stopped_ms"),
    (Impact, "pause_ms, members, partitions, rebalances"),
    (Incident, "occurrences, generations, summary"),
)
PAUSES = Columns(
    (GroupHistory, "cluster, group"),
    (Pause, "client_id, member_id, started_at as from, ended_at as to, lasted_ms as ms, kind, partitions"),
)
# `client_id` is the previous owner of the partition.
UNREAD = Columns(
    (GroupHistory, "cluster, group"),
    (UnreadSpan, "partition, client_id, started_at as from, ended_at as to, lasted_ms as ms"),
    (UnreadSpan, "why, certain, from_earliest, to_latest, incident"),
)
CELL_CHARACTERS = 8_000
# Full-width forms as well, which some spreadsheets treat like the ASCII ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def _table(columns: Columns, rows: Iterable[tuple[Struct, ...]], **in_words: Callable[[Value], Value]) -> str:
    # A row is made of the Structs that have its cells; an unknown is an empty cell. `in_words` holds a function for
    # each column that says its value in words.
    in_words = {**dict.fromkeys(columns.times, iso), **in_words}
    cells = (zip(columns.names, columns.values(*parts), strict=True) for parts in rows)
    shown = ([in_words[name](cell) if name in in_words else cell for name, cell in row] for row in cells)
    return csv_text((columns.names, *shown))


def csv_text(rows: Iterable[Sequence[Value]]) -> str:
    """Rows as CSV, without cells that a spreadsheet would take for a formula."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_shown(cell) for cell in row] for row in rows)
    return text.getvalue()


def _shown(value: Value) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, int):
        return value
    harmless = line_of(value if isinstance(value, str) else " ".join(value), CELL_CHARACTERS)
    # A spreadsheet executes text that starts like a formula, as a client id may.
    return f"'{harmless}" if harmless.lstrip().startswith(FORMULA_STARTS) else harmless


def _of_groups(columns: Columns, parts: str, report: Report) -> str:
    return _table(columns, ((history, part) for history in report.groups for part in getattr(history, parts)))


def _incidents(report: Report) -> str:
    # One row for each incident, with its most likely cause.
    rows = ((incident, incident.root_causes[0], incident.impact) for incident in report.incidents)
    return _table(INCIDENTS, rows, generations=ranges)


EXPORTS = {
    "generations-csv": partial(_of_groups, GENERATIONS, "generations"),
    "incidents-csv": _incidents,
    "pauses-csv": partial(_of_groups, PAUSES, "pauses"),
    "unread-csv": partial(_of_groups, UNREAD, "unread"),
}
