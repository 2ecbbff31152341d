"""Logs in another client's words: each fact of a sample as that client would have logged it, or left out.

The matrix (docs/site/clients_page.py) has a sample message for each fact that a client logs; the placeholders of its
template are filled with the values of the event at hand. What the client does not log at the level asked for is left
out; a line of the application takes its place, so that the log has no gap.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal
from zlib import crc32

import regex
from msgspec import NODEFAULT, structs

from docs.site.clients_page import Line, lines, sources_of, states_in
from rebalance_forensics.catalog.matcher import Catalog, clean
from rebalance_forensics.catalog.prefixes import peel
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import FIRST_COORDINATOR_NODE, LAST_COORDINATOR_NODE
from rebalance_forensics.events.dialects import Dialect, dialects
from rebalance_forensics.events.partitions import PartitionsAssigned
from rebalance_forensics.events.process import ExceptionLogged, SettingsReported
from rebalance_forensics.events.rebalances import AssignmentComputed
from rebalance_forensics.records import Origin
from tests.error_words import with_another_error
from tests.stretching import ClusterLogs

Level = Literal["INFO", "DEBUG"]
KNOWN = dialects()
_AT_DEBUG = " (DEBUG)"
_CLIENT, _GROUP, _MEMBER = "orders-1", "payments", "orders-1-77aa"
"""The names that the samples of patterns/ use."""
_OF_THE_WORDS = {"reason", "cause", "detail", "error", "protocol"}
"""Fields that stay as the sample has them: its words were chosen by them."""
_CAUSES = tuple(re.compile(shape, re.IGNORECASE) for shape in (
    "not.?coordinator", "coordinator.?not.?available|not available|REQUEST_TIMED_OUT", "session", "authoriz",
    "authentic|sasl", "refused|could not be established", "time.?out", "loading|load.in", "unknown.?member",
))  # fmt: skip
"""What a line may give as the cause of a lost coordinator or connection: words with another say something else."""
_CONNECTION_LOST = re.compile("down|closed|transport|reset|EOF|disconnect", re.IGNORECASE)
_AS_LEADER = re.compile(r"\(me\)|leader: true|as leader|balancing group|elected=true")
_TRACEBACK = """
Traceback (most recent call last):
  File "/app/shop.py", line 42, in run
    handle(record)
ValueError: cannot parse record"""
_KIP_848 = re.compile("(?i)ConsumerGroupHeartbeat|consumer group (?:initial )?heartbeat|UnreleasedInstanceID")
"""The samples are of the classic protocol; a client logs these of KIP-848 alone."""
_MOVED = re.compile(r"changing coordinator \d+ -> \d+")
"""Names the coordinator that a client found as well as the one that it lost: Java logs two lines."""
_ENUMERATED = ("error", "why", "api", "resource", "change", "after")
"""Fields whose value is what the words are about: a wording with another value says something else."""


@dataclass(frozen=True)
class Words:
    """One sample message of a client, the facts that it states, and where its values stand in it."""

    line: Line
    facts: frozenset[str]
    at_debug: bool
    source: str
    """The file of the client that logs it."""
    prefix: str
    message: str
    placeholders: tuple[tuple[str, str, int, int], ...]
    """Name, type, start and end of each value in `message`."""
    before_prefixes: bool = False
    """Kafka's clients print neither their own id nor the group before a message until 1.0 (KAFKA-5526)."""

    @property
    def event(self) -> str:
        """The type of the event that the words are read as."""
        return str(self.line.pattern.event)


@dataclass
class Consumer:
    """What is known of a client while its log is rewritten: the values that its next words may need."""

    group: str
    client: str
    member: str = "not-yet-known"
    generation: int = 0
    coordinator: int = 1
    instance: str | None = None
    partitions: tuple[str, ...] = ()
    since_join: set[str] = field(default_factory=set)


@cache
def catalog() -> Catalog:
    """The catalog as shipped."""
    return Catalog.load()


