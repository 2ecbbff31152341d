"""The names in ids that Kafka generates: client id, instance, process and thread."""

from __future__ import annotations

import re
from functools import lru_cache

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Addresses that every host has, so that they do not identify one."""
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CLASSIC_MEMBER = re.compile(rf"(?P<name>.+)-{_UUID}")
_FIRST_OF_A_UUID = r"[0-9a-f]{4,7}|[0-9a-f]{8}(?:-[0-9a-f]{0,4}){0,3}(?:-[0-9a-f]{0,12})?"
_CUT_MEMBER = re.compile(rf"(?P<name>.+?)-(?P<letters>{_FIRST_OF_A_UUID})\u2026")
_STREAM_THREAD = re.compile(
    r"(?P<client>.+)-(?:StreamThread|StateUpdater)-"
    r"(?:(?P<number>\d+)(?:-(?:restore-|global-)?consumer)?(?:-(?s:.*))?|\u2026)"
)
_THREAD_CUT_OFF = "-StreamThread-\u2026"
_ANYBODYS = re.compile(
    r"rdkafka|sarama|kgo|kafkajs|kafka-go.*|(?:aio)?kafka-python-.*|aiokafka-.*|segmentio@.*"
    # ruby-kafka and what stands on it, kafka-node, and programs that name their client after themselves.
    r"|ruby-kafka|racecar|karafka|kafka-node-client|faust-\d.*"
    r"|telegraf|logstash(?:-\d+)?|filebeat|beats|benthos|redpanda-connect",
    re.IGNORECASE,
)
# `consumer-{number}`, in newer releases `consumer-{group.id}-{number}` (ConsumerConfig.maybeOverrideClientId).
_COUNTED_IN_JVM = re.compile(rf"consumer-(?:.+-)?(?P<number>\d+)-{_UUID}")
_ERLANG_PROCESS = re.compile(r"<\d+\.\d+\.\d+>")
_HANDLE = re.compile(r".*#(?P<kind>consumer|producer)-\d+")
"""The handle of a librdkafka client within its process: `rdkafka#consumer-1`."""
_RANDOM_ID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
# Found sooner: it begins with a character that few texts have.
_INSIDE_AN_ID = re.compile(r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-")
_PARTITION = re.compile(r"(.+)-(\d{1,9})")
_BARE_ID = re.compile(rf"[A-Za-z0-9_+/-]{{22}}|{_UUID}")


@lru_cache(maxsize=1 << 14)
def name_in_member_id(member_id: str) -> str | None:
    """The client id or instance id that a classic member id starts with; None for KIP-848 ids."""
    # GroupCoordinator.scala and ClassicGroup build {group.instance.id or client.id}-{uuid}. Of an id that was cut, and
    # ends with an ellipsis, some of the uuid is there, or it is that of a thread whose number was cut off (thread_of).
    if member_id.endswith(_THREAD_CUT_OFF):
        return member_id
    found = _CLASSIC_MEMBER.fullmatch(member_id) or _CUT_MEMBER.fullmatch(member_id)
    return found["name"] if found else None


@lru_cache(maxsize=1 << 12)
def topic_and_number(partition: str) -> tuple[str, int | None]:
    """`("orders", 3)` of `orders-3`; what is no topic with a number, such as a connector, as it is and None."""
    found = _PARTITION.fullmatch(partition)
    return (found[1], int(found[2])) if found else (partition, None)


def topic_of(partition: str) -> str:
    """The topic of a partition: `orders` for `orders-3`."""
    return topic_and_number(partition)[0]


def broker_name(broker: int | str | None) -> str:
    """The name of a broker in reports: `broker-2`, or an address if the client logs no id, like KafkaJS."""
    return "another broker" if broker is None else f"broker-{broker}"


def with_short_ids(text: str) -> str:
    """Write `shop-1b4e28ba…` for a name with a random id in it: eight digits tell the members of a group apart."""
    return _RANDOM_ID.sub(r"\1…", text) if _INSIDE_AN_ID.search(text) else text


def erlang_process(name: str) -> str | None:
    """The Erlang process in a name (`<0.277.0>`, of Elixir `#PID<0.277.0>`): one for each of brod's group members."""
    found = _ERLANG_PROCESS.search(name)
    return found[0] if found else None


def librdkafka_handle(thread: str | None) -> re.Match[str] | None:
    """The handle of a librdkafka client that stands for the thread of its lines, and its `kind`."""
    return _HANDLE.fullmatch(thread or "")


def letters_of_its_own(member_id: str) -> str:
    """The part of the uuid in a classic member id, which may be truncated; empty if there is none."""
    found = _CLASSIC_MEMBER.fullmatch(member_id) or _CUT_MEMBER.fullmatch(member_id)
    return member_id.removesuffix("\u2026")[len(found["name"]) + 1 :] if found else ""


@lru_cache(maxsize=1 << 14)
def is_bare_member_id(member_id: str) -> bool:
    """True for ids without a name: base64 uuids (KIP-848, -932, -1071; librdkafka's have `+` and `/`), plain uuids."""
    return bool(_BARE_ID.fullmatch(member_id))


def has_unique_suffix(member_id: str) -> bool:
    """True for an id with its random part; if a person redacted it, all members have the same one."""
    return name_in_member_id(member_id) is not None or is_bare_member_id(member_id)


@lru_cache(maxsize=1 << 14)
def is_counted_client_id(client_id: str, group: str) -> bool:
    """True for the default client id of a consumer without client.id, which contains a counter of the process."""
    # consumer-{group}-{n}, consumer-{n} before 2.4 (ConsumerConfig, KafkaConsumer).
    return bool(re.fullmatch(rf"consumer-(?:{re.escape(group)}-)?\d+", client_id))


@lru_cache(maxsize=1 << 14)
def is_default_client_id(client_id: str) -> bool:
    """True for a default client id of a library, which does not identify a process."""
    return bool(_ANYBODYS.fullmatch(client_id))


def number_in_jvm(member_id: str) -> int | None:
    """The number in the client id of a Java consumer without client.id, which is unique in its JVM; else None."""
    found = _COUNTED_IN_JVM.fullmatch(member_id)
    return int(found["number"]) if found else None


@lru_cache(maxsize=1 << 14)
def streams_client(client_id: str) -> str | None:
    """The Streams client (process) in a thread's name or consumer client id; None for other names."""
    found = _STREAM_THREAD.fullmatch(client_id)
    return found["client"] if found else None


@lru_cache(maxsize=1 << 14)
def streams_thread(client_id: str) -> str | None:
    """`app-uuid-StreamThread-1` of a thread's name, its consumer's client id or its member id."""
    found = re.match(r"(.+-StreamThread-\d+)(?![\d])", client_id)
    return found[1] if found else None


def thread_of(client: str) -> str:
    """A placeholder for the ids of a thread of this Streams client whose number was cut off in a paste."""
    return client + _THREAD_CUT_OFF


def is_thread_cut_off(client_id: str) -> bool:
    """True for such a placeholder."""
    return client_id.endswith(_THREAD_CUT_OFF)


def process_of_streams_client(client: str) -> str | None:
    """The uuid at the end of a generated Streams client id."""
    found = re.fullmatch(rf"(?:.+-)?({_UUID})", client)
    return found[1] if found else None


def application_of(client: str) -> str:
    """The application.id in the name of a Streams client without client.id (`{application.id}-{uuid}`), else empty."""
    process = process_of_streams_client(client)
    return client.removesuffix(process).removesuffix("-") if process is not None else ""
