"""What proves that a text is the inside of an envelope."""

from __future__ import annotations

from rebalance_forensics.sources import layouts

_FALLBACK_RANK = 80
"""Layouts from this rank on have no header of their own, so they prove nothing about what is around them."""


def begins_record(text: str) -> bool:
    """Whether a record starts here, in a layout that has a header of its own."""
    if text[:1] in (" ", "\t", ""):
        return False
    name = layouts.header_layout(text)
    return name is not None and layouts.by_name()[name].rank < _FALLBACK_RANK