def facts_of(event: str, fields: Mapping[str, object]) -> frozenset[str]:
    """What an event states. A fact that has events of its own is not also stated by one that merely implies it."""
    stated = [fact for fact in KNOWN.facts if states_in(fact, event, fields)]
    own = [fact for fact in stated if event in fact.shown_by[0]]
    if not stated and event in _REFUSALS and fields.get("error"):
        return frozenset({f"{event}: {fields['error']}"})
    return frozenset(fact.name for fact in own or stated) | {f.name for f in stated if f.name in _ALONGSIDE}


_REFUSALS = {"JoinFailed", "SyncFailed", "HeartbeatFailed", "OffsetCommitFailed"}
"""Events whose other errors than those of the matrix are facts as well, in the same words with another error."""
_STEPS_OF_JAVA = {"AssignmentUpdated", "AssignmentNotified"}
"""Steps of an assignment that its last line, PartitionsAssigned, states again."""
_ALONGSIDE = {
    "is given a member id",
    "synced",
    "partitions assigned",
    "authentication failed",
    "why it leaves",
}


@cache
def words_of(client: Dialect) -> tuple[Words, ...]:
    """Every sample message of a client that states a fact."""
    return tuple(_words_of(client))


def _words_of(client: Dialect) -> Iterator[Words]:
    for line in lines():
        sources = sources_of(client, line)
        stated = facts_of(str(line.pattern.event), line.fields) if sources else frozenset()
        if not stated or (client.name != "Java, KIP-848" and _KIP_848.search(line.sample.message)):
            continue
        if _MOVED.search(line.sample.message):
            continue
        peeled = peel(clean(line.sample.message))
        for n, stage in enumerate(peeled.stages):
            match = regex.fullmatch(line.entry.program.source, stage)
            if match is None:
                continue
            placeholders = tuple(
                (name, kind, *match.span(i + 1))
                for i, (name, kind) in enumerate(line.entry.program.placeholders)
                if match.span(i + 1)[0] >= 0
            )
            at_debug = all(source.endswith(_AT_DEBUG) for source in sources)
            prefix, source = "".join(peeled.prefixes[:n]), sources[0].removesuffix(_AT_DEBUG)
            yield Words(line, stated, at_debug, source, prefix, stage, placeholders, client.name == "Java before 1.0")
            break


