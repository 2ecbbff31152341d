"""The names that stand around a message: threads, applications, MDC values, fields of a JSON record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from rebalance_forensics.sources.records.record_reader import parse_line

Named = tuple[str, str]

KAFKA_LAYOUT = re.compile(r"\[[-\d]{10}[ T][\d:,.]{8,12}\] [A-Z]{4,5} ")
MESSAGE = re.compile(
    r"\[(?:\w{0,60}Consumer|Worker|Producer|Group|AdminClient|Schema registry)\w*+(?: \w*+)?[=\] ]"
    r"|stream-(?:thread|client) \["
)
"""Where the messages of Kafka's clients begin."""
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
    """Yield (name, kind) of what layouts print before and behind the messages of records, given their first lines."""
    heads: set[str] = set()
    for text in texts:
        # `[2026-03-01 10:00:00,000] INFO [GroupCoordinator 3]: …` names nobody before its message.
        if KAFKA_LAYOUT.match(text):
            continue
        if text.startswith("{"):
            yield from _in_document(text)
            continue
        message = MESSAGE.search(text)
        head = STAMP.sub("", text[: message.start() if message else len(text)])
        if head not in heads:
            heads.add(head)
            yield from _around(text)


def _around(text: str) -> Iterator[Named]:
    record = parse_line(text)
    if record.thread and not _known(record.thread):
        yield record.thread, "thread"
    head, found, tail = record.text.partition(record.message)
    if found:
        surrounding = STAMP.sub(" ", f"{head} {tail}")
        yield from ((word, "name") for word in WORD.findall(surrounding) if word != record.logger and not _known(word))


def _in_document(text: str) -> Iterator[Named]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield from ((value, "name") for value in _values(document) if not STAMP.match(value) and not _known(value))


def _values(document: object) -> Iterator[str]:
    """Yield every text a document holds besides its message, at whatever depth; its keys are the layout's."""
    pending = [document]
    while pending:
        match pending.pop():
            case str() as text:
                yield text
            case dict() as fields:
                pending.extend(value for key, value in fields.items() if key not in MESSAGE_KEYS)
            case list() as values:
                pending.extend(values)


def _known(word: str) -> bool:
    """Whether a word is the layout's or Kafka's, or too short to name anybody."""
    bare = word.strip(".:-#/*%")
    return (
        len(bare) < SHORTEST
        or bare.lower() in PLAIN_WORDS
        or not re.search(r"[^\W\d_]", bare)
        or bool(KAFKA_THREAD.fullmatch(bare) or PUBLIC.fullmatch(bare) or SIMPLE_CLASS.fullmatch(bare))
    )
