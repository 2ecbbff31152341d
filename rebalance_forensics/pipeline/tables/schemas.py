"""The stable schemas of the tables; docs/tables.md is generated from them.

Columns that a report also has take their types from the report's model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa
from msgspec import Struct, to_builtins

from rebalance_forensics.diagnosis.model import Blame, DisturbedGroup, Impact, Incident, RootCause
from rebalance_forensics.pipeline.schemas import spark_schema, spark_type
from rebalance_forensics.records import Time, is_dated
from rebalance_forensics.report.schema import Hint, View, hint_of
from rebalance_forensics.timeline.model import Generation, GroupHistory, Pause, UnreadSpan

Cells = dict[str, Any]
TIME = pa.timestamp("us", tz="UTC")
WORDS = pa.list_(pa.string())


class Column(Struct, frozen=True, kw_only=True):
    """One column: an attribute of a Struct of the model, or a value that only the table has (`model` is None)."""

    name: str
    kind: pa.DataType
    doc: str
    model: type[Struct] | None = None
    attribute: str = ""
    shown: Hint = None

    def cell(self, parts: Sequence[Struct]) -> object:
        """The column's value, from the Struct that has it."""
        part = next(part for part in parts if isinstance(part, self.model or ()))
        return to_builtins(_VIEW(getattr(part, self.attribute), self.shown))


def own(name: str, kind: pa.DataType, doc: str) -> Column:
    """A column that is not in the model."""
    return Column(name=name, kind=kind, doc=doc)


def columns_of(model: type[Struct], **docs: str | tuple[str, str]) -> list[Column]:
    """Attributes of a Struct as columns, each with its description.

    A pair starts with the attribute if its name differs (`ms=("lasted_ms", "how long")`), or if the column has only
    some fields of its Structs, or has them in another order (`advice=("advice(action, why)", "what to do")`).
    """
    columns = []
    for name, meaning in docs.items():
        source, doc = (name, meaning) if isinstance(meaning, str) else meaning
        attribute, _, fields = source.rstrip(")").partition("(")
        hint = hint_of(model, attribute)
        kind = arrow_type(hint, tuple(filter(None, fields.split(", "))))
        shown = _VIEW.type_of(hint)
        columns.append(Column(name=name, kind=kind, doc=doc, model=model, attribute=attribute, shown=shown))
    return columns


def row_of(columns: Sequence[Column], *parts: Struct, **own_cells: object) -> Cells:
    """A row from the Structs of its columns and from the cells that only the table has."""
    return {c.name: own_cells[c.name] if c.model is None else c.cell(parts) for c in columns}


def arrow_type(hint: Hint, only: Sequence[str] = ()) -> pa.DataType:
    """The Arrow type for a type of the model; `only` lists the fields of a Struct to include."""
    if hint == Time:
        return TIME
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Struct):
        hints = get_type_hints(hint, include_extras=True)
        return pa.struct([(name, arrow_type(hints[name])) for name in only or hint.__struct_fields__])
    origin: Hint = get_origin(hint)
    arguments = [each for each in get_args(hint) if each not in (NoneType, ...)]
    if origin is Literal:
        return pa.string()
    return pa.list_(arrow_type(arguments[0], only)) if origin is tuple else arrow_type(arguments[0], only)


def micros(at: int | None) -> int | None:
    """Epoch ms in microseconds, as in the tables; None if the day is unknown."""
    return at * 1000 if at is not None and is_dated(at) else None


_PLAIN = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
_VIEW = View({Time: micros}, as_json=False)


SCHEMA_VERSION = 2
"""Incremented when a column changes its meaning or is removed, not for new columns. Version 1 had no Delta logs."""