class Rewriter:
    """One client's words for what happened to another's consumer."""

    def __init__(self, client: Dialect, level: Level, leaders: Mapping[int, str]) -> None:
        self.client = client
        self.words = [w for w in words_of(client) if level == "DEBUG" or not w.at_debug]
        self.leaders = leaders
        self.layout = LAYOUTS[client.name]

    def lines_for(self, event: Event, consumer: Consumer) -> tuple[list[str], set[str]]:
        """What this client logs of what happened in the event, and the names of the values that its words hold."""
        _learn(event, consumer)
        name, fields = type(event).__name__, {f: getattr(event, f) for f in event.__struct_fields__}
        if (self.client.name, name) == ("brod", "SyncFailed"):
            name = (
                "JoinFailed"  # brod_group_coordinator.erl, do_stabilize: one RetryFun logs the error of either request
            )
        missing = set(facts_of(name, fields))
        if "asks to join" in missing:
            consumer.since_join.clear()
        consumer.since_join |= missing
        written: list[str] = []
        carried: set[str] = set()
        while missing and (best := self._best(name, fields, missing, consumer)):
            missing -= best.facts
            message = self._filled(best, fields, consumer)
            carried |= {name for name, value in best.line.fields.items() if value not in (None, (), False)}
            carried |= {placeholder for placeholder, *_ in best.placeholders}
            level = "DEBUG" if best.at_debug else "WARN" if _is_warning(best.event) else "INFO"
            written.append(self.layout(LogEntry(event.at or 0, level, message, best, consumer)))
        return written, carried

    def failure(self, event: ExceptionLogged, consumer: Consumer) -> str | None:
        """An error that the application prints in its own language; None where the words of that are not known.

        In Java it may be one of Kafka's, which its client has thrown.
        """
        trace = _TRACEBACK if self.layout in (_python, _librdkafka) and _is_of_the_application(event) else None
        if self.layout is _java:
            trace = f"\n{event.exception}: {event.detail}\n\tat com.acme.Shop.handle(Shop.java:42)"
        return trace and self.layout(LogEntry(event.at or 0, "ERROR", f"consumer loop failed{trace}", None, consumer))

    def filler(self, at: int, consumer: Consumer) -> str:
        """A line of the application itself."""
        return self.layout(LogEntry(at, "INFO", "processed 120 records", None, consumer))

    def _best(self, name: str, fields: Mapping[str, object], missing: set[str], consumer: Consumer) -> Words | None:
        leads = self.leaders.get(consumer.generation) == consumer.member
        words = [*self.words, *self._with_error(name, str(fields.get("error")), missing)]
        fitting = [w for w in words if w.facts & missing and self._may_say(w, name, fields, missing, consumer)]

        def rank(w: Words) -> tuple[int, ...]:
            of_leader = bool(_AS_LEADER.search(w.message))
            return (
                w.event == name,
                _agreement(w, fields),
                len(w.facts & missing),
                of_leader == leads,
                len(w.line.fields),
            )

        return max(fitting, key=rank, default=None)

    def _may_say(
        self, words: Words, name: str, fields: Mapping[str, object], missing: set[str], consumer: Consumer
    ) -> bool:
        """The words say nothing that did not happen, and no step of Java's own in the words of another."""
        if not words.facts <= missing | consumer.since_join or _agreement(words, fields) < 0:
            return False
        leads = self.leaders.get(consumer.generation) == consumer.member
        if words.line.fields.get("member_count") is not None and not leads:
            return False
        return words.event == name or name not in _STEPS_OF_JAVA

    def _with_error(self, name: str, error: str, missing: set[str]) -> Iterator[Words]:
        """The client's words for such a request, with an error that no row of the matrix names."""
        fact = f"{name}: {error}"
        if fact not in missing:
            return
        for words in self.words:
            placeholders = [placeholder for placeholder in words.placeholders if placeholder[:2] == ("error", "error")]
            if words.event == name and len(placeholders) == 1 and words.line.fields.get("error"):
                _, _, start, end = placeholders[0]
                spelled = with_another_error(self.client.name, words.message[start:end], error)
                if spelled is not None:
                    message = words.message[:start] + spelled + words.message[end:]
                    longer = len(spelled) - (end - start)
                    moved = tuple(
                        (n, k, a + longer * (a >= end), b + longer * (b >= end)) for n, k, a, b in words.placeholders
                    )
                    fields = {**words.line.fields, "error": error}
                    line = structs.replace(words.line, fields=fields)
                    yield replace(words, line=line, facts=frozenset({fact}), message=message, placeholders=moved)

    def _filled(self, words: Words, fields: Mapping[str, object], consumer: Consumer) -> str:
        message, at = "", 0
        for name, kind, start, end in sorted(words.placeholders, key=lambda h: h[2]):
            if start < at:
                continue
            shown = words.message[start:end]
            message += words.message[at:start] + self._value(name, kind, shown, fields, consumer)
            at = end
        instance = f"instanceId={consumer.instance}, " if consumer.instance else ""
        prefix = re.sub(r"instanceId=[^,\]]*, ", "", words.prefix).replace("[Consumer ", f"[Consumer {instance}")
        if self.layout is not _java:  # some took over words of Java's, and not what its LogContext prints in front
            prefix = re.sub(r"^\[Consumer [^\]]*\] ", "", prefix)
        for sample, real in ((_CLIENT, consumer.client), (_GROUP, consumer.group)):
            prefix = re.sub(rf"\b{sample}\b", real.replace("\\", ""), prefix)
        if isinstance(node := fields.get("node"), int):
            broker = _broker(node)
            prefix = re.sub(r"b\d(\.example\.net:9092)/\d", rf"b{broker}\1/{broker}", prefix)
        return prefix + message + words.message[at:]

    def _value(self, name: str, kind: str, shown: str, fields: Mapping[str, object], consumer: Consumer) -> str:
        """A value as the sample prints it; what the sample has where the event knows none."""
        known: dict[str, object] = {
            "group": consumer.group, "member": consumer.member, "generation": consumer.generation,
            "coordinator": consumer.coordinator, "client_id": consumer.client, "instance_id": consumer.instance,
            "partitions": consumer.partitions, "count": len(consumer.partitions),
            "leader": self.leaders.get(consumer.generation, "other-member"),
            "member_count": fields.get("member_count"),
        }  # fmt: skip
        value = fields.get(name) if fields.get(name) not in (None, ()) else known.get(name)
        if fields.get(name) == ():
            value = ()
        if name in ("node", "coordinator") and kind not in ("int", "option_int", "connection"):
            return re.sub(r"\bb\d\b", f"b{_broker(consumer.coordinator)}", shown)
        if name == "_" and shown in (_MEMBER, "orders-2-88bb"):
            return str(known["leader"])
        return shown if name in _OF_THE_WORDS else _of_consumer(_printed(kind, value, shown), consumer)


