"""What the catalog answers about itself and about one message: lists, JSON, explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.catalog.vocabulary import described
from rebalance_forensics.events import EVENT_TYPES


class ListedPattern(Struct, frozen=True):
    """One line of `patterns list`."""

    pattern: str
    event: str | None
    meaning: str


class ExplainedField(Struct, frozen=True):
    """One field of a matched line: its value and its type in the vocabulary."""

    name: str
    value: FieldValue
    type: str


class Explanation(Struct, frozen=True):
    """All we know about one line: its pattern, its event, and each field read from it."""

    pattern: str
    meaning: str
    event: str | None
    event_meaning: str | None
    group: str | None
    fields: tuple[ExplainedField, ...]
    speaker: tuple[tuple[str, FieldValue], ...]


def listed(catalog: Catalog) -> Iterator[ListedPattern]:
    """Every pattern, sorted by id."""
    events = {entry.pattern: entry.event for entry in catalog.compiled.entries}
    for pattern, event in sorted(events.items()):
        yield ListedPattern(pattern, event, catalog.compiled.meanings[pattern])


def match_message(catalog: Catalog, message: str, *, logger: str | None = None) -> dict[str, object] | None:
    """The answer of `patterns match`: pattern, event and fields as JSON has them; None for an unknown line."""
    match = catalog.match(message, logger=logger)
    return None if match is None else {"pattern": match.pattern, "event": match.event, "fields": fields_of(match)}


def fields_of(match: Match) -> dict[str, object]:
    """The fields with what the prefix adds: the group and who speaks."""
    spoken = {"group": match.group, **{name: value for name, value in _speaker(match) if name != "role"}}
    from_prefix = {name: value for name, value in spoken.items() if value is not None and name not in match.fields}
    return {name: shaped(value) for name, value in {**from_prefix, **match.fields}.items()}


def shaped(value: FieldValue) -> object:
    """A value as JSON has it: tuples as lists, member -> partitions as an object."""
    if not isinstance(value, tuple):
        return value
    if value and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in value):
        return {str(item[0]): shaped(item[1]) for item in value if isinstance(item, tuple)}
    return [shaped(item) for item in value]


def explained(catalog: Catalog, message: str, *, logger: str | None = None) -> Explanation | None:
    """What `explain --line` shows."""
    match = catalog.match(message, logger=logger)
    if match is None:
        return None
    types: Mapping[str, str] = described(match.event) if match.event else {}
    return Explanation(
        pattern=match.pattern,
        meaning=catalog.compiled.meanings[match.pattern],
        event=match.event,
        event_meaning=(EVENT_TYPES[match.event].__doc__ or "").split("\n", 1)[0] if match.event else None,
        group=match.group,
        fields=tuple(ExplainedField(name, value, types.get(name, "text")) for name, value in match.fields.items()),
        speaker=tuple(_speaker(match)),
    )


def _speaker(match: Match) -> Iterator[tuple[str, FieldValue]]:
    for name in ("role", "broker", "client_id", "instance_id", "thread", "task", "offsets_partition"):
        value: FieldValue = getattr(match.speaker, name)
        if value is not None:
            yield name, value
