"""Turns the values of a template's placeholders into fields of its event; the conversions are chosen once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from sys import intern
from typing import Any, NamedTuple, cast, get_args

from rebalance_forensics.catalog.compiled_catalog import Entry
from rebalance_forensics.catalog.contenders import Rivals
from rebalance_forensics.catalog.field_types import FieldType
from rebalance_forensics.catalog.fields import SPEAKER_FIELDS, FieldError, FieldValue, Hint, own_fields
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.prefixes import Peeled, speaker_of
from rebalance_forensics.catalog.program import IGNORED, Groups, Types, type_named
from rebalance_forensics.events.base import Role

_ROLES = frozenset(get_args(Role))
_ROLE_OF_FOLDER: Mapping[str, Role] = {"schema-registry": "schema-registry", "client": "unknown", "process": "unknown"}
_GROUP = "group"


class _Slot(NamedTuple):
    """A placeholder and the field it fills; `read` is None if the text is the value."""

    at: int
    read: Callable[[Any], FieldValue] | None
    name: str
    hint: Hint | None
    exact: type | None
    """A value of this type needs no conversion."""


class _Composite(NamedTuple):
    """A placeholder that fills several fields."""

    at: int
    read: Callable[[str], FieldValue | dict[str, FieldValue]]
    name: str


class Filling:
    """Fills the fields of a template's event."""

    def __init__(self, entry: Entry, types: Types) -> None:
        self.entry = entry
        self.rivals: Rivals | None = None
        """The templates that may win against it; computed on demand."""
        self._types = types
        self._hints, self._needed = own_fields(entry.event) if entry.event else ({}, frozenset())
        self._role = _role(entry.pattern)
        self._constants = self._own(entry.program.constants)
        self._slots: list[_Slot] = []
        self._composites: list[_Composite] = []
        for at, (name, kind) in enumerate(entry.program.placeholders):
            self._take(at, name, type_named(kind, types))
        self._prefix_fields = frozenset(self._hints) | {"offsets_partition"}
        """The names by which a prefix may set a field of the event."""
        unused_constants = entry.program.constants.keys() - self._hints.keys()
        self._is_plain = entry.event is not None and unused_constants.isdisjoint(SPEAKER_FIELDS | {_GROUP})

    def match(self, groups: Groups, peeled: Peeled) -> Match | None:
        """The match with these values; None if one of them cannot be read or a required field is missing."""
        if not self._is_plain or not self._prefix_fields.isdisjoint(peeled.fields):
            fields = self.entry.program.filled(groups, self._types)
            return None if fields is None else self.matched(fields, peeled)
        try:
            return self._filled(groups, peeled)
        except ValueError:
            return None

    def matched(self, fields: Mapping[str, FieldValue], peeled: Peeled) -> Match | None:
        """A match from named fields; the prefix fills missing ones."""
        prefix = peeled.fields
        all_fields = fields
        if not self._hints.keys().isdisjoint(prefix):
            all_fields = {**prefix, **fields}
        if "offsets_partition" in prefix:
            all_fields = {"partition": prefix["offsets_partition"], **all_fields}
        return self._match(self._own(all_fields), fields, peeled)

    def _take(self, at: int, name: str, kind: FieldType) -> None:
        """Register the field that a placeholder fills."""
        hint = self._hints.get(name)
        if kind.composite:
            self._composites.append(_Composite(at, kind.read, name))
        if name != IGNORED or (kind.read is not str and not kind.composite):
            read = None if kind.composite or kind.read is str else cast("Callable[[Any], FieldValue]", kind.read)
            self._slots.append(_Slot(at, read, name, hint, hint.exact if hint else None))

    def _filled(self, groups: Groups, peeled: Peeled) -> Match | None:
        """The match of a text's groups; a placeholder of its own takes precedence over a value inside another one."""
        own = self._constants.copy()
        other: dict[str, FieldValue] = {}
        values: Sequence[FieldValue] = self._inside(groups, own, other) if self._composites else groups
        for at, read, name, hint, exact in self._slots:
            value = values[at]
            if value is None and groups[at] is None:
                continue
            if read is not None:
                value = read(value)
            if hint is None:
                other[name] = value
            elif type(value) is exact:
                own[name] = value
            else:
                self._put(name, value, own, other)
        return self._match(own, other, peeled)

    def _inside(self, groups: Groups, own: dict[str, FieldValue], other: dict[str, FieldValue]) -> list[FieldValue]:
        """The values of the placeholders; the fields inside composite ones are put in place."""
        values: list[FieldValue] = [*groups]
        for at, read, placeholder in self._composites:
            if (text := groups[at]) is None:
                continue
            inside = read(text)
            if not isinstance(inside, dict):
                values[at] = inside
                continue
            values[at] = inside.get(placeholder, text)
            for name, value in inside.items():
                self._put(name, value, own, other)
        return values

    def _put(self, name: str, value: FieldValue, own: dict[str, FieldValue], other: dict[str, FieldValue]) -> None:
        """Put a value among the event's own fields, converted to their type, or among the others."""
        hint = self._hints.get(name)
        if hint is None:
            other[name] = value
            return
        try:
            typed = value if value is None or type(value) is hint.exact else hint.coerced(value)
        except FieldError:
            typed = None
        if typed is not None:
            own[name] = typed
        else:
            own.pop(name, None)
            other[name] = value

    def _own(self, fields: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
        """The event's own fields, typed."""
        own: dict[str, FieldValue] = {}
        for name, value in fields.items():
            self._put(name, value, own, {})
        return own

    def _match(self, own: dict[str, FieldValue], others: Mapping[str, FieldValue], peeled: Peeled) -> Match | None:
        """The match of the event's own fields and the others; None if a required field is missing."""
        if not self._needed <= own.keys():
            return None
        words: dict[str, FieldValue] | None = None
        if others and not SPEAKER_FIELDS.isdisjoint(others):
            names = SPEAKER_FIELDS & others.keys() - own.keys()
            words = {name: value for name in names if (value := others[name]) not in (None, "")}
        entry = self.entry
        group = (others and others.get(_GROUP)) or (peeled.fields and peeled.fields.get(_GROUP))
        return Match(
            pattern=entry.pattern,
            event=entry.event,
            fields=own if entry.event else dict(others),
            group=intern(str(group)) if group else None,  # one object for all lines of a group
            speaker=speaker_of(peeled, peeled.role or self._role, words),
            weight=entry.weight,
            spells_prefix=entry.spells_prefix or peeled.kind is not None,
            since=entry.releases[0] if entry.releases is not None else None,
        )


@cache
def _role(pattern: str) -> Role:
    folder = pattern.partition("/")[0]
    known: Role = folder if folder in _ROLES else "other"  # type: ignore[assignment]  # checked against Role's own words
    return _ROLE_OF_FOLDER.get(folder, known)