def _of_consumer(text: str, consumer: Consumer) -> str:
    """A value with the consumer's names in place of the sample's, as in `Generation{generationId=5, memberId='…'}`."""
    text = re.sub(r"generationId=\d+", f"generationId={consumer.generation}", text)
    for sample, real in ((_MEMBER, consumer.member), (_CLIENT, consumer.client), (_GROUP, consumer.group)):
        text = re.sub(rf"\b{sample}\b(?!-)", real.replace("\\", ""), text)
    return text


def _printed(kind: str, value: object, shown: str) -> str:
    """A value as the sample prints one of its kind."""
    match kind, value:
        case "connection", int():
            return _connection(value, shown)
        case (("int" | "option_int"), int()):
            return str(value)
        case "partitions", tuple():
            return _partitions(value, shown)
        case "assignment", tuple() if value:
            shares = (f"{member}=Assignment(partitions=[{', '.join(share)}])" for member, share in value)
            return f"{{{', '.join(shares)}}}"
        case "plan", tuple():
            return ", ".join(f"{member}{{{_partitions(tuple(p), 'a[0]')}}}" for member, p in value)
        case (("list" | "ids" | "settings"), tuple()) if value:
            return _listed(value, shown) if kind != "settings" else "".join(f"\n\t{a} = {b}" for a, b in value) + "\n"
        case (("id" | "ids" | "text" | "line" | "word" | "option"), str()):
            return value
    return shown


def _broker(node: int) -> int:
    """The broker behind a connection's number, as clients print it that do not count connections."""
    return LAST_COORDINATOR_NODE - node if node > FIRST_COORDINATOR_NODE else abs(node)


def _connection(node: int, shown: str) -> str:
    """A connection's number as the sample prints one: by kafka-python, franz-go or Java."""
    if not re.match(r"coordinator-|bootstrap-|seed_|\d", shown) or shown.startswith("-"):
        return str(node)
    if node < 0:
        return f"{'seed_' if 'seed' in shown else 'bootstrap-'}{-1 - node}"
    return f"{'coordinator-' if node > FIRST_COORDINATOR_NODE and 'coord' in shown else ''}{_broker(node)}"


