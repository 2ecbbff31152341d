"""The result of matching a message."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.catalog.compiled_catalog import Release
from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.prefixes import SpeakerWords


class Match(Struct, frozen=True, kw_only=True, gc=False):
    """What a pattern read in a message; `event` is None for a known line that says nothing about groups.

    `weight` is the number of characters that are literal text of the pattern; `spells_prefix` is True for a message
    with the log prefix of a Kafka class.
    """

    pattern: str
    event: str | None
    fields: dict[str, FieldValue]
    group: str | None
    speaker: SpeakerWords
    weight: int = 0
    spells_prefix: bool = False
    since: Release | None = None
    """The first release that logs it in these words."""
    thrown: str | None = None
    """The line of the stack trace that matched, below the application's own announcement."""
