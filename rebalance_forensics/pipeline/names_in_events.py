"""The names in typed events and in the layouts of their lines, by kind: what an anonymized report must not show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from rebalance_forensics.events.base import Event, own_fields
from rebalance_forensics.events.connect import WorkChanged
from rebalance_forensics.events.membership import AuthorizationFailed
from rebalance_forensics.events.orchestration import ContainerReported, ScalingReported
from rebalance_forensics.events.process import ExceptionLogged, ProcessKilled, UnitStopping
from rebalance_forensics.pipeline.event_files import events_of
from rebalance_forensics.pipeline.run import Analysis
from rebalance_forensics.sources.records.record_reader import parse_line

KAFKA_LAYOUT = re.compile(r"\[[-\d]{10}[ T][\d:,.]{8,12}\] [A-Z]{4,5} ")
# The start of messages of Kafka's clients.
MESSAGE = re.compile(
    r"\[(?:\w{0,60}Consumer|Worker|Producer|Group|AdminClient|Schema registry)\w*+(?: \w*+)?[=\] ]"
    r"|stream-(?:thread|client) \["
)
MESSAGE_KEYS = frozenset({
    *("message", "msg", "log", "body", "event", "short_message", "full_message", "stack_trace", "stacktrace"),
    *("exception", "exc_info", "error.stack_trace", "thrown", "throwable", "error"),
})  # fmt: skip
STAMP = re.compile(r"\d{2,4}[-/]\d\d[-/]\d{2,4}[ T]?|\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
WORD = re.compile(r"(?<![^\s\[\]{}()<>\"',;=|])[^\s\[\]{}()<>\"',;=|]++(?!=)")
LEVELS = frozenset({
    *("trace", "debug", "info", "notice", "warn", "warning", "error", "err", "fatal", "severe", "config"),
    *("fine", "finer", "finest"),
})  # fmt: skip
CALENDAR = frozenset({
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mon", "tue", "wed"),
    *("thu", "fri", "sat", "sun", "utc", "gmt", "z", "am", "pm", "cet", "cest", "est", "edt"),
})  # fmt: skip
KEYS = frozenset({
    *("ts", "time", "timestamp", "level", "lvl", "severity", "msg", "message", "logger", "logger_name"),
    *("thread", "thread_name", "caller", "class", "method", "line", "pid", "host", "source", "stream", "log"),
    *("event", "stdout", "stderr", "main", "null", "none", "true", "false", "kafka", "rdkafka", "python"),
    "root",
})  # fmt: skip
PLAIN_WORDS = LEVELS | CALENDAR | KEYS
KAFKA_THREAD = re.compile(
    r"(?:thrd:)?(?:main|MainThread|Thread-\d+|pool-\d+-thread-\d+|scheduling-\d+|task-\d+|executor-\S*|http-nio-\d+-exec-\d+"
    r"|ForkJoinPool\S*|kafka-coordinator-heartbeat-thread|consumer_background_thread|vert\.x-eventloop-thread-\d+"
    r"|(?:data|control)-plane-kafka\S*|group-\S+-processor-\d+|group-metadata-manager-\d+|kafka-\d+-raft\S*"
    r"|ExpirationReaper\S*|[.\w]*ntainer#\d+-\d+-C-\d+|-?(?:Global)?StreamThread(?:-\d+)?|-?StateUpdater-\d+"
    r"|DistributedHerder-connect-\d+-\d+|KafkaBasedLog|qtp\d+-\d+|broker-\d\S*|controller-\S*)"
)
PUBLIC = re.compile(r"(?:java|javax|jakarta|kafka|scala|org|io|ch|reactor|aiokafka|o|i|k|j)(?:\.[\w$]+)+(?::\d+)?")
SIMPLE_CLASS = re.compile(r"\.?(?:[A-Z][a-z0-9]+){2,}(?::\d+|\.java:\d+)?")
SHORTEST = 3


def names_in_layouts(texts: Iterable[str]) -> Iterator[Named]:
    """Yield (name, kind) for the text that layouts print around the messages, given the first lines of records."""
    heads: set[str] = set()
    for text in texts:
        # `[2026-03-01 10:00:00,000] INFO [GroupCoordinator 3]: …` has no name before its message.
        if KAFKA_LAYOUT.match(text):
            continue
        if text.startswith("{"):
            yield from _in_document(text)
            continue
        message = MESSAGE.search(text)
        head = STAMP.sub("", text[: message.start() if message else len(text)])
        if head not in heads:
            heads.add(head)
            yield from _names_around_message(text)


def _names_around_message(text: str) -> Iterator[Named]:
    record = parse_line(text)
    if record.thread and not _is_no_name(record.thread):
        yield record.thread, "thread"
    head, found, tail = record.text.partition(record.message)
    if found:
        surrounding = STAMP.sub(" ", f"{head} {tail}")
        yield from (
            (word, "name") for word in WORD.findall(surrounding) if word != record.logger and not _is_no_name(word)
        )


def _in_document(text: str) -> Iterator[Named]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield from ((value, "name") for value in _values(document) if not STAMP.match(value) and not _is_no_name(value))


def _values(document: object) -> Iterator[str]:
    # Yield every text in a document except its message, at any depth; its keys belong to the layout.
    pending = [document]
    while pending:
        match pending.pop():
            case str() as text:
                yield text
            case dict() as fields:
                pending.extend(value for key, value in fields.items() if key not in MESSAGE_KEYS)
            case list() as values:
                pending.extend(values)


def _is_no_name(word: str) -> bool:
    # True if a word belongs to the layout or to Kafka, or is too short to be a name.
    bare = word.strip(".:-#/*%")
    return (
        len(bare) < SHORTEST
        or bare.lower() in PLAIN_WORDS
        or not re.search(r"[^\W\d_]", bare)
        or bool(KAFKA_THREAD.fullmatch(bare) or PUBLIC.fullmatch(bare) or SIMPLE_CLASS.fullmatch(bare))
    )


Named = tuple[str, str]
NUMBERED = re.compile(r"(.+)-\d+")
HOST = re.compile(r"(?:\w+://)?/?([^/:\s]+)(?::\d+)?/?")

_FIELDS_BY_KIND = {
    "member": ("member", "members", "leader", "new_leader", "old_member", "current_member", "consumer"),
    "client": ("client_id",),
    "instance": ("instance_id",),
    "thread": ("thread", "client"),
    "group": ("groups",),
    "topic": ("topic", "topics", "topic_pattern"),
    "connector": ("connector", "connectors", "revoked_connectors"),
    "id": ("cluster_id", "incarnation"),
    "partition": ("partition", "partitions", "assigned", "owned", "added", "revoked", "revoking", "changelog"),
    "task": ("tasks", "revoked_tasks"),
    "host": ("client_host", "node", "endpoint", "leader_url", "worker"),
    "assignment": ("assignment", "participants", "assigned_active", "owned_active", "revoking_active"),
}
# The kind of name in each field of an event; other fields contain no names.
KINDS = {field: kind for kind, fields in _FIELDS_BY_KIND.items() for field in fields}


def names_in_events(analysis: Analysis) -> Iterator[Named]:
    """Yield (name, kind) for the names in the events and around their messages; the analysis must have kept events."""
    texts: dict[str, None] = {}
    for event in events_of(analysis):
        yield from ((name, kind) for name, kind in _names(event) if name)
        texts[event.text] = None
    yield from names_in_layouts(texts)


def _names(event: Event) -> Iterator[tuple[str | None, str]]:
    speaker = event.speaker
    yield from ((event.group, "group"), (speaker.client_id, "client"), (speaker.instance_id, "instance"))
    yield speaker.host, "host"
    if speaker.task and "|" in speaker.task:
        yield speaker.task.partition("|")[0], "connector"
    for field, value in own_fields(event).items():
        if field in KINDS:
            yield from _named(value, KINDS[field])
    match event:
        case ContainerReported():
            yield from ((event.name, "pod"), (event.namespace, "namespace"), (event.container, "container"))
        case ScalingReported():
            yield from ((event.pod, "pod"), (event.namespace, "namespace"))
            yield from ((name.rpartition("/")[2], "workload") for name in (event.workload, event.name) if name)
        case ProcessKilled() | UnitStopping():
            yield (event.unit or "").rpartition("/")[2].removesuffix(".service"), "unit"
        case AuthorizationFailed() | ExceptionLogged():
            yield from ((name, event.resource) for name in event.names)
        case WorkChanged():
            yield from _named(event.what, "task")
            yield event.what, "connector"


def _named(value: object, kind: str) -> Iterator[tuple[str | None, str]]:
    match kind, value:
        case "assignment", tuple() if all(isinstance(pair, tuple) for pair in value):
            yield from ((owner, "member") for owner, _ in value)
            yield from _named(tuple(given for _, given in value), "partition")
        case _, tuple():
            for part in value:
                yield from _named(part, kind)
        case "partition" | "task", str():
            yield _first(NUMBERED, value), "topic" if kind == "partition" else "connector"
        case "host", str():
            yield _first(HOST, value), "host"
        case _, str():
            yield value, kind


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.fullmatch(text)
    return found.group(1) if found else None