def _agreement(words: Words, fields: Mapping[str, object]) -> int:
    """How many of the enumerated fields are the same; -1 where one says something else."""
    pairs = [(words.line.fields.get(n), fields.get(n)) for n in _ENUMERATED]
    if pairs[0][0] is not None and pairs[0][1] is None:
        return -1
    without = not words.line.fields.get("partitions", "*") and not any(
        name == "partitions" for name, *_ in words.placeholders
    )
    if without and fields.get("partitions"):
        return -1
    if any(a is not None and b is not None and a != b for a, b in pairs):
        return -1
    if not fields.get("assignment") and any(kind == "assignment" for _, kind, *_ in words.placeholders):
        return -1
    own_doing = "client requested disconnect"  # Java's client hangs up on a coordinator that refuses its requests
    if fields.get("cause") == own_doing != words.line.fields.get("cause"):
        return -1
    if fields.get("disconnected") is False and _CONNECTION_LOST.search(str(words.line.fields.get("cause"))):
        return -1
    for shape in _CAUSES:
        theirs, ours = (shape.search(str(f.get("cause") or "")) for f in (words.line.fields, fields))
        if theirs and not ours:
            return -1
    return sum(a == b for a, b in pairs if a is not None)


def _partitions(partitions: Sequence[str], shown: str) -> str:
    """Partitions as the sample prints them."""
    if "TopicPartition(" in shown or shown == "set()":
        inner = ", ".join("TopicPartition(topic={!r}, partition={})".format(*p.rsplit("-", 1)) for p in partitions)
        return f"{{{inner}}}" if partitions else "set()"
    by_topic: dict[str, list[str]] = defaultdict(list)
    for partition in partitions:
        topic, _, number = partition.rpartition("-")
        by_topic[topic].append(number)
    if shown.startswith("map["):
        return "map[" + " ".join(f"{t}:[{' '.join(n)}]" for t, n in by_topic.items()) + "]"
    if re.match(r"[\w.-]+\[\d", shown) or shown == "":
        return ", ".join(f"{t}[{' '.join(n)}]" for t, n in by_topic.items())
    if shown.startswith("{"):
        return json.dumps({t: [*map(int, n)] for t, n in by_topic.items()}, separators=(",", ":"))
    inner = ", ".join(partitions)
    return f"[{inner}]" if shown.startswith("[") else inner


def _listed(values: Sequence[str], shown: str) -> str:
    if "'" in shown:
        return "(" + ", ".join(map(repr, values)) + ("," if len(values) == 1 else "") + ")"
    inner = ", ".join(values)
    return f"[{inner}]" if shown.startswith("[") else inner


def _learn(event: Event, consumer: Consumer) -> None:
    if (member := getattr(event, "member", None)) and isinstance(member, str):
        consumer.member = member
    if isinstance(generation := getattr(event, "generation", None), int) and generation > 0:
        consumer.generation = generation
    if isinstance(coordinator := getattr(event, "coordinator", None), int):
        consumer.coordinator = coordinator
    if isinstance(event, PartitionsAssigned):
        consumer.partitions = event.partitions
    consumer.instance = event.speaker.instance_id or consumer.instance


def _is_warning(event: str) -> bool:
    return event.endswith(("Failed", "Lost", "Fenced", "Expired", "Disconnected", "Logged"))


@dataclass(frozen=True)
class LogEntry:
    """One line to be laid out: the client's own where `words` are given, else its application's."""

    at: int
    level: str
    message: str
    words: Words | None
    consumer: Consumer

    def time(self, shape: str) -> str:
        """Its time in UTC."""
        return datetime.fromtimestamp(self.at / 1000, UTC).strftime(shape)

    @property
    def ms(self) -> str:
        """The milliseconds of its time."""
        return f"{self.at % 1000:03}"


Layout = Callable[[LogEntry], str]


def _librdkafka(entry: LogEntry) -> str:
    if entry.words is None or not entry.words.source.startswith("rdkafka"):
        return f"{entry.time('%Y-%m-%d %H:%M:%S')},{entry.ms} - shop - {entry.level} - {entry.message}"
    facility = re.match(r"([A-Z][A-Z0-9_]{2,}) \[", entry.words.prefix)
    bare = re.sub(r"^[A-Z][A-Z0-9_]{2,} \[[^\]]*\] ", "", entry.message)
    bare = bare if bare.startswith("[thrd:") else f"[thrd:main]: {bare}"
    severity = {"DEBUG": 7, "INFO": 6, "WARN": 4, "ERROR": 3}[entry.level]
    name = f"{facility[1] if facility else 'CGRP'}|{entry.consumer.client}#consumer-1"
    return f"%{severity}|{entry.at // 1000}.{entry.ms}|{name}| {bare}"


