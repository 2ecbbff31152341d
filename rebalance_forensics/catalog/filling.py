"""What stands in the holes of one template as fields of its event: worked out once, for line after line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, cast, get_args

from rebalance_forensics.catalog.compiled_catalog import Entry
from rebalance_forensics.catalog.fields import SPEAKER_FIELDS, FieldError, FieldValue, Hint, own_fields
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.prefixes import Peeled, speaker_of
from rebalance_forensics.catalog.program import IGNORED, Groups, Types, type_named
from rebalance_forensics.events.base import Role

_ROLES = frozenset(get_args(Role))
_ROLE_OF_FOLDER: Mapping[str, Role] = {"schema-registry": "schema-registry", "client": "unknown", "process": "unknown"}
_GROUP = "group"


class _Slot(NamedTuple):
    """A hole: what reads it, None where its text is its value, and where that goes."""

    read: Callable[[str], FieldValue] | None
    name: str
    hint: Hint | None
    exact: type | None
    """A value of this type needs no more than its name."""


class Filling:
    """Fills the fields of one template's event."""

    def __init__(self, entry: Entry, types: Types) -> None:
        self._entry = entry
        self._types = types
        self._hints, self._needed = own_fields(entry.event) if entry.event else ({}, frozenset())
        self._role = _role(entry.pattern)
        self._slots = self._each_hole()
        self._constants = self._own(entry.program.constants)
        self._of_prefixes = frozenset({*self._hints, "offsets_partition"})
        """What a prefix says that is a field of the event as well."""

    def match(self, text: str, peeled: Peeled, *, loosely: bool = False) -> Match | None:
        """What the template reads in a text; None where the text is not of it, or tells too little."""
        groups = self._entry.program.groups_of(text, loosely=loosely)
        if groups is None:
            return None
        if self._slots is None or not self._of_prefixes.isdisjoint(peeled.said):
            fields = self._entry.program.filled(groups, self._types)
            return None if fields is None else self.matched(fields, peeled)
        try:
            return self._filled(groups, self._slots, peeled)
        except (ValueError, FieldError):
            return None

    def matched(self, fields: Mapping[str, FieldValue], peeled: Peeled) -> Match | None:
        """The same from fields; what a prefix says fills the gaps."""
        said = peeled.said
        told = fields
        if not self._hints.keys().isdisjoint(said):
            told = {**said, **fields}
        if "offsets_partition" in said:
            told = {"partition": said["offsets_partition"], **told}
        own = self._own(told)
        words: dict[str, FieldValue] | None = None
        if not SPEAKER_FIELDS.isdisjoint(fields):
            names = SPEAKER_FIELDS & fields.keys() - own.keys()
            words = {name: value for name in names if (value := fields[name]) not in (None, "")}
        return self._match(own if self._entry.event else dict(fields), fields.get(_GROUP), words, peeled)

    def _each_hole(self) -> tuple[_Slot, ...] | None:
        """Where the value of each hole goes; None where that depends on what stands in one, or is no event's field."""
        said_anyway = self._entry.program.constants.keys() - self._hints.keys()
        if not self._entry.event or not said_anyway.isdisjoint({_GROUP, *SPEAKER_FIELDS}):
            return None
        slots: list[_Slot] = []
        for name, kind in self._entry.program.holes:
            found = type_named(kind, self._types)
            if found.composite:
                return None
            hint = self._hints.get(name)
            read = cast("Callable[[str], FieldValue]", found.read)
            plain = read is str and name != IGNORED
            slots.append(_Slot(None if plain else read, name, hint, hint.exact if hint else None))
        return tuple(slots)

    def _filled(self, groups: Groups, slots: tuple[_Slot, ...], peeled: Peeled) -> Match | None:
        """What the groups of a text tell, each by itself."""
        own = self._constants.copy()
        other: dict[str, FieldValue] = {}
        for (read, name, hint, exact), text in zip(slots, groups, strict=True):
            if text is None:
                continue
            value = text if read is None else read(text)
            if hint is None:
                other[name] = value
            elif type(value) is exact:
                own[name] = value
            elif typed := self._own({name: value}):
                own |= typed
            else:
                own.pop(name, None)
                other[name] = value
        words: dict[str, FieldValue] | None = None
        if not SPEAKER_FIELDS.isdisjoint(other):
            words = {name: value for name, value in other.items() if name in SPEAKER_FIELDS and value not in (None, "")}
        return self._match(own, other.get(_GROUP), words, peeled)

    def _own(self, told: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
        """The event's own fields, typed."""
        own: dict[str, FieldValue] = {}
        for name, value in told.items():
            if value is None or (hint := self._hints.get(name)) is None:
                continue
            if type(value) is hint.exact:
                own[name] = value
                continue
            try:
                own[name] = hint.coerced(value)
            except FieldError:
                continue
        return own

    def _match(
        self,
        own: dict[str, FieldValue],
        group: FieldValue,
        words: Mapping[str, FieldValue] | None,
        peeled: Peeled,
    ) -> Match | None:
        """None where the event cannot be built."""
        if not self._needed <= own.keys():
            return None
        entry = self._entry
        group = group or peeled.said.get(_GROUP)
        return Match(
            pattern=entry.pattern,
            event=entry.event,
            fields=own,
            group=str(group) if group else None,
            speaker=speaker_of(peeled, peeled.role or self._role, words),
            weight=entry.weight,
            dressed=entry.dressed or peeled.kind is not None,
            since=entry.releases[0] if entry.releases is not None else None,
        )


@cache
def _role(pattern: str) -> Role:
    folder = pattern.partition("/")[0]
    known: Role = folder if folder in _ROLES else "other"  # type: ignore[assignment]  # checked against Role's own words
    return _ROLE_OF_FOLDER.get(folder, known)
