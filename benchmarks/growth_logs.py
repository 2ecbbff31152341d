"""Logs that grow in one dimension each: a line with many members, long names, many groups, a hostile line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

NAME_BYTES = 32
"""Bytes of a name per unit of size, so that a size of 32 000 is a name of 1 MB."""

_COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
_CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
_STREAMS = "org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor"
_START = datetime(2026, 11, 21, 2, tzinfo=UTC)
_SECOND = 1000
_MINUTE = 60 * _SECOND
HOUR = 60 * _MINUTE


def _line(at: int, message: str, logger: str = _COORDINATOR) -> str:
    time = _START + timedelta(milliseconds=at)
    return f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}] INFO {message} ({logger})\n"


def _consumer(at: int, message: str, client: str = "c-1") -> str:
    return _line(at, f"[Consumer clientId={client}, groupId=payments] {message}", _CONSUMER)


def _streams(at: int, message: str) -> str:
    return _line(at, f"stream-thread [app-1-StreamThread-1-consumer] {message}", _STREAMS)


def _opened(at: int, generation: int, reason: str, group: str = "payments") -> str:
    return _line(
        at,
        f"[GroupCoordinator 1]: Preparing to rebalance group {group} in state PreparingRebalance with old generation "
        f"{generation} (__consumer_offsets-13) (reason: {reason})",
    )


def _stabilized(at: int, generation: int, group: str = "payments") -> str:
    said = f"Stabilized group {group} generation {generation} (__consumer_offsets-13) with 2 members"
    return _line(at, f"[GroupCoordinator 1]: {said}")


def _incident(group: str = "payments", member: str = "c-1-77aa") -> str:
    """Three evictions, so that the report has an incident."""
    return "".join(
        _opened(at, generation - 1, f"Adding new member {member} with group instance id None", group)
        + _stabilized(at + 3 * _SECOND, generation, group)
        + _line(
            at + 33 * _SECOND,
            f"[GroupCoordinator 1]: Member {member} in group {group} has failed, removing it from the group",
        )
        for generation, at in ((1, _MINUTE), (2, 2 * _MINUTE), (3, 3 * _MINUTE))
    )


def _member(number: int) -> str:
    return f"consumer-payments-{number}-{number:08x}-aaaa-bbbb-cccc-{number:012x}"


def _each(size: int, text: Callable[[int], str]) -> str:
    return ", ".join(map(text, range(size)))


def _name(size: int, piece: str) -> str:
    return piece * (size * NAME_BYTES // len(piece))


def _incidental() -> str:
    """Ordinary JSON lines that precede the growing line."""
    return "".join(_json({}, number) for number in range(20))


def _nested(depth: int) -> object:
    return json.loads("[" * depth + "]" * depth)


def _joined_anew(number: int) -> str:
    """A static member subscribes and joins; its session expires, which the client does not log."""
    at, member = number * _MINUTE, f"i-1-{number:08x}"
    return (
        _consumer(at, "Subscribed to topic(s): orders")
        + _consumer(at + 10, "(Re-)joining group")
        + _opened(at + 20, number, f"Adding new member {member} with group instance id Some(i-1)")
        + _stabilized(at + 30, number + 1)
        + _line(
            at + 40 * _SECOND,
            f"[GroupCoordinator 1]: Member {member} in group payments has failed, removing it from the group",
        )
    )


def evicted(number: int, at: int, client: str, newcomer: str = "") -> str:
    """A member stops sending heartbeats, is evicted, and returns with another member id, or another client joins."""
    lives = (client, number), (newcomer or client, number + 1)
    member, next_id = (f"{name}-{life:08x}-aaaa-bbbb-cccc-{life:012x}" for name, life in lives)
    joins = (
        "Dynamic member with unknown member id joins group payments in PreparingRebalance state. Created a new member "
        f"id {next_id} and request the member to rejoin with this id."
    )
    return (
        _line(at, f"[GroupCoordinator 1]: Member {member} in group payments has failed, removing it from the group")
        + _opened(at + 1, number, f"removing member {member} on heartbeat expiration")
        + _line(at + 2 * _SECOND, f"[GroupCoordinator 1]: {joins}")
        + _stabilized(at + 3 * _SECOND, number + 1)
    )


def _generation(client: str, number: int, at: int) -> str:
    """A rebalance in the log of one member."""
    known = f"generationId={number}, memberId='{client}-7f-aaaa', protocol='range'"
    return "".join(
        _consumer(at + after, text, client)
        for after, text in (
            (0, "Request joining group due to: group is already rebalancing"),
            (5, f"Revoke previously assigned partitions {client}-0"),
            (9, "(Re-)joining group"),
            (2_000, f"Successfully joined group with generation Generation{{{known}}}"),
            (2_030, f"Successfully synced group in generation Generation{{{known}}}"),
            (2_031, f"Adding newly assigned partitions: {client}-0"),
        )
    )


def _connection_lost(number: int) -> str:
    at, cause = number * 10 * _SECOND, ("disconnected.", "(b2:9092) could not be established.")[number % 2]
    text = f"Node 2 {cause}" if number % 2 == 0 else f"Connection to node 2 {cause} Node may not be available."
    return _line(at, f"[Producer clientId=p-{number % 5}] {text}", "org.apache.kafka.clients.NetworkClient")


def _restarted(number: int) -> str:
    """Another broker hands a partition over and gets it back."""
    at = number * _MINUTE
    return (
        _line(at, "[Controller id=1] Broker failure callback for 2", "kafka.controller.KafkaController")
        + _line(at + 5, f"[GroupCoordinator 1]: Elected as the group coordinator for partition 7 in epoch {2 * number}")
        + _line(
            at + 9 * _SECOND, "[Controller id=1] New broker startup callback for 2", "kafka.controller.KafkaController"
        )
        + _line(
            at + 10 * _SECOND,
            f"[GroupCoordinator 1]: Resigned as the group coordinator for partition 7 in epoch Some({2 * number + 1})",
        )
    )


_VERSION = _line(0, "Kafka version: 3.9.0", "org.apache.kafka.common.utils.AppInfoParser")
_LATER = 4 * _MINUTE

Logs = str | Mapping[str, str]
"""The text of a server.log, or texts by file name."""

GROWING: Mapping[str, Callable[[int], Logs]] = {
    "members in a leader's assignment": lambda size: (
        _incident()
        + _consumer(
            _LATER,
            "Finished assignment for group at generation 5: {"
            + _each(size, lambda n: f"{_member(n)}=Assignment(partitions=[orders-{n}])")
            + "}",
        )
    ),
    "members leaving in one request": lambda size: (
        _incident() + _opened(_LATER, 3, f"explicit `LeaveGroup` request for ({_each(size, _member)}) members.")
    ),
    "partitions of a KIP-848 member": lambda size: (
        _incident()
        + _line(
            _LATER,
            "[GroupId payments] Member m-1 new assignment state: epoch=2, previousEpoch=1, state=STABLE, "
            f"assignedPartitions=[{_each(size, 'Jv9RXmTEQOyCQYp3l3Dq4g:orders-{}'.format)}] and revokedPartitions=[].",
            "org.apache.kafka.coordinator.group.GroupMetadataManager",
        )
    ),
    "clients in a Streams assignment": lambda size: (
        _incident()
        + _streams(
            _LATER,
            "Assignment of tasks to nodes: "
            + "\n".join(f"p-{n}=[activeTasks: ([0_{n}]) standbyTasks: ([])]" for n in range(size)),
        )
    ),
    "connectors of a Connect worker": lambda size: (
        _incident()
        + _line(
            _LATER,
            "[Worker clientId=connect-1, groupId=connect] Joined group at generation 4 with protocol version 2 and got "
            "assignment: Assignment{error=0, leader='connect-1-77aa', leaderUrl='http://a:8083/', offset=5, "
            f"connectorIds=[{_each(size, 'c{}'.format)}], taskIds=[{_each(size, 'c{}-0'.format)}], "
            "revokedConnectorIds=[], revokedTaskIds=[], delay=0} with rebalance delay: 0",
            "org.apache.kafka.connect.runtime.distributed.DistributedHerder",
        )
    ),
    "length of a group id": lambda size: _incident(group=_name(size, "g-")),
    "length of a member id": lambda size: _incident(member=_name(size, "m)(")),
    "length of a topic": lambda size: (
        _incident() + _consumer(_LATER, f"Adding newly assigned partitions: {_name(size, 't-')}-1")
    ),
    "length of a host": lambda size: (
        _incident()
        + _consumer(_LATER, f"Discovered group coordinator {_name(size, 'h-')}:9092 (id: 2147483646 rack: null)")
    ),
    "length of a reason": lambda size: (
        _incident() + _opened(_LATER, 3, f"Removing member c-1 on LeaveGroup; client reason: {_name(size, ') (')}")
    ),
    "blanks in a line": lambda size: _incident() + _line(_LATER, f"[GroupCoordinator 1]: {_name(size, ' ')}x"),
    "words of a template in a line": lambda size: (
        _incident()
        + _line(_LATER, f"[GroupCoordinator 1]: Preparing to rebalance group {_name(size, 'a in state b ')}x")
    ),
    "lines of a stack trace": lambda size: (
        _incident() + _consumer(_LATER, "Offset commit failed\nx.Y: z\n" + "\tat a.b.Foo.bar(Foo.java)\n" * size)
    ),
    "fields of a JSON line": lambda size: _incidental() + _json({f"k{n}": f"v{n}" for n in range(size)}),
    "depth of a JSON line": lambda size: _incidental() + _json({"a": _nested(size // 64 + 1)}),
    "JSON lines": lambda size: "".join(_json({}, number) for number in range(size)),
    "groups": lambda size: "".join(
        _line(n * 10, f"[GroupCoordinator 1]: Member c-{n} in group g-{n} has failed, removing it from the group")
        for n in range(size)
    ),
    "members of a group": lambda size: "".join(
        _opened(number * 20, number, f"Adding new member {_member(number)} with group instance id None")
        for number in range(size)
    ),
    "generations of a group": lambda size: "".join(
        _opened(number * 3 * _SECOND, number, f"removing member {_member(number)} on heartbeat expiration")
        + _stabilized(number * 3 * _SECOND + _SECOND, number + 1)
        for number in range(size)
    ),
    "evictions of a member": lambda size: "".join(evicted(n, n * _MINUTE, "c-1") for n in range(size)),
    "members that come and go": lambda size: "".join(evicted(n, n * _MINUTE, f"c-{n}") for n in range(size)),
    "members replaced within a minute": lambda size: "".join(
        evicted(n, n * _MINUTE // size, f"c-{n}", f"d-{n}") for n in range(size)
    ),
    "incidents hours apart": lambda size: "".join(evicted(n, n * HOUR, f"c-{n % 3}") for n in range(size)),
    "restarts of another broker": lambda size: _incident() + "".join(map(_restarted, range(size))),
    "connections that its process loses": lambda size: {
        "c-1/app.log": _generation("c-1", 1, 0) + "".join(map(_connection_lost, range(size))),
        "c-2/app.log": _generation("c-2", 1, 0),
    },
    "members with a log each": lambda size: {
        f"c-{n}/app.log": "".join(_generation(f"c-{n}", g, g * _MINUTE + n) for g in range(1, 4)) for n in range(size)
    },
    "files of a rolled log": lambda size: {
        f"c-1/app.log.{size - n}": _generation("c-1", n, n * _MINUTE) + _generation("c-2", n, n * _MINUTE + 3)
        for n in range(1, size)
    },
    "times that a client joins anew": lambda size: _VERSION + "".join(map(_joined_anew, range(size))),
}
"""What grows -> a function that returns logs of a given size."""


def write_growing(directory: Path, what: str, size: int) -> Path:
    """Write the logs of a size to a new directory."""
    logs = GROWING[what](size)
    place = directory / what / str(size)
    for name, text in {"server.log": logs}.items() if isinstance(logs, str) else logs.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def _json(fields: Mapping[str, object], number: int = 0) -> str:
    line = {
        "timestamp": f"2026-11-21T02:{number // 60 % 60:02}:{number % 60:02}.000Z",
        "level": "INFO",
        **fields,
        "logger": _CONSUMER,
        "message": f"[Consumer clientId=c-{number}, groupId=payments] Adding newly assigned partitions: o-{number}",
    }
    return json.dumps(line) + "\n"
