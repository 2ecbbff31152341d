"""The fields that all events share."""

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
"""Member (or worker, or process) -> its assignment, sorted by member."""

Role = Literal["broker", "consumer", "streams", "connect", "schema-registry", "share", "other", "unknown"]
CLIENT_ROLES = frozenset({"consumer", "streams", "connect", "schema-registry", "share"})
"""The roles that use Kafka's own client."""


class Speaker(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The process that logged a line, from its log prefix, its thread and its file.

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
    """The process id, if the layout prints it."""
    component: str | None = None
    """Simple name of the logging class (`ConsumerCoordinator`), if the layout prints it."""
    place: str | None = None
    """Distinguishes its process from others on the same host, once known (timeline/identity)."""


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """What one log line reports. Each type of event is a direct subclass with the fields of its lines.

    `at` is None if the log has no time. `group` is None if the line names none: such an event is attributed to the
    groups that it concerns (timeline/group_attribution.py). `text` is the first line of the record (and the line of its
    stack trace that names the exception), `pattern` the id of the matching pattern.
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
    """Why neither timeline nor diagnosis reads this type; None if one of them does (tests/architecture)."""
    errors_unread: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The error codes that no rule distinguishes from others, each with the reason."""


def in_common(event: Event) -> dict[str, Any]:
    """The fields that an event shares with all others, for an event of another type on the same line."""
    return {name: getattr(event, name) for name in Event.__struct_fields__}


def own_fields(event: Event) -> dict[str, Any]:
    """The fields of an event's own type."""
    kind: Any = type(event)
    return {name: getattr(event, name) for name in own_names(kind)}


@cache
def own_names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - a class; mypy does not hash type[Event]
    """The names of the fields that only this type of event has."""
    return tuple(name for name in kind.__struct_fields__ if name not in Event.__struct_fields__)


_MEMBER_FIELDS = ("member", "old_member", "leader", "new_leader")


def member_ids_in(event: Event) -> list[str]:
    """The member ids in a line, except the current owner of a fenced instance id, which has lines of its own."""
    single, members, assignment = _fields_with_ids(type(event))
    found = [member for name in single if (member := getattr(event, name))]
    if members:
        found += event.members  # type: ignore[attr-defined]  # its type has the field
    if assignment:
        found += [member for member, _ in event.assignment]  # type: ignore[attr-defined]
    return found


@cache
def _fields_with_ids(kind: type[Event]) -> tuple[tuple[str, ...], bool, bool]:
    """The fields of an event type that hold a member id; whether it has `members`, and an `assignment`."""
    fields = kind.__struct_fields__
    return tuple(name for name in _MEMBER_FIELDS if name in fields), "members" in fields, "assignment" in fields
