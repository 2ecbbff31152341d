"""The frozen schemas of the tables; docs/tables.md shows them and is checked against this file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = 1
"""Rises when a column changes its meaning or goes; new columns do not raise it."""

TIME = pa.timestamp("us", tz="UTC")
WORDS = pa.list_(pa.string())
_MEMBER = pa.struct(
    [("member_id", pa.string()), ("client_id", pa.string()), ("instance_id", pa.string()), ("host", pa.string())]
)
_CULPRIT = pa.struct([("kind", pa.string()), ("name", pa.string()), ("names", WORDS)])
_EVIDENCE = pa.struct(
    [
        ("path", pa.string()),
        ("line", pa.int64()),
        ("byte_offset", pa.int64()),
        ("timestamp", TIME),
        ("text", pa.string()),
    ]
)
_ADVICE = pa.struct([("action", pa.string()), ("why", pa.string())])
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
_RULED_OUT = pa.struct(
    [
        ("cause", pa.string()),
        ("why", pa.string()),
        ("sign", pa.string()),
        ("evidence", pa.list_(_EVIDENCE)),
        ("looked_in", pa.list_(pa.struct([("path", pa.string()), ("started_at", TIME), ("ended_at", TIME)]))),
    ]
)
_WOULD_DECIDE = pa.struct(
    [("needs", pa.string()), ("who", pa.string()), ("started_at", TIME), ("ended_at", TIME), ("between", WORDS)]
)
_BY_MEMBER = pa.struct(
    [
        *((name, pa.int64()) for name in ("members", "of_members", "unread_member_ms", "longest_ms")),
        ("at_least", pa.bool_()),
        ("stopped_at_least_ms", pa.int64()),
        ("stopped_at_most_ms", pa.int64()),
    ]
)
_RELATION = pa.struct([("kind", pa.string()), ("groups", pa.int64()), ("why", pa.string()), ("ids", WORDS)])
_BUG = pa.struct([("jira", pa.string()), ("title", pa.string()), ("fixed_in", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table. `date` and `cluster` are its partitions and stand in directory names, not in the files."""

    name: str
    of: str
    """What one row is."""
    dated_by: str
    """What decides on the date."""
    schema: pa.Schema
    order: tuple[str, ...]
    """The columns that name a row, and in whose order rows are written."""


def _schema(*columns: tuple[str, pa.DataType, str]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, metadata={"doc": doc}) for name, kind, doc in columns])


