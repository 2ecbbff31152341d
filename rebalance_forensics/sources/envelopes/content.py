"""What proves that a text is the inside of an envelope."""

from __future__ import annotations

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.layouts.header_remainder import begins_as_kafka_does

# Layouts from this rank on have no header of their own: what they read begins a record when it has a level.
_FALLBACK_RANK = 80


def begins_record(text: str) -> bool:
    """Whether a record surely starts here."""
    return not _goes_on(text) and _is_record(layouts.header_layout(text), text)


def begins_record_of(name: str | None, text: str) -> bool:
    """The same of a text whose header is of this layout, or of none."""
    return not _goes_on(text) and _is_record(name, text)


def _goes_on(text: str) -> bool:
    """Whether what a text begins with begins no record."""
    return text[:1] in (" ", "\t", "") or begins_as_kafka_does(text)


def _is_record(name: str | None, text: str) -> bool:
    if name is None:
        return False
    layout = layouts.by_name()[name]
    if layout.rank < _FALLBACK_RANK:
        return True
    parsed = layout.parse(text)
    return parsed is not None and parsed.stamp is not None and parsed.level is not None
