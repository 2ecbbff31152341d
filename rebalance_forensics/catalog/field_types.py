"""The types of placeholders: how Kafka, Java and Scala print a value, and how to read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from math import isfinite

from msgspec import Struct

from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.jvm_texts import (
    collection,
    full_pause,
    housekeeper_delta,
    openj9_stop,
    out_of_memory,
    pause,
    thread_stack,
    vm_error,
)
from rebalance_forensics.events.coordinator import FIRST_COORDINATOR_NODE, LAST_COORDINATOR_NODE

# Flattened logs print the whole configuration on one line, so a setting ends where the next one starts.
_SETTING = re.compile(r"(?:^|\s)([a-z][\w.-]*) =(.*?)(?=\s+[a-z][\w.-]* =|\s*$)", re.DOTALL)

# No secrets: no password, SASL or SSL setting is in this list.
KEPT = frozenset(
    """
    application.id application.server broker.id node.id client.id client.rack connect.protocol
    bootstrap.servers connections.max.idle.ms default.api.timeout.ms enable.auto.commit acceptable.recovery.lag
    group.consumer.assignors group.consumer.heartbeat.interval.ms group.consumer.max.size
    group.consumer.migration.policy group.consumer.session.timeout.ms group.coordinator.rebalance.protocols
    group.coordinator.new.enable group.share.session.timeout.ms group.streams.session.timeout.ms group.id
    group.initial.rebalance.delay.ms group.instance.id
    group.max.session.timeout.ms group.max.size group.min.session.timeout.ms group.protocol group.remote.assignor
    heartbeat.interval.ms internal.leave.group.on.close leave.group.on.close max.poll.interval.ms max.poll.records
    max.warmup.replicas metadata.max.age.ms min.insync.replicas num.standby.replicas num.stream.threads
    offsets.retention.check.interval.ms offsets.retention.minutes offsets.topic.num.partitions
    offsets.topic.replication.factor partition.assignment.strategy probing.rebalance.interval.ms process.roles
    processing.guarantee rebalance.timeout.ms reconnect.backoff.max.ms request.timeout.ms retry.backoff.ms
    scheduled.rebalance.max.delay.ms session.timeout.ms state.dir task.assignor.class upgrade.from
    worker.sync.timeout.ms worker.unsync.backoff.ms rest.advertised.host.name rest.advertised.port listeners
    advertised.listeners config.storage.topic offset.storage.topic status.storage.topic schema.registry.group.id
    kafkastore.group.id leader.eligibility share.group.enable unclean.leader.election.enable
    """.split()  # noqa: SIM905 - words read best as words
)


def read_settings(text: str) -> tuple[tuple[str, str], ...]:
    """The settings that matter to groups, sorted, as Kafka prints them (`null` included)."""
    return tuple(sorted({name: value.strip() for name, value in _SETTING.findall(text) if name in KEPT}.items()))


# librdkafka, franz-go and kafka-go also log these errors themselves, with the request.
_CLIENTS_OWN = re.compile(
    r"RD_KAFKA_RESP_ERR_|\[thrd:|Group \"|(?:Join|Sync|Leave)Group|Heartbeat|heartbeat error"
    r"|(?<!PHP )Fatal (?:consumer )?error"
    r"|Offset ?[Cc]ommit|commit attempt|Consumer commit error|committing message\b|Failed to (?:join|sync) group"
    r"|(?:join|sync)Group failed|leave group failed|group coordinator|joining group|FindCoordinator|querying for"
    r"|[Aa]uto[- ](?:offset )?commit|committing offsets|lost ownership of|\[(?:Consumer|Runner|Connection)\]"
    r"|; group: |join group session|sending heartbeat|consumer group command"
)
HIDDEN = "***"
_MARKS = frozenset("*#\u2022\u2588")
_PRESENT = re.compile(r"(?:Some|Optional(?:Int|Long)?)[(\[](.*)[)\]]", re.DOTALL)
_EMPTY = frozenset({"", "None", "null", "Optional.empty", "OptionalInt.empty", "OptionalLong.empty"})
_WRAPPER = re.compile(r"(?:[A-Z]\w*|set|frozenset)(?=[(\[])")
_PARTITION = re.compile(r"(?:[A-Za-z0-9_-]{22}:)?(.+-\d+)(?:@-?\d+)?")
_PYTHON_PARTITION = re.compile(r"TopicPartition\(topic=u?'([^']*)', partition=(\d+)\)")
_GO_LIST = re.compile(r"(?:[^\s,\[\]]+\[[\d ]*\](?:, ?|\Z))+")
_RUBY_PARTITIONS = re.compile(r"`([^`\n]+)`: ([\d, ]*)")
_WRAPPED_PARTITION = re.compile(
    r"""(?:TopicPartition\{topic=|Topic\((?:name=)?['"]|topic: "|(?<![\w.-]))([\w.-]+)"""
    r"""(?: ?\[\[?|/|,partition=|['"]\), index[=:] ?|", partition: )(\d+)(?=\]|: offset|,? ?offset|[ )}])"""
)
_TOPIC_OR_PARTITION = re.compile(r"(?P<topic>[\w.-]+):|partition=(?P<number>\d+) begin_offset=\S+")
_MEMBER = re.compile(r"(?:^|[{,] ?)([^{},=]+?)=(?:\w*Assignment)\(partitions=\[([^\[\]]*)\][^()]*\)")
_BARE = re.compile(r"(?:^|[{,] ?)([^{},=]+?)=\[([^\[\]]*)\]")
_NODE = re.compile(r"(?:(\S*?)(?::(-?\d+))? )?\(id: ([-+]?\d+)(?: rack: [^)]*)?\)")
_LONG = 2**63


def name(text: str) -> str:
    """A name as printed; names that people masked with marks are all the same, however many marks there are."""
    return HIDDEN if text[:1] in _MARKS and not text.strip(text[0]) else text


def uncoded(text: str) -> str:
    """The text before an error; ValueError for an error constant, which appears in tables of errors, not in logs."""
    if "RD_KAFKA_RESP_ERR_" in text:
        raise ValueError(text)
    return text


def crash(text: str) -> str:
    """The error that crashed a KafkaJS consumer; ValueError for a missing coordinator, which is an event of its own."""
    if text == "KafkaJSGroupCoordinatorNotFound":
        raise ValueError(text)
    return text


def application(text: str) -> str:
    """An application's text before an error that its client returned; ValueError for a client's own line."""
    if _CLIENTS_OWN.search(text):
        raise ValueError(text)
    return text


def answered(text: str) -> str:
    """Why a brod member leaves or rejoins; ValueError for a heartbeat without response, an event of its own."""
    if text.strip() == "hb_timeout":
        raise ValueError(text)
    return text.strip()


def other_thread(text: str) -> str:
    """The name of a thread; ValueError for a StreamThread, whose end is an event of its own."""
    if _STREAM_THREAD.search(text):
        raise ValueError(text)
    return text


def option(text: str) -> str | None:
    """Some(x), Optional[x] and x are x; None, Optional.empty and null are None."""
    match = _PRESENT.fullmatch(text)
    inner = match[1] if match else text
    return None if inner in _EMPTY else inner


def integer(text: str) -> int:
    """A Java long or int; ValueError for a number that Kafka cannot have printed."""
    number = int(text)
    if not -_LONG <= number < _LONG:
        raise ValueError(text)
    return number


def decimal(text: str) -> float:
    """A decimal number; ValueError for infinity and NaN."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


def option_int(text: str) -> int | None:
    """The number inside Optional[3] or OptionalInt[3], or the bare number."""
    inner = option(text)
    return None if inner is None else integer(inner)


def items(text: str) -> tuple[str, ...]:
    """The elements of [a, b], Set(a, b), {a, b}, Python's ('a', 'b') or a, b; an element may contain brackets."""
    inner = text.strip()
    if not _has_brackets(inner) and "," not in inner:
        inner = inner.strip("'")
        return (inner,) if inner else ()
    inner = _unwrapped(inner)
    return tuple(item for item in (part.strip().strip("'") for part in _split(inner)) if item)


def names(text: str) -> tuple[str, ...]:
    """The names in a collection, or a single name; see `name` for masked ones."""
    return tuple(name(item) for item in items(text))


def _has_brackets(text: str) -> bool:
    return "[" in text or "(" in text or "{" in text


def _unwrapped(text: str) -> str:
    while (start := _opening(text)) is not None:
        text = text[start + 1 : -1].strip()
    return text


def _opening(text: str) -> int | None:
    """The position of the bracket that encloses the whole text; None if there is none."""
    match = _WRAPPER.match(text)
    start = match.end() if match else 0
    closing = {"[": "]", "(": ")", "{": "}"}.get(text[start : start + 1])
    if closing is None or not text.endswith(closing):
        return None
    depth = 0
    for at, char in enumerate(text[start:], start):
        depth += (char in "[({") - (char in "])}")
        if depth == 0:
            return start if at == len(text) - 1 else None
    return None


def _split(text: str) -> list[str]:
    if not _has_brackets(text):
        return text.split(",")
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "[({") - (char in "])}")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def partitions(text: str) -> tuple[str, ...]:
    """Topic partitions as `topic-0`, without topic ids and epochs; `{topic=[0, 1]}` is expanded."""
    if python := _PYTHON_PARTITION.findall(text):
        return tuple(f"{topic}-{number}" for topic, number in python)
    if ruby := _RUBY_PARTITIONS.fullmatch(text):
        return tuple(f"{ruby[1]}-{number.strip()}" for number in ruby[2].split(",") if number.strip())
    # Checked before collections: a topic may start with a capital letter, like Scala's `Set(...)` and Java classes.
    if _GO_LIST.fullmatch(text):
        topics = (topic.lstrip(", ").partition("[") for topic in text.split("]"))
        return tuple(f"{topic}-{number}" for topic, _, numbers in topics for number in numbers.split())
    return tuple(name for item in items(text) for name in _partition_names(item))


def _partition_names(item: str) -> list[str]:
    topic, equals, numbers = item.partition("=")
    if equals and numbers.startswith("["):
        return [f"{topic}-{number}" for number in items(numbers)]
    if match := _PARTITION.fullmatch(item):
        return [match[1]]
    raise ValueError(item)


def listed_partitions(text: str) -> tuple[str, ...]:
    """The partitions that brod lists below each topic, line by line."""
    topic, found = "", list[str]()
    for line in filter(None, (_TOPIC_OR_PARTITION.fullmatch(line.strip()) for line in text.split("\n"))):
        topic = line["topic"] or topic
        if line["number"]:
            found.append(f"{topic}-{line['number']}")
    return tuple(found)


def wrapped_partitions(text: str) -> tuple[str, ...]:
    """The partitions as librdkafka's wrappers print them: `orders[0]@unset` (Go), `orders [[0]]` (.NET), `orders/0: …`.

    Also Python's `TopicPartition{topic=orders,partition=0,offset=…}`, whose first element may be truncated, Rust's
    `TopicPartitionListElem { topic: "orders", partition: 0, … }`, Arroyo's `Partition(topic=Topic(name='orders'), …)`.

    ValueError if the text contains anything else.
    """
    found = tuple(f"{topic}-{number}" for topic, number in _WRAPPED_PARTITION.findall(text))
    if not found and text.strip("[] "):
        raise ValueError(text)
    return found


def assignment(text: str) -> FieldValue:
    """Member -> partitions, from `{m=Assignment(partitions=[a-0]), …}` or `{m=[a-0], …}`, sorted by member."""
    inner = text.strip()
    pairs = _MEMBER.findall(inner) or _BARE.findall(inner)
    return tuple(sorted((member.strip(), partitions(owned)) for member, owned in pairs))


def target(text: str) -> dict[str, FieldValue]:
    """The members in `{m=MemberAssignmentImpl(partitions={id=[0]}), …}`; empty for a truncated map."""
    start = text.strip()
    if start[:1] != "{" or _opening(start) is None:
        return {"members": ()}
    return {"members": tuple(sorted(part.partition("=")[0].strip() for part in _split(start[1:-1]) if "=" in part))}


def plan(text: str) -> FieldValue:
    """An assignment as franz-go prints it: `m{orders[0 1], returns[0]}, n{}` (BalancePlan.String)."""
    pairs = (part.partition("{") for part in text.split("}"))
    return tuple(sorted((member.strip(", "), partitions(owned)) for member, brace, owned in pairs if brace))


def node(text: str) -> dict[str, FieldValue]:
    """A Node as Kafka prints it; see `connection` for the numbers of coordinator connections."""
    match = _NODE.fullmatch(text)
    if match is None:
        return {"coordinator": None, "node": None}
    number = connection(match[3])
    return {"coordinator": LAST_COORDINATOR_NODE - number if number > FIRST_COORDINATOR_NODE else number, "node": text}


def connection(text: str) -> int:
    """The number of a client's connection: the broker id, or Integer.MAX_VALUE - broker id for the coordinator."""
    # Since 4.4 the coordinator is printed as `+1` for broker 1 (GroupCoordinatorNode). kafka-python calls it
    # `coordinator-1`; bootstrap addresses are `bootstrap-0` there, `seed_0` in franz-go and -1, -2, … in Java.
    kind, number = text.rstrip("0123456789"), integer(text[len(text.rstrip("0123456789")) :])
    if kind in ("+", "coordinator-"):
        return LAST_COORDINATOR_NODE - number
    return -1 - number if kind in ("bootstrap-", "seed_") else integer(text)


def epoch_ms(text: str) -> int:
    """Epoch milliseconds, or the date that Kafka Streams has printed for them since 3.4."""
    if re.fullmatch(r"-?\d+", text):
        return integer(text)
    moment = datetime.fromisoformat(text.replace(",", ".").replace(" ", "T", 1).replace(" ", ""))
    if moment.tzinfo is None:
        raise ValueError(text)
    return round(moment.timestamp() * 1000)


_TASK = re.compile(r"(?<!\w)(?:\w+__)?\d+_\d+")
_NOTHING = re.compile(r"[\W_]*+(?:(?:null|None|Set|List|HashSet)[\W_]*+)?")
_OWNER = re.compile(r"(?:^|[{\n]|,\s)[^\S\n]*+([^={}\[\],\n]+?)=\[([^\[\]]*)\]")
_PARTICIPANT = re.compile(r"(?:^|[{\n]|[\]),]\s)[^\S\n]*+([^:=\n\[\]{),]+?)(?:(?<!\s)\s++)?[:=]\s*+(\[[^\[\]]*\])")
_CLIENT = re.compile(r"(?:^|[{\n]|\],?\s)[^\S\n]*+([^={}\[\]\s]++)=\[(?=activeTasks)")
_ACTIVE = re.compile(r"activeTasks: \(([^()]*)\)")
_STANDBY = re.compile(r"standbyTasks: \(([^()]*)\)")


def tasks(text: str) -> tuple[str, ...]:
    """Task ids (`0_1`, `topology__0_1`), in a collection of any kind."""
    found = tuple(_TASK.findall(text))
    if not found and not _NOTHING.fullmatch(text):
        raise ValueError(text)
    return found


def tasks_by_member(text: str) -> FieldValue:
    """Member -> tasks, from `{c-1=[0_0, 0_1], c-2=[]}`."""
    return tuple(sorted((member.strip(), tasks(owned)) for member, owned in _OWNER.findall(text)))


def participants(text: str) -> FieldValue:
    """Process -> member ids of its consumers, from lines of `p-1: [c-1, c-2]`."""
    return tuple(sorted((process.strip(), items(members)) for process, members in _PARTICIPANT.findall(text)))


def client_states(text: str) -> dict[str, FieldValue]:
    """Process -> tasks as `assignment` and `standby`, from `p-1=[activeTasks: ([0_0]) standbyTasks: ([])]`."""
    starts = [(match[1], match.end()) for match in _CLIENT.finditer(text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    states = [(process, text[start:end]) for (process, start), end in zip(starts, ends, strict=True)]
    return {"assignment": _held(states, _ACTIVE), "standby": _held(states, _STANDBY)}


def _held(states: list[tuple[str, str]], kind: re.Pattern[str]) -> FieldValue:
    matches = ((process, kind.search(state)) for process, state in states)
    return tuple(sorted((process, tasks(match[1]) if match else ()) for process, match in matches))


# StreamsGroupHeartbeatResponse.Status: 1 MISSING_SOURCE_TOPICS, 2 INCORRECTLY_PARTITIONED_TOPICS, 3
# MISSING_INTERNAL_TOPICS, 4 SHUTDOWN_APPLICATION.
_MISSING = re.compile(r"\(1\) Source topics? ([^()]+?) (?:are|is) missing")
_INTERNAL = re.compile(r"\(3\) Internal topics are missing: ([^();]+)")
_SHUTDOWN = re.compile(r"\(4\) Streams group member (\S+) encountered a fatal error and requested a shutdown")
_MISFIT = re.compile(r"\(2\) [^(]*?\btopics? ([\w.-]+)")


def streams_statuses(text: str) -> dict[str, FieldValue]:
    """The topics that the statuses of a streams group name, from `(1) Source topics orders, returns are missing.`.

    With status 4, the id of the member that asked for a shutdown.
    """
    found = {
        "missing_topics": _MISSING.search(text),
        "internal_topics": _INTERNAL.search(text),
        "misfit_topics": _MISFIT.search(text),
    }
    named: dict[str, FieldValue] = {
        name: tuple(re.findall(r"[^\s,\[\]]+", match[1])) for name, match in found.items() if match
    }
    if asked := _SHUTDOWN.search(text):
        named["shutdown_by"] = asked[1]
    return named


class FieldType(Struct, frozen=True):
    """A type of placeholder: `source` is what it matches, `read` turns the text into a value or a mapping of fields.

    `loose` is what it matches if no template matches strictly. A `composite` type fills several fields by name; the
    text itself is kept as well if the event has a field of the placeholder's name.
    """

    source: str
    read: Callable[[str], FieldValue | dict[str, FieldValue]]
    loose: str | None = None
    composite: bool = False


_COLLECTION = r"(?:[A-Z]\w*|set|frozenset)?[\[({][^\n]*?[\])}]|[^\s\[\](){}][^\n\[\](){}]*?|"
# Go prints a map of topics as `orders[0 1], returns[0]`.
_PARTITIONS = rf"(?:\S+?\[[\d ]*\](?:, )?)+|{_COLLECTION}"
_OPTION = r"Some\([^\n]*?\)|Optional(?:Int|Long)?\[[^\n]*?\]|Optional(?:Int|Long)?\.empty"
ANY = r"(?s:.*?)"
# The name of a stream thread: <application.id>-<process id>-StreamThread-<number>.
_STREAM_THREAD = re.compile(r"-StreamThread-\d+\Z")
# What people put in place of an address when they publish a log.
_MASKED = r"\*{2,}(?::\*+)?|[xX]{3,}|<[\w .-]{1,40}>(?::<[\w .-]{1,40}>)?"

TYPES: Mapping[str, FieldType] = {
    "id": FieldType(r"\S+?", name, loose=r"[^\n]+?"),
    # The class of an exception on a line of its own.
    "class": FieldType(r"[A-Za-z_$][\w$.]*", str),
    "word": FieldType(r"""[^\s,;()\[\]{}'"]+?""", str),
    "text": FieldType(ANY, str),
    "line": FieldType(r"[^\n]*?", str),
    "uncoded": FieldType(r"[^\n]*?", uncoded),
    "application": FieldType(r"[^\n]*?", application),
    "stream_thread": FieldType(r"[^\"\n]*?-StreamThread-\d+", str),
    "other_thread": FieldType(r"[^\"\n]*?", other_thread),
    # What may follow an error in a program's own message: rdkafka-ruby's code, quotes and brackets, PHP's location.
    "closing": FieldType(r"(?: \([a-z_]{3,40}\))?[)\]}>\"'`.,;]{0,6}(?: in \S{1,300}:\d{1,6})?", str),
    "crash": FieldType(r"\S+?", crash, loose=r"[^\n]+?"),
    "rest": FieldType(r"(?s:.*)", str.strip),
    "atom": FieldType(r"""[^\s,;()\[\]{}'"]+?""", answered),
    "term": FieldType(r"(?s:.*)", answered),
    # After the message of an exception, which contains blanks: in a flattened trace only the first frame ends it.
    "trace": FieldType(r"(?:\s*\n|\s+at [\w.$/<>]+\()(?s:.*)", str),
    "dot": FieldType(r"\.", str),
    "int": FieldType(r"-?\d+", integer),
    "broker_id": FieldType(r"\d+", integer),
    "float": FieldType(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", decimal),
    # Stops of the JVM shorter than 100 ms are ignored: a healthy log has one each second.
    "nanos": FieldType(r"\d{9,}", lambda text: round(integer(text) / 1_000_000)),
    "seconds": FieldType(
        r"(?:[1-9]\d*|0[.,][1-9])\d*(?:[.,]\d+)?", lambda text: round(decimal(text.replace(",", ".")) * 1000)
    ),
    "signed_seconds": FieldType(r"[-+]?\d+\.\d+", lambda text: round(decimal(text) * 1000)),
    "housekeeper_delta": FieldType(r"[^\s()]{2,60}", housekeeper_delta),
    "pause": FieldType(r"[^\n]*", pause, composite=True),
    "full_pause": FieldType(r"[^\n]*", full_pause, composite=True),
    "collection": FieldType(r"(?s:.*)", collection, composite=True),
    "openj9_stop": FieldType(r"(?s:.*)", openj9_stop, composite=True),
    "thread_stack": FieldType(ANY, thread_stack, composite=True),
    "out_of_memory": FieldType(r"(?s:.*)", out_of_memory, composite=True),
    "vm_error": FieldType(r"(?s:.*)", vm_error, composite=True),
    "bool": FieldType(r"(?i:true|false)", lambda text: text.lower() == "true"),
    "option": FieldType(rf"{_OPTION}|[^\s(){{}}\[\]]*?", option, loose=rf"{_OPTION}|[^\n(){{}}\[\]]*?"),
    "option_int": FieldType(rf"{_OPTION}|-?\d+|None|null", option_int),
    "list": FieldType(_COLLECTION, items),
    # kafka-go's default client id contains blanks and brackets, and so do the member ids derived from it.
    "ids": FieldType(_COLLECTION, names, loose=rf"{_COLLECTION}|[^\s\[\](){{}}]+ [^\n\[\]{{}}]+?"),
    "partitions": FieldType(_PARTITIONS, partitions),
    "listed_partitions": FieldType(r"(?s:.*)", listed_partitions),
    "wrapped_partitions": FieldType(r"[^\n]*?", wrapped_partitions),
    "assignment": FieldType(r"\{(?s:.*?)\}", assignment),
    "plan": FieldType(r"[^\s{},][^\n{}]*\{[^\n]*\}", plan),
    "target": FieldType(ANY, target, composite=True),
    "settings": FieldType(r"(?s:.*)", read_settings),
    "epoch_ms": FieldType(r"-?\d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3} \S+?", epoch_ms),
    "connection": FieldType(r"(?:[-+]|coordinator-|bootstrap-|seed_)?\d+", connection),
    "node": FieldType(
        rf"(?:\S*? )?\(id: [-+]?\d+(?: rack: [^()\n]*)?\)|[^\s()]+:\d+|null|{_MASKED}",
        node,
        composite=True,
    ),
    "tasks": FieldType(_COLLECTION, tasks),
    "tasks_by_member": FieldType(r"\{[^\n]*?\}", tasks_by_member),
    "participants": FieldType(ANY, participants),
    "client_states": FieldType(ANY, client_states, composite=True),
    "streams_statuses": FieldType(r"(?s:.*)", streams_statuses, composite=True),
}
"""The types defined in Python; `error` and those of patterns/fragments come from data."""


@cache
def choices(spec: str) -> FieldType:
    """The type of `{phase:starting|started}`: one of these words."""
    return FieldType("|".join(re.escape(word) for word in spec.split("|")), str)