_SETTLED = pa.struct(
    [
        ("until", pa.int64()),
        *((name, pa.int64()) for name in ("bytes", "lines", "records", "unparsed", "matched", "unmatched_kafka")),
        ("first", TIME),
        ("last", TIME),
        ("opening", TIME),
        ("closing", TIME),
        ("kafka_version", pa.string()),
        ("read_as", pa.string()),
    ]
)
_HEARD = pa.struct([("path", pa.string()), ("host", pa.string()), ("first", TIME), ("last", TIME)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table. It is partitioned by `date` and `cluster`, which are in directory names, not in the files."""

    name: str
    of: str
    """What one row describes."""
    dated_by: str
    """What determines the date of a row."""
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    """The columns that identify a row and by which rows are sorted."""

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with the description of each column."""
        return pa.schema([pa.field(c.name, c.kind, metadata={"doc": c.doc}) for c in self.columns])


EVENTS = Table(
    name="events",
    of="one line of a log that says something about a group",
    dated_by="`timestamp`",
    order=("timestamp", "file_id", "byte_offset", "event"),
    columns=(
        own("timestamp", TIME, "when, by the clock of the file"),
        own("group", pa.string(), "the group; null for what concerns a process, a broker or a topic"),
        own("event", pa.string(), "the class of the event, as in events.md"),
        own("pattern", pa.string(), "the pattern that recognised the line"),
        own("path", pa.string(), "the file, relative to the input"),
        own("line", pa.int64(), "counted from 1 in the uncompressed file"),
        own("byte_offset", pa.int64(), "counted from 0 in the uncompressed file"),
        own("file_id", pa.string(), "the file, even after it was renamed: `file_id` of `inputs`"),
        own("payload", pa.string(), "the event's own fields, its speaker and its text, as JSON"),
    ),
)
GENERATIONS = Table(
    name="generations",
    of="one generation (classic) or group epoch (KIP-848, KIP-1071, KIP-932) of a group",
    dated_by="`started_at`, where it is unknown `completed_at`",
    order=("group", "generation", "id"),
    columns=(
        own("id", pa.string(), "hash of cluster, group, generation and start"),
        *columns_of(
            GroupHistory,
            group="the group",
            kind="consumer, streams, connect, schema-registry, share or unknown",
            protocol="classic, consumer, streams, share or unknown",
        ),
        *columns_of(
            Generation,
            generation="the generation or epoch",
            started_at="when the rebalance began",
            completed_at="when the group was stable; null when it never was",
            trigger="a cause or a follow-up",
            leader="the leader's member id",
            members="its members when it was stabilized",
            joined="member ids that joined with it",
            left="member ids that left before it",
            outcome="stable, superseded, empty, failed or unknown",
            reason="why, in the words of the coordinator or the member",
        ),
    ),
)
PAUSES = Table(
    name="pauses",
    of="one stretch in which a process had lost its partitions",
    dated_by="`started_at`",
    order=("group", "started_at", "id"),
    columns=(
        own("id", pa.string(), "hash of cluster, group, member and start"),
        *columns_of(GroupHistory, group="the group"),
        *columns_of(
            Pause,
            client_id="the member's client id",
            member_id="the member's id",
            started_at="partitions revoked or lost",
            ended_at="some assigned again; null when that is not seen",
            ms=("lasted_ms", "how long"),
            partitions="which",
            kind="revoked or lost",
        ),
    ),
)
UNREAD = Table(
    name="unread",
    of="one stretch in which nobody could read a partition (Connect: run a connector or task; Streams without "
    "partitions in its logs: a task)",
    dated_by="`started_at`",
    order=("group", "started_at", "id"),
    columns=(
        own("id", pa.string(), "hash of cluster, group, partition and start"),
        *columns_of(GroupHistory, group="the group"),
        *columns_of(
            UnreadSpan,
            incident_id=(
                "incident",
                "`id` of `incidents` (one of `parts` in `incident_groups` if it began the day before), or null",
            ),
            partition="the partition, task or connector",
            started_at="when it became unread; where not `certain`, the best estimate",
            from_earliest="the earliest that this may have been; null where nothing bounds it but `started_at`",
            ended_at="somebody reads it again; null when that is not seen",
            to_latest="by then at the latest somebody reads it again: `ended_at` where that is exact, null where "
            "nothing bounds it",
            ms=("lasted_ms", "how long; null with `ended_at`"),
            why="revoked, stopped, dead, frozen, stuck, cut-off, fenced, assignment-failed, unassigned or unknown",
            certain="whether lines show when it began and ended",
            client_id="whose it was before",
        ),
    ),
)
_IMPACT = columns_of(
    Impact,
    unread_partition_ms="time without a reader, added up over partitions; null where unknown",
    unread_at_least="whether more may have been unread than the logs show",
    longest_unread_ms="time without a reader of the partition that had none for longest",
    longest_unread_partition="that partition",
    stopped_ms="time in which no partition of the group was read; null where unknown",
    pause_ms="pauses added up over members; null where no client log shows them",
    members="members it touched",
    partitions="partitions it touched",
    rebalances="rebalances it took",
    by_member="where only coordinators tell: for how long nobody read what a member had, whatever partitions that were",
)
INCIDENTS = Table(
    name="incidents",
    of="one incident: everything that follows from one first cause, in one group or in several of a cluster",
    dated_by="`started_at`",
    order=("group", "started_at", "id"),
    columns=(
        *columns_of(
            Incident,
            id="the incident's id, the same in every run",
            scope="group, or cluster for what disturbed several groups together",
            group="the group; null for a cluster's incident, whose groups are in `incident_groups`",
            started_at="its beginning",
            ended_at="its end; null while it is ongoing",
            ongoing="whether the logs end before it does",
            severity="critical, warning or info",
            summary="one sentence",
        ),
        *columns_of(
            Blame,
            cause="the most likely root cause",
            confidence="how sure, 0 to 1",
            culprits=("culprit_names", "names of those who caused it"),
        ),
        *columns_of(
            Incident,
            followups="kinds of rebalances that followed",
            generations="the generations it touched",
        ),
        *_IMPACT,
        *columns_of(
            Incident,
            occurrences="how many times the same cause occurred",
            ruled_out="causes that were ruled out: the lines that prove it, or the logs that were searched",
            would_decide=(
                "would_decide(needs, who, started_at, ended_at, between)",
                "missing logs that would tell the remaining causes apart",
            ),
            related=(
                "related(kind, groups, why, ids)",
                "incidents of other groups on this date that have something in common with it",
            ),
        ),
    ),
)
INCIDENT_GROUPS = Table(
    name="incident_groups",
    of="one group that an incident disturbed, with what that cost it; one row for a group's own incident",
    dated_by="the incident's `started_at`",
    order=("group", "incident_id"),
    columns=(
        own("id", pa.string(), "hash of the incident's id and the group"),
        own("incident_id", pa.string(), "`id` of `incidents`"),
        *columns_of(Incident, scope="that of the incident", started_at="the incident's beginning"),
        *columns_of(Blame, cause="the incident's most likely root cause"),
        *columns_of(
            DisturbedGroup,
            group="the group",
            severity="critical, warning or info for this group",
            summary="what this group's own lines show",
            followups="kinds of rebalances that followed",
            generations="the generations it touched",
        ),
        *_IMPACT,
        *columns_of(
            DisturbedGroup,
            parts="ids by which `unread` counts the group's spans in it",
            evidence="the first lines that show it in this group",
        ),
    ),
)
FINDINGS = Table(
    name="findings",
    of="one root cause of an incident, with its proof",
    dated_by="the incident's `started_at`",
    order=("group", "incident_id", "rank"),
    columns=(
        own("id", pa.string(), "incident id and rank"),
        own("incident_id", pa.string(), "`id` of `incidents`"),
        *columns_of(
            Incident,
            group="the group; null for a cluster's incident",
        ),
        own("rank", pa.int32(), "0 is the most likely"),
        *columns_of(
            RootCause,
            cause="the root cause",
            confidence="how sure, 0 to 1",
            culprits="who caused it, with all their other names",
            narrative=("whole_narrative", "what happened"),
            evidence="the most telling lines first, at most 20",
            evidence_total="how many lines prove it",
            advice=("advice(action, why)", "what to do, and why"),
            known_bugs="bugs of Kafka that fit",
        ),
    ),
)
INPUTS = Table(
    name="inputs",
    of="one file that was read: the ledger by which a run knows what is new",
    dated_by="`first`, where the file has no time its age",
    order=("path", "file_id"),
    columns=(
        own("path", pa.string(), "the file, relative to the input, under the name it had last"),
        own(
            "file_id", pa.string(), "hash of its directory and beginning: the same after it grew, was rolled or packed"
        ),
        own("head", pa.string(), "hash of the first `head_bytes` bytes, unpacked"),
        own("head_bytes", pa.int64(), "how many bytes that hash covers"),
        own("location", pa.string(), "where it was read"),
        own("size", pa.int64(), "bytes as stored"),
        own(
            "etag",
            pa.string(),
            "modification time and size (of the archive, for a file in one); null while it must be read again",
        ),
        own("host", pa.string(), "the host that wrote it"),
        own("component", pa.string(), "what wrote it"),
        own("kafka_version", pa.string(), "of which release"),
        own("layout", pa.string(), "how its lines are laid out"),
        own("envelope", pa.string(), "what is around them"),
        own("zone", pa.string(), "the zone of its times"),
        own("bytes", pa.int64(), "bytes read, unpacked"),
        own("lines", pa.int64(), "lines"),
        own("records", pa.int64(), "log records"),
        own("matched", pa.int64(), "records a pattern knows"),
        own("unmatched_kafka", pa.int64(), "unrecognized consumer-group records"),
        own("unparsed", pa.int64(), "lines that belong to no record"),
        own("first", TIME, "its first time"),
        own("last", TIME, "its last time"),
        own(
            "heard",
            pa.list_(_HEARD),
            "from when to when each host logs in it: only then does its silence count, and never if lines were picked",
        ),
        own("errors", WORDS, "what could not be read, as sentences"),
        own(
            "settled", _SETTLED, "for a log that may grow: up to which byte it has been read for good, with the counts"
        ),
        own("read_as", pa.string(), "hash of how it was read, which depends on its neighbours too"),
        own("shows", pa.string(), "what it shows of how it and its neighbours must be read, as JSON"),
        own("fingerprint", pa.string(), "hash of some of its blocks as stored; null in object stores"),
    ),
)
RUNS = Table(
    name="runs",
    of="one run of the job; the intervals of all runs are what the tables cover",
    dated_by="`started_at`; its cluster is `--cluster`, or `*` where there are several",
    order=("started_at", "id"),
    columns=(
        own("id", pa.string(), "the run"),
        own("started_at", TIME, "its start"),
        own("finished_at", TIME, "when its tables were complete"),
        own("since", TIME, "the interval it was asked for: begin"),
        own("until", TIME, "and end"),
        own("listed", pa.int64(), "files there were"),
        own("scanned", pa.int64(), "files that were new or had changed"),
        own("unreadable", pa.int64(), "files that could not be read"),
        own("bytes", pa.int64(), "bytes read, unpacked"),
        own("events", pa.int64(), "events in them"),
        own("days", pa.int64(), "dates whose tables were rewritten"),
        own("incidents", pa.int64(), "incidents in those"),
        own("exit_code", pa.int32(), "0, 1 or 3"),
        own("version", pa.string(), "of rebalance-forensics"),
        own("bytes_written", pa.int64(), "size of the files that it added to the other tables"),
        own("slowest_stage", pa.string(), "the stage that took longest: scan, explain or write findings"),
        own("slowest_stage_ms", pa.int64(), "how long that took"),
        own("largest_group", pa.string(), "the group with the most events around one date, of those explained"),
        own("largest_group_events", pa.int64(), "how many these were, with those before and after the date"),
    ),
)
PENDING = Table(
    name="_pending",
    of="one event of a scanned file that no run's interval covers so far; a later run moves it to `events`",
    dated_by="`timestamp`",
    order=EVENTS.order,
    columns=EVENTS.columns,
)

MADE_OF_EVENTS = (GENERATIONS, PAUSES, UNREAD, INCIDENTS, INCIDENT_GROUPS, FINDINGS)
"""The tables that an investigation of a date writes and rewrites."""
PUBLIC: Mapping[str, Table] = {table.name: table for table in (EVENTS, *MADE_OF_EVENTS, INPUTS, RUNS)}
BY_NAME: Mapping[str, Table] = {**PUBLIC, PENDING.name: PENDING}


def with_partitions(table: Table) -> pa.Schema:
    """The table's columns and partitions, as a reader sees them."""
    return pa.schema([*plain(table.schema), ("date", pa.date32()), ("cluster", pa.string())])


def plain(schema: pa.Schema) -> pa.Schema:
    """The schema without descriptions, as in the files."""
    return pa.schema([field.remove_metadata() for field in schema])


def column_types(table: Table) -> dict[str, str]:
    """The Spark types of the table's columns, without partitions."""
    return {field.name: spark_type(field.type) for field in table.schema}


def ddl(table: Table) -> str:
    """The table's columns and partitions as a Spark DDL string."""
    return f"{spark_schema(table.schema)}, `date` date, `cluster` string"
