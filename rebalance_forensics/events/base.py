"""What every event carries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from msgspec import Struct

from rebalance_forensics.records import EpochMs, Origin

Pairs = tuple[tuple[str, str], ...]
"""A mapping as sorted pairs, so that an event stays hashable."""

Assignment = tuple[tuple[str, tuple[str, ...]], ...]
"""member (or worker, or process) -> what it was given, sorted by member."""

Role = Literal["broker", "consumer", "streams", "connect", "schema-registry", "share", "other", "unknown"]
CLIENT_ROLES = frozenset({"consumer", "streams", "connect", "schema-registry", "share"})
"""Of the roles those that work with Kafka's own client."""


class Speaker(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The writer of a line, from its log prefix, its thread and its file.

    `broker` is the broker's id (`[GroupCoordinator id=1 …]`), `client_id` and `instance_id` come from
    `[Consumer instanceId=…, clientId=…, groupId=…]`, `thread` is a Streams thread or the layout's thread,
    `task` is a Streams task (`0_1`) or Connect's `connector|task-0`, `offsets_partition` is the
    `__consumer_offsets` partition in a coordinator prefix. `file` is the path of the log.
    """

    role: Role
    file: str
    host: str | None = None
    broker: int | None = None
    client_id: str | None = None
    instance_id: str | None = None
    thread: str | None = None
    task: str | None = None
    offsets_partition: int | None = None
    pid: int | None = None
    """The process id, where the layout prints it."""
    component: str | None = None
    """Simple name of the logging class (`ConsumerCoordinator`), where the layout prints it."""
    place: str | None = None
    """What sets its process apart from others on the same host, once known (timeline/identity)."""


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """One thing a Kafka process said, typed. Subclasses add what the line tells, and have no subclasses themselves.

    `at` is None when the log has no time. `group` is None when the line names none: such an event
    reaches every group it concerns (timeline/group_attribution.py). `text` is the record's first line (and the one of
    its stack trace that names the exception), `pattern` the catalog id that read it.
    """

    at: EpochMs | None
    zoned: bool
    origin: Origin
    speaker: Speaker
    cluster: str
    group: str | None
    level: str | None
    pattern: str
    text: str

    unread: ClassVar[str | None] = None
    """Why no rule of the timeline or the diagnosis reads this type; None where one does (tests/architecture)."""
    errors_unread: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Of its error codes those that no rule tells from others, each with the reason."""


def in_common(event: Event) -> dict[str, Any]:
    """What an event has in common with every other; another type may hold the rest of the line."""
    return {name: getattr(event, name) for name in Event.__struct_fields__}


def own_fields(event: Event) -> dict[str, Any]:
    """What an event has beyond that."""
    kind: Any = type(event)
    return {name: getattr(event, name) for name in own_names(kind)}


@cache
def own_names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - a class; mypy does not hash type[Event]
    """The fields of a type of event beyond those that all have."""
    return tuple(name for name in kind.__struct_fields__ if name not in Event.__struct_fields__)


_MEMBER_FIELDS = ("member", "old_member", "leader", "new_leader")


def member_ids_in(event: Event) -> list[str]:
    """The member ids in a line, except the current owner in a fencing, which has lines of its own."""
    single, members, assignment = _fields_with_ids(type(event))
    found = [member for name in single if (member := getattr(event, name))]
    if members:
        found += event.members  # type: ignore[attr-defined]  # its type has the field
    if assignment:
        found += [member for member, _ in event.assignment]  # type: ignore[attr-defined]
    return found


@cache
def _fields_with_ids(kind: type[Event]) -> tuple[tuple[str, ...], bool, bool]:
    """The fields of an event type that hold one member id; whether it has `members`, and an `assignment`."""
    fields = kind.__struct_fields__
    return tuple(name for name in _MEMBER_FIELDS if name in fields), "members" in fields, "assignment" in fields
