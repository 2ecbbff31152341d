"""Removes log prefixes, one after the other, and reads what they say about the process that logs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import regex
from msgspec import Struct

from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.events.base import Role


class SpeakerWords(Struct, frozen=True, kw_only=True, gc=False, cache_hash=True):
    """What prefixes say about the speaker; events.base.Speaker explains the fields."""

    role: Role = "unknown"
    broker: int | None = None
    client_id: str | None = None
    instance_id: str | None = None
    thread: str | None = None
    task: str | None = None
    offsets_partition: int | None = None


class Peeled(Struct, frozen=True, gc=False):
    """A message and its prefixes: `stages` are the message as logged and after each prefix is removed."""

    stages: tuple[str, ...]
    fields: Mapping[str, FieldValue]
    role: Role | None
    kind: str | None
    """The innermost prefix: Consumer, GroupCoordinator, stream-thread, task, …"""
    prefixes: tuple[str, ...] = ()
    """The text that was removed from each stage to get the next."""
    speakers: dict[Role, SpeakerWords] = {}
    """Role -> the speaker as the prefixes alone describe it; filled on demand."""

    @property
    def bare(self) -> str:
        """The message without known prefixes."""
        return self.stages[-1]


# Ids may contain brackets, so the bracket that ends a prefix is followed by a blank; some clients omit `groupId=`.
# Only the first `, groupId=` counts: trying each would be quadratic in a line full of them.
_CLIENT = (
    r"(?:(?>instanceId=(?P<instance_id>[^\n]*?), clientId=)|clientId=)"
    r"(?:(?>(?P<client_id>[^\n]*?), groupId=)(?P<group>[^\n]*?)|(?P<client_id>[^\n]*?))\](?: |$)"
)
_SPEAKERS: tuple[tuple[str, Role | None, str], ...] = (
    ("[GroupC", "broker", r"\[GroupCoordinator (?P<broker>\d+)\]:? ?"),
    (
        "[GroupC",
        "broker",
        r"\[GroupCoordinator id=(?P<broker>\d+)(?: topic=__consumer_offsets partition=(?P<offsets_partition>\d+))?\] ?",
    ),
    # Until 0.11.
    ("[Group ", "broker", r"\[Group Metadata Manager on Broker (?P<broker>\d+)\]:? ?"),
    ("[GroupM", "broker", r"\[GroupMetadataManager brokerId=(?P<broker>\d+)\]:? ?"),
    ("[ShareC", "broker", r"\[ShareCoordinator id=(?P<broker>\d+)(?: topic=\S+ partition=\d+)?\] ?"),
    ("[GroupI", "broker", r"\[GroupId[ =](?P<group>[^\n]*?)\] ?(?:\[MemberId (?P<member>[^\n\]]*)\] ?)?"),
    ("[Group ", "broker", r"\[Group (?P<group>[^\n]*?)\] ?"),
    ("[Member", "broker", r"\[MemberId (?P<member>[^\n\]]*)\] ?"),
    ("[KafkaA", "broker", r"\[KafkaApi-(?P<broker>\d+)\] ?"),
    ("[KafkaS", "broker", r"\[KafkaServer id=(?P<broker>\d+)\] ?"),
    ("[KafkaR", "broker", r"\[KafkaRaftServer nodeId=(?P<broker>\d+)\] ?"),
    ("[Socket", "broker", r"\[SocketServer (?:brokerId|listenerType=(?:ZK_)?BROKER, nodeId)=(?P<broker>\d+)\] ?"),
    (
        "[Broker",
        "broker",
        r"\[Broker(?:Server|LifecycleManager|MetadataPublisher) id=(?P<broker>\d+)(?: isZkBroker=\w+)?\] ?",
    ),
    # A controller logs about other brokers; its own id must not be taken for theirs.
    ("[Quorum", "broker", r"\[QuorumController id=\d+\] ?"),
    ("[Contro", "broker", r"\[Controller(?:Server id=| id=| )\d+\] ?"),
    ("[Socket", "broker", r"\[SocketServer listenerType=CONTROLLER, nodeId=\d+\] ?"),
    ("[Topic ", "broker", r"\[Topic Deletion Manager \d+\],? ?"),
    ("[Replic", "broker", r"\[ReplicaManager broker=(?P<broker>\d+)\] ?"),
    ("[Partit", "broker", r"\[Partition (?P<partition>\S+) broker=(?P<broker>\d+)\] ?"),
    ("[Consum", "consumer", rf"\[Consumer {_CLIENT}"),
    # People who mask the client id may mask the key before it as well.
    ("[Consum", "consumer", r"\[Consumer [^\s=,\]]{1,200}, groupId=(?P<group>[^\n]*?)\](?: |$)"),
    ("[ShareC", "share", rf"\[ShareConsumer {_CLIENT}"),
    ("[Worker", "connect", rf"\[Worker {_CLIENT}"),
    ("[Schema", "schema-registry", rf"\[Schema registry {_CLIENT}"),
    ("[Produc", None, r"\[Producer clientId=(?P<client_id>(?:(?!, transactionalId=)[^\n\]])*+)[^\n\]]*+\] ?"),
    ("[AdminC", None, r"\[AdminClient clientId=(?P<client_id>[^\n]*?)\] ?"),
    ("[Stream", "streams", r"\[StreamsKafkaClient clientId=(?P<client_id>[^\n]*?)\] ?"),
    ("[Heartb", None, r"\[Heartbeat groupID=(?P<group>[^\n]*?)\] ?"),
    ("stream-", "streams", r"stream-thread \[(?P<thread>[^\n\]]*)\] ?"),
    ("stream-", "streams", r"stream-client \[(?P<client>[^\n\]]*)\] ?"),
    ("stream-", "streams", r"stream-task \[(?P<task>[^\n\]]*)\] ?"),
    ("standby", "streams", r"standby-task \[(?P<task>[^\n\]]*)\] ?"),
    ("global-", "streams", r"global-stream-thread \[(?P<thread>[^\n\]]*)\] ?"),
    ("state-u", "streams", r"state-updater \[(?P<thread>[^\n\]]*)\] ?"),
    ("task [", "streams", r"task \[(?P<task>[^\n\]]*)\] ?"),
    ("topolog", "streams", r"topology-name \[[^\n\]]*\] ?"),
)
# Connect's context in front of every message of a connector and its clients ([sink|task-0], [sink|worker]).
_CONNECT_CONTEXT = regex.compile(r"\[(?P<task>[^\]\[|\n]+\|(?:worker|task-\d+(?:\|offsets)?))\] ?")
# ruby-kafka's tag: the group and the partitions of each topic, abbreviated if there are more than five.
_RUBY = regex.compile(r"\[\[(?P<group>[^\]\n]+)\] \{[^}\n]*\}:\] ")
# librdkafka's facility, client (`client.id#consumer-1`: the number distinguishes those of one process), thread and, on
# connections, broker.
_RDKAFKA = regex.compile(
    r"[A-Z][A-Z0-9_]{2,} \[(?P<thread>(?P<client_id>[^\]\n]*?)#(?:consumer|producer)-\d+)\] "
    r"(?:\[thrd:[^\]\n]*\]: )?(?:\S+/(?:(?P<node>\d+)|-\d+|bootstrap): )?"
)
# The same after what a program prints before the thread: rdkafka-ruby its name, others the fields of the event.
_RDKAFKA_THREAD = regex.compile(
    r"(?:[^\n#]{0,160}?(?<![\w.-])(?P<thread>(?P<client_id>[\w.-]{1,250})#(?:consumer|producer)-\d+)\b)?"
    r"[^\n\[]{0,120}+\[thrd:[^\]\n]*\]: (?:\S+/(?:(?P<node>\d+)|-\d+|bootstrap): )?"
)
# Quarkus puts the values of its diagnostic context between the thread and the message, and SmallRye numbers each.
_SMALLRYE = regex.compile(r"[^\n:]{1,200}? (?=SRMSG18\d{3}: )")
_UNKNOWN = regex.compile(r"\[[^\]\n]{1,200}\]:? ")
_INTEGERS = frozenset({"broker", "offsets_partition", "node"})
_LONGEST_INTEGER = len(str(-(2**31)))
_KIND = regex.compile(r"\[?([A-Za-z-]+)")
_MOST = 6
_NOTHING_SAID: Mapping[str, FieldValue] = {}
_SPEAKERS_OF_NOTHING_SAID: dict[Role, SpeakerWords] = {}


def _by_opening() -> dict[str, tuple[tuple[Role | None, regex.Pattern[str]], ...]]:
    table: dict[str, list[tuple[Role | None, regex.Pattern[str]]]] = {}
    for opening, role, source in _SPEAKERS:
        table.setdefault(opening[:6], []).append((role, regex.compile(source)))
    return {opening: tuple(programs) for opening, programs in table.items()}


_OPENINGS = _by_opening()
OPENINGS = ("[", "stream-", "standby-task [", "global-stream-thread [", "state-updater [", "task [", "topology-name [")
"""How a template starts that spells out a prefix."""


def peel(message: str) -> Peeled:
    """Remove every known prefix, outermost first; an unknown one stays."""
    outermost = _first(message)
    if outermost is None:
        return Peeled((message,), _NOTHING_SAID, None, None, (), _SPEAKERS_OF_NOTHING_SAID)
    rest = message[len(outermost.text) :]
    inner = _first(rest)
    if inner is None:
        alone = outermost
        return Peeled((message, rest), alone.words, alone.role, alone.kind, (alone.text,), alone.speakers)
    return _peeled_on(message, rest, outermost, inner)


def _peeled_on(message: str, rest: str, outermost: _Found, inner: _Found) -> Peeled:
    """Peel a message with more than one prefix."""
    stages: list[str] = [message, rest]
    prefixes = [outermost.text]
    words, role, kind = dict(outermost.words), outermost.role, outermost.kind
    found: _Found | None = inner
    while found is not None:
        words |= found.words
        role, kind = found.role or role, found.kind
        prefixes.append(found.text)
        rest = rest[len(found.text) :]
        stages.append(rest)
        found = _first(rest) if len(stages) <= _MOST else None
    return Peeled(tuple(stages), words, role, kind, tuple(prefixes))


_CUT_CLIENT = regex.compile(
    r"\[(?P<kind>Consumer|ShareConsumer|Worker) (?:instanceId=(?P<instance_id>[^\],\n]*), )?clientId="
    r"(?:(?P<client_id>[^\],\n]*), [^\]\n]*|[^\],\n]*)\Z"
)
_ROLE_OF_CLIENT: Mapping[str, Role] = {"Consumer": "consumer", "ShareConsumer": "share", "Worker": "connect"}


def peel_cut(head: str) -> Peeled | None:
    """The truncated prefix of a client: it names the client if the id is complete, never the group."""
    match = _CUT_CLIENT.match(head)
    if match is None:
        return None
    words = {name: match[name] for name in ("client_id", "instance_id") if match[name]}
    return Peeled(("",), words, _ROLE_OF_CLIENT[match["kind"]], match["kind"])


def without_unknown(message: str) -> str | None:
    """The message without an unknown bracketed prefix, if it starts with one."""
    match = _UNKNOWN.match(message)
    return message[match.end() :] if match else None


class _Found(Struct, frozen=True):
    text: str
    words: Mapping[str, FieldValue]
    role: Role | None
    kind: str
    speakers: dict[Role, SpeakerWords] = {}
    """As in Peeled: the same prefix appears in line after line."""


def _first(message: str) -> _Found | None:
    if message[:6] in _OPENINGS:
        # Prefixes repeat line after line: cache them by their text up to the blank that ends them.
        end = message.find("]")
        end = message.find(" ", end) + 1 if end > 0 else 0
        return (_known(message[:end]) if end > 1 else None) or _search(message)
    if message[:1] == "[":
        if message.startswith("[[") and (match := _RUBY.match(message)):
            return _Found(match[0], {"group": match["group"]}, "other", "ruby-kafka")
        if match := _CONNECT_CONTEXT.match(message):
            return _Found(match[0], {"task": match["task"]}, "connect", "connector")
    if "#" not in message and "[thrd:" not in message and "SRMSG18" not in message:
        return None
    if message.find("SRMSG18", 1, 200) > 0 and (match := _SMALLRYE.match(message)):
        return _Found(match[0], {}, None, "smallrye")
    if message.find("#", 0, 160) >= 0 and (match := _RDKAFKA.match(message)):
        return _Found(match[0], _words(match.groupdict()), "other", "librdkafka")
    if message.find("[thrd:", 0, 200) >= 0 and (match := _RDKAFKA_THREAD.match(message)):
        return _Found(match[0], _words(match.groupdict()), "other", "librdkafka")
    return None


@lru_cache(maxsize=4096)
def _known(head: str) -> _Found | None:
    return _search(head)


def _search(message: str) -> _Found | None:
    for role, program in _OPENINGS[message[:6]]:
        if match := program.match(message):
            kind = _KIND.match(message)
            return _Found(match[0], _words(match.groupdict()), role, kind[1] if kind else "")
    return None


def _words(groups: Mapping[str, str | None]) -> Mapping[str, FieldValue]:
    words = {name: text for name, text in groups.items() if text is not None and text != "null"}
    return {
        name: int(text) if name in _INTEGERS else text
        for name, text in words.items()
        if name not in _INTEGERS or len(text) <= _LONGEST_INTEGER
    }


_WORDS = frozenset(SpeakerWords.__struct_fields__) - {"role"}


def speaker_of(peeled: Peeled, role: Role, words: Mapping[str, FieldValue] | None = None) -> SpeakerWords:
    """The speaker as the prefixes and the placeholders describe it."""
    if words:
        return _speaker(role, tuple(word for word in {**peeled.fields, **words}.items() if word[0] in _WORDS))
    if (known := peeled.speakers.get(role)) is None:
        from_prefix = tuple(word for word in peeled.fields.items() if word[0] in _WORDS)
        known = peeled.speakers[role] = _speaker(role, from_prefix)
    return known


@lru_cache(maxsize=4096)
def _speaker(role: Role, words: tuple[tuple[str, FieldValue], ...]) -> SpeakerWords:
    return SpeakerWords(role=role, **dict(words))  # type: ignore[arg-type]  # the table above types each word