def _sarama(entry: LogEntry) -> str:
    return f"{'[sarama] ' if entry.words else ''}{entry.time('%Y/%m/%d %H:%M:%S')} {entry.message}"


def _franz_go(entry: LogEntry) -> str:
    return f"[{entry.time('%Y-%m-%d %H:%M:%S')}.{entry.ms}] [{entry.level}] {entry.message}"


def _kafka_go(entry: LogEntry) -> str:
    return f"{entry.time('%Y/%m/%d %H:%M:%S')} {entry.message}"


def _kafkajs(entry: LogEntry) -> str:
    text, _, facts = entry.message.partition("; ")
    record: dict[str, object] = {
        "level": entry.level, "timestamp": f"{entry.time('%Y-%m-%dT%H:%M:%S')}.{entry.ms}Z",
        "logger": "kafkajs" if entry.words else "shop", "message": text,
    }  # fmt: skip
    for key, value in re.findall(r"(?:^|, )(\w+): (.*?)(?=, \w+: |$)", facts):
        record[key] = json.loads(value) if value.startswith("{") else int(value) if value.isdigit() else value
    return json.dumps(record)


def _python(entry: LogEntry) -> str:
    source = entry.words.source if entry.words else "shop"
    logger = re.sub(r"(?:/__init__)?\.py.*", "", source).replace("/", ".") or "kafka.coordinator"
    level = entry.level.replace("WARN", "WARNING")
    return f"{entry.time('%Y-%m-%d %H:%M:%S')},{entry.ms} - {logger} - {level} - {entry.message}"


def _ruby(entry: LogEntry) -> str:
    time = f"{entry.time('%Y-%m-%dT%H:%M:%S')}.{entry.ms}000"
    return f"{entry.level[0]}, [{time} #12] {entry.level:>5} -- : {entry.message}"


def _erlang(entry: LogEntry) -> str:
    level = entry.level.lower().replace("warn", "warning")
    # The samples of patterns/ are of one process in one generation.
    message = entry.message.replace("0.4032.0", f"0.{crc32(entry.consumer.client.encode()) % 9000}.0")
    message = message.replace("generation=5", f"generation={entry.consumer.generation}")
    return f"{entry.time('%Y-%m-%d %H:%M:%S')}.{entry.ms} [{level}] {message}"


_OF_THE_PROCESS = {"AbstractConfig.java", "AppInfoParser.java", "KafkaThread.java"}
"""Classes of Kafka's that log without a client's name in front."""


def _java(entry: LogEntry) -> str:
    message, logger = entry.message, "com.acme.Shop"
    if entry.words is not None:
        logger = f"org.apache.kafka.clients.consumer.internals.{entry.words.source.removesuffix('.java')}"
        instance = f"instanceId={entry.consumer.instance}, " if entry.consumer.instance else ""
        own = f"[Consumer {instance}clientId={entry.consumer.client}, groupId={entry.consumer.group}] "
        unprefixed = entry.words.before_prefixes or entry.words.source in _OF_THE_PROCESS
        message = message if "clientId=" in message or unprefixed else own + message
    time = f"{entry.time('%Y-%m-%dT%H:%M:%S')}.{entry.ms}Z"
    return f"{time} {entry.level:>5} 1 --- [main] {logger} : {message}"


LAYOUTS: Mapping[str, Layout] = {
    "Java before 1.0": _java, "Java 1.0 to 2.6": _java, "Java 2.7 to 4.4": _java,
    "librdkafka": _librdkafka, "Sarama": _sarama, "franz-go": _franz_go, "kafka-go": _kafka_go, "KafkaJS": _kafkajs,
    "kafka-python": _python, "aiokafka": _python, "ruby-kafka": _ruby, "brod": _erlang,
}  # fmt: skip