EVENTS = Table(
    name="events",
    of="one line of a log that says something about a group",
    dated_by="`timestamp`",
    order=("timestamp", "file_id", "byte_offset", "event"),
    schema=_schema(
        ("timestamp", TIME, "when, by the clock of the file"),
        ("group", pa.string(), "the group; null for what concerns a process, a broker or a topic"),
        ("event", pa.string(), "the class of the event, as in events.md"),
        ("pattern", pa.string(), "the pattern that recognised the line"),
        ("path", pa.string(), "the file, relative to the input"),
        ("line", pa.int64(), "counted from 1 in the uncompressed file"),
        ("byte_offset", pa.int64(), "counted from 0 in the uncompressed file"),
        ("file_id", pa.string(), "the file, even after it was renamed: `file_id` of `inputs`"),
        ("payload", pa.string(), "the event's own fields, its speaker and its text, as JSON"),
    ),
)
GENERATIONS = Table(
    name="generations",
    of="one generation (classic) or group epoch (KIP-848, KIP-1071, KIP-932) of a group",
    dated_by="`started_at`, where it is unknown `completed_at`",
    order=("group", "generation", "id"),
    schema=_schema(
        ("id", pa.string(), "hash of cluster, group, generation and start"),
        ("group", pa.string(), "the group"),
        ("kind", pa.string(), "consumer, streams, connect, schema-registry, share or unknown"),
        ("protocol", pa.string(), "classic, consumer, streams, share or unknown"),
        ("generation", pa.int64(), "the generation or epoch"),
        ("started_at", TIME, "when the rebalance began"),
        ("completed_at", TIME, "when the group was stable; null when it never was"),
        ("trigger", pa.string(), "a cause or a follow-up"),
        ("leader", pa.string(), "the leader's member id"),
        ("members", pa.list_(_MEMBER), "its members when it was stabilized"),
        ("joined", WORDS, "member ids that joined with it"),
        ("left", WORDS, "member ids that left before it"),
        ("outcome", pa.string(), "stable, superseded, empty, failed or unknown"),
        ("reason", pa.string(), "why, in the words of the coordinator or the member"),
    ),
)
PAUSES = Table(
    name="pauses",
    of="one stretch in which a process had lost its partitions",
    dated_by="`started_at`",
    order=("group", "started_at", "id"),
    schema=_schema(
        ("id", pa.string(), "hash of cluster, group, member and start"),
        ("group", pa.string(), "the group"),
        ("client_id", pa.string(), "the member's client id"),
        ("member_id", pa.string(), "the member's id"),
        ("started_at", TIME, "partitions revoked or lost"),
        ("ended_at", TIME, "some assigned again; null when that is not seen"),
        ("ms", pa.int64(), "how long"),
        ("partitions", WORDS, "which"),
        ("kind", pa.string(), "revoked or lost"),
    ),
)
UNREAD = Table(
    name="unread",
    of="one stretch in which nobody could read a partition (Connect: run a connector or task; Streams without "
    "partitions in its logs: a task)",
    dated_by="`started_at`",
    order=("group", "started_at", "id"),
    schema=_schema(
        ("id", pa.string(), "hash of cluster, group, partition and start"),
        ("group", pa.string(), "the group"),
        ("incident_id", pa.string(), "`id` of the one row of `incidents` that counts it; null where none does"),
        ("partition", pa.string(), "the partition, task or connector"),
        ("started_at", TIME, "when it became unread; where not `certain`, the best estimate"),
        ("from_earliest", TIME, "the earliest that this may have been; null where nothing bounds it but `started_at`"),
        ("ended_at", TIME, "somebody reads it again; null when that is not seen"),
        ("ms", pa.int64(), "how long; null with `ended_at`"),
        (
            "why",
            pa.string(),
            "revoked, stopped, dead, frozen, stuck, cut-off, fenced, assignment-failed, unassigned or unknown",
        ),
        ("certain", pa.bool_(), "whether lines tell when it began"),
        ("client_id", pa.string(), "whose it was before"),
    ),
)
INCIDENTS = Table(
    name="incidents",
    of="one incident: everything that follows from one first cause in one group",
    dated_by="`started_at`",
    order=("group", "started_at", "id"),
    schema=_schema(
        ("id", pa.string(), "the incident's id, the same in every run"),
        ("group", pa.string(), "the group"),
        ("started_at", TIME, "its beginning"),
        ("ended_at", TIME, "its end; null while it is ongoing"),
        ("ongoing", pa.bool_(), "whether the logs end before it does"),
        ("severity", pa.string(), "critical, warning or info"),
        ("summary", pa.string(), "one sentence"),
        ("cause", pa.string(), "the most likely root cause"),
        ("confidence", pa.float64(), "how sure, 0 to 1"),
        ("culprits", WORDS, "names of those who caused it"),
        ("followups", WORDS, "kinds of rebalances that followed"),
        ("generations", pa.list_(pa.int64()), "the generations it touched"),
        (
            "unread_partition_ms",
            pa.int64(),
            "time without a reader, added up over partitions; null where unknown",
        ),
        ("unread_at_least", pa.bool_(), "whether more may have been unread than the logs show"),
        ("longest_unread_ms", pa.int64(), "time without a reader of the partition that had none for longest"),
        ("longest_unread_partition", pa.string(), "that partition"),
        ("stopped_ms", pa.int64(), "time in which no partition of the group was read; null where unknown"),
        ("pause_ms", pa.int64(), "pauses added up over members; null where no client log shows them"),
        ("members", pa.int64(), "members it touched"),
        ("partitions", pa.int64(), "partitions it touched"),
        ("rebalances", pa.int64(), "rebalances it took"),
        (
            "by_member",
            _BY_MEMBER,
            "where only coordinators tell: for how long nobody read what a member had, whatever partitions that were",
        ),
        ("occurrences", pa.int64(), "how many times the same cause occurred"),
        (
            "ruled_out",
            pa.list_(_RULED_OUT),
            "causes that were ruled out: the lines that prove it, or the logs that were searched",
        ),
        (
            "would_decide",
            pa.list_(_WOULD_DECIDE),
            "missing logs that would tell the remaining causes apart",
        ),
        (
            "related",
            pa.list_(_RELATION),
            "incidents of other groups on this date that have something in common with it",
        ),
    ),
)
FINDINGS = Table(
    name="findings",
    of="one root cause of an incident, with its proof",
    dated_by="the incident's `started_at`",
    order=("group", "incident_id", "rank"),
    schema=_schema(
        ("id", pa.string(), "incident id and rank"),
        ("incident_id", pa.string(), "`id` of `incidents`"),
        ("group", pa.string(), "the group"),
        ("rank", pa.int32(), "0 is the most likely"),
        ("cause", pa.string(), "the root cause"),
        ("confidence", pa.float64(), "how sure, 0 to 1"),
        ("culprits", pa.list_(_CULPRIT), "who caused it, with all their other names"),
        ("narrative", pa.string(), "what happened"),
        ("evidence", pa.list_(_EVIDENCE), "the most telling lines first, at most 20"),
        ("evidence_total", pa.int64(), "how many lines prove it"),
        ("advice", pa.list_(_ADVICE), "what to do, and why"),
        ("known_bugs", pa.list_(_BUG), "bugs of Kafka that fit"),
    ),
)
INPUTS = Table(
    name="inputs",
    of="one file that was read: the ledger by which a run knows what is new",
    dated_by="`first`, where the file has no time its age",
    order=("path", "file_id"),
    schema=_schema(
        ("path", pa.string(), "the file, relative to the input, under the name it had last"),
        ("file_id", pa.string(), "hash of its directory and beginning: the same after it grew, was rolled or packed"),
        ("head", pa.string(), "hash of the first `head_bytes` bytes, unpacked"),
        ("head_bytes", pa.int64(), "how many bytes that hash covers"),
        ("location", pa.string(), "where it was read"),
        ("size", pa.int64(), "bytes as stored"),
        (
            "etag",
            pa.string(),
            "modification time and size (of the archive, for a file in one); null while it must be read again",
        ),
        ("host", pa.string(), "the host that wrote it"),
        ("component", pa.string(), "what wrote it"),
        ("kafka_version", pa.string(), "of which release"),
        ("layout", pa.string(), "how its lines are laid out"),
        ("envelope", pa.string(), "what is around them"),
        ("zone", pa.string(), "the zone of its times"),
        ("bytes", pa.int64(), "bytes read, unpacked"),
        ("lines", pa.int64(), "lines"),
        ("records", pa.int64(), "log records"),
        ("matched", pa.int64(), "records a pattern knows"),
        ("unmatched_kafka", pa.int64(), "unrecognized consumer-group records"),
        ("unparsed", pa.int64(), "lines that belong to no record"),
        ("first", TIME, "its first time"),
        ("last", TIME, "its last time"),
        (
            "heard",
            pa.list_(_HEARD),
            "from when to when each host logs in it: only then does its silence count, and never if lines were picked",
        ),
        ("errors", WORDS, "what could not be read, as sentences"),
        (
            "settled",
            _SETTLED,
            "for a log that may grow: up to which byte it has been read for good, with the counts",
        ),
        ("read_as", pa.string(), "hash of how it was read, which depends on its neighbours too"),
        ("shows", pa.string(), "what it shows of how it and its neighbours must be read, as JSON"),
        ("fingerprint", pa.string(), "hash of some of its blocks as stored; null in object stores"),
    ),
)
RUNS = Table(
    name="runs",
    of="one run of the job; the intervals of all runs are what the tables cover",
    dated_by="`started_at`; its cluster is `--cluster`, or `*` where there are several",
    order=("started_at", "id"),
    schema=_schema(
        ("id", pa.string(), "the run"),
        ("started_at", TIME, "its start"),
        ("finished_at", TIME, "when its tables were complete"),
        ("since", TIME, "the interval it was asked for: begin"),
        ("until", TIME, "and end"),
        ("listed", pa.int64(), "files there were"),
        ("scanned", pa.int64(), "files that were new or had changed"),
        ("unreadable", pa.int64(), "files that could not be read"),
        ("bytes", pa.int64(), "bytes read, unpacked"),
        ("events", pa.int64(), "events in them"),
        ("days", pa.int64(), "dates whose tables were rewritten"),
        ("incidents", pa.int64(), "incidents in those"),
        ("exit_code", pa.int32(), "0, 1 or 3"),
        ("version", pa.string(), "of rebalance-forensics"),
    ),
)
PENDING = Table(
    name="_pending",
    of="one event of a scanned file that no run's interval covers so far; a later run moves it to `events`",
    dated_by="`timestamp`",
    order=EVENTS.order,
    schema=EVENTS.schema,
)

MADE_OF_EVENTS = (GENERATIONS, PAUSES, UNREAD, INCIDENTS, FINDINGS)
"""What an investigation of a date writes, and can write again."""
PUBLIC: Mapping[str, Table] = {table.name: table for table in (EVENTS, *MADE_OF_EVENTS, INPUTS, RUNS)}
BY_NAME: Mapping[str, Table] = {**PUBLIC, PENDING.name: PENDING}


def plain(schema: pa.Schema) -> pa.Schema:
    """The schema without its documentation, as files carry it."""
    return pa.schema([field.remove_metadata() for field in schema])
