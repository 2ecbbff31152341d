"""Builds the typed event of a match and its record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import cast, get_args

from msgspec.structs import replace

from rebalance_forensics.catalog.exceptions import application_frame, exception_fields, thrown_facts
from rebalance_forensics.catalog.lost_coordinators import is_refused, loss_facts
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import clean
from rebalance_forensics.catalog.prefixes import SpeakerWords, peel, speaker_of
from rebalance_forensics.catalog.speakers import simple_name
from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import Event, Pairs, Role, Speaker
from rebalance_forensics.events.process import configured_group
from rebalance_forensics.records import EpochMs, LogRecord

_ROLES: Mapping[str | None, Role] = {role: role for role in get_args(Role)}
_NAMES = re.compile(r"\s*(?:(?:application|client|group|group\.instance)\.id|application\.server) = (?!null\b|$)\S")
_JAVAS_COORDINATORS = frozenset({"AbstractCoordinator", "ConsumerCoordinator", "WorkerCoordinator"})
# The pattern of a line of which only the prefix is known.
PREFIX = "process/group-mentioned"
# Events of requests whose `error` may be that of the connection, in the client's words.
_WITH_ERRORS_OF_CONNECTIONS = ("JoinFailed", "HeartbeatFailed")
# The end of the year 9999; a later time in a log is corrupt.
END_OF_9999: EpochMs = 253_402_300_799_999


def event_of(match: Match, record: LogRecord, *, cluster: str, host: str | None, component: str | None) -> Event | None:
    """The event of a record; None if its line says nothing about groups.

    `host` and `component` are those of the file; the record's own host takes precedence.
    """
    kind = match.event
    if kind is None:
        return None
    if kind == "ExceptionLogged" and "\n" in record.message:
        # A listener container announces an exception in its own words, above the exception itself.
        announced = {name: value for name, value in match.fields.items() if value is not None}
        match = replace(match, fields=exception_fields(record.message) | announced)
    if kind == "ExceptionLogged":
        exception, detail = (cast("str | None", match.fields.get(name)) for name in ("exception", "detail"))
        match = replace(match, fields=match.fields | thrown_facts(exception, detail, record.text))
    if kind == "CoordinatorLost" and (cause := match.fields.get("cause")) is not None:
        match = replace(match, fields=match.fields | loss_facts(str(cause)))
    if kind in _WITH_ERRORS_OF_CONNECTIONS and is_refused(str(match.fields.get("error"))):
        match = replace(match, fields={**match.fields, "connection_refused": True})
    if kind == "ThreadsStopped" and (record.uptime_ms is not None or record.borrows_time):
        # The record above was written before all threads stopped: no thread logged in between.
        began = {"as_it_began": True} if record.borrows_time else {}
        match = replace(match, fields={**match.fields, "uptime_ms": record.uptime_ms, **began})
    if kind == "ProcessDied" and record.borrows_time:
        match = replace(match, fields={**match.fields, "or_later": True})
    return EVENT_TYPES[kind](
        at=None if record.at is None or not -END_OF_9999 <= record.at <= END_OF_9999 else record.at,
        zoned=record.zoned,
        origin=record.origin,
        speaker=_speaker(match, record, host, component),
        cluster=cluster,
        group=match.group,
        level=record.level,
        pattern=match.pattern,
        text=_quoted(record, match) if "\n" in record.message else record.text,
        **match.fields,
    )


def mention_of(
    match: Match, record: LogRecord, *, cluster: str, host: str | None, component: str | None
) -> Event | None:
    """The mention of a group by a line that says nothing else about groups; None if it names none."""
    settings = cast("Pairs", match.fields.get("settings") or ())
    group = match.group or configured_group(dict(settings))
    if group is None:
        return None
    mention = replace(match, event="GroupMentioned", fields={}, group=group)
    return event_of(mention, record, cluster=cluster, host=host, component=component)


def named_by_prefix(record: LogRecord, *, cluster: str, host: str | None, component: str | None) -> Event | None:
    """The mention of a group by the prefix of an unknown message; None if it names none."""
    peeled = peel(clean(record.message))
    group = peeled.fields.get("group")
    if not group:
        return None
    speaker = speaker_of(peeled, peeled.role or "unknown", None)
    mention = Match(pattern=PREFIX, event="GroupMentioned", fields={}, group=str(group), speaker=speaker)
    return event_of(mention, record, cluster=cluster, host=host, component=component)


def _quoted(record: LogRecord, match: Match) -> str:
    """The first line of a record and those below it that matter.

    For a configuration these are the lines that identify the client; for an exception its own line and the frame of
    the application that threw it.
    """
    if match.event == "SettingsReported":
        named = [line.strip() for line in record.message.split("\n")[1:] if _NAMES.match(line)]
        return "\n".join((record.text, *named)) if named and named[0] not in record.text else record.text
    if match.thrown is not None:
        return record.text if match.thrown in record.text else f"{record.text}\n{match.thrown}"
    exception = match.fields.get("exception")
    if not isinstance(exception, str):
        return record.text
    thrown = None
    if exception not in record.text:
        # A framework's exception may name the one that is its cause.
        naming = [line.strip() for line in record.message.split("\n")[1:] if exception in line]
        thrown = next((line for line in naming if f"{exception}: {match.fields.get('detail')}" in line), None)
        thrown = thrown or next(iter(naming), None)
    frame = application_frame(record.message, exception) if match.event == "ExceptionLogged" else None
    return "\n".join(line for line in (record.text, thrown, frame) if line)


# The component that logs this configuration when it starts, whatever else the file contains.
_OF_BANNER = {"DistributedConfig": "connect", "StreamsConfig": "streams", "KafkaConfig": "broker"}


def _speaker(match: Match, record: LogRecord, host: str | None, component: str | None) -> Speaker:
    role = match.speaker.role
    if role == "other" and _is_in_java(record.logger):
        role = "unknown"
    if role == "unknown":
        role = _ROLES.get(_component(match, component), role)  # what the line itself shows, else the rest of the file
    return _spoken(
        match.speaker, record.origin.path, record.host or host, record.thread, record.logger, record.pid, role
    )


def _is_in_java(logger: str | None) -> bool:
    """kafka-python was modeled on Java clients before 1.0 and logs the same messages; the class distinguishes them."""
    return logger is not None and simple_name(logger) in _JAVAS_COORDINATORS


def _component(match: Match, component: str | None) -> str | None:
    """The component that logged the line; a broker's own consumers (RemoteLogMetadataManager) are in no group."""
    if "kind" not in match.fields:
        return component
    kind = str(match.fields["kind"])
    if kind == "ConsumerConfig" and component == "broker" and _names_a_group(match.fields.get("settings")):
        return "consumer"
    return _OF_BANNER.get(kind, component)


def _names_a_group(settings: object) -> bool:
    return isinstance(settings, tuple) and dict(settings).get("group.id") not in (None, "", "null")


@lru_cache(maxsize=4096)
def _spoken(
    words: SpeakerWords,
    path: str,
    host: str | None,
    thread: str | None,
    logger: str | None,
    pid: int | None,
    role: Role,
) -> Speaker:
    """One object for each speaker: a log has few, and each logs many lines."""
    return Speaker(
        role=role,
        file=path,
        host=host,
        broker=words.broker,
        client_id=words.client_id,
        instance_id=words.instance_id,
        thread=words.thread or thread,
        task=words.task,
        offsets_partition=words.offsets_partition,
        pid=pid,
        component=simple_name(logger) if logger else None,
    )