def reworded(sample: ClusterLogs, logs: Path, to: Path, client: Dialect, level: Level, group: str) -> ClusterLogs:
    """Write a sample's logs anew under `to`: the brokers' as they are, the clients' in the words of `client`.

    Returns the sample's own events with no more in them than `client` logs.
    """
    kept: dict[Origin, Event | None] = {}
    of_brokers = {e.origin.path for e in sample.events if e.speaker.role == "broker"}
    leaders = _leaders(sample)
    by_file: dict[str, list[Event]] = defaultdict(list)
    for event in sorted(sample.events, key=lambda e: (e.origin.path, e.origin.byte_offset)):
        by_file[event.origin.path].append(event)
    for span in sample.spans:
        source, target = logs / span.path, to / span.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if span.path in of_brokers or not by_file[span.path]:
            target.write_bytes(source.read_bytes())
            continue
        rewriter = Rewriter(client, level, leaders)
        consumers: dict[str, Consumer] = {}
        written: list[str] = []
        for event in by_file[span.path]:
            configured = dict(event.settings).get("client.id") if isinstance(event, SettingsReported) else None
            own = event.speaker.client_id or configured or next(iter(consumers), Path(span.path).parts[0])
            consumer = consumers.setdefault(own, Consumer(event.group or group, own))
            consumer.group = event.group or consumer.group
            new, carried = rewriter.lines_for(event, consumer) if event.at is not None else ([], set())
            kept[event.origin] = _with_only(event, carried) if new else None
            if event.at is None:
                continue
            if isinstance(event, ExceptionLogged):
                failure = rewriter.failure(event, consumer) if not new or rewriter.layout is _java else None
                new = [failure] if failure else new if _is_of_the_application(event) else []
                carried = _IN_A_TRACE if rewriter.layout is _java else set[str]()
                kept[event.origin] = _with_only(event, carried) if new else None
            written += new or [rewriter.filler(event.at, consumer)]
        if span.closing is not None and consumers:
            written.append(rewriter.filler(span.closing, next(iter(consumers.values()))))
        target.write_text("\n".join(written) + "\n", encoding="utf-8")
    events = (kept.get(event.origin, event) for event in sample.events)
    return replace(sample, events=tuple(event for event in events if event is not None))


# The fields that are read from the text of another field.
_READ_FROM = {
    "cause": {"answer", "none_elected", "connection_refused", "unanswered", "session_expired"},
    "error": {"connection_refused"},
}
# The fields of an ExceptionLogged that its class and message show.
_IN_A_TRACE = {"exception", "detail", "error", "request", "answer", "resource", "names", "max_size", "disk_full"}


def _is_of_the_application(event: ExceptionLogged) -> bool:
    return not event.assigning and "org.apache.kafka" not in (event.exception or "")


def _with_only(event: Event, carried: set[str]) -> Event:
    """The event without the values that stand nowhere in the other client's words."""
    carried = carried.union(*(_READ_FROM[name] for name in carried & _READ_FROM.keys()))
    own = {f.name: f.default for f in structs.fields(type(event)) if f.name not in Event.__struct_fields__}
    unsaid = {name: value for name, value in own.items() if name not in carried and value is not NODEFAULT}
    speaker = event.speaker if "instance_id" in carried else structs.replace(event.speaker, instance_id=None)
    return structs.replace(event, speaker=speaker, **unsaid)


def _leaders(sample: ClusterLogs) -> dict[int, str]:
    """The leader of each generation: the member id of the client that computed its assignment."""
    members: dict[tuple[str | None, str], str] = {}
    leaders: dict[int, str] = {}
    for event in sorted(sample.events, key=lambda e: e.at or 0):
        if event.speaker.role == "broker":
            continue
        key = (event.speaker.client_id, event.origin.path)
        if isinstance(member := getattr(event, "member", None), str):
            members[key] = member
        if isinstance(event, AssignmentComputed) and event.generation is not None and key in members:
            leaders[event.generation] = members[key]
    return leaders
