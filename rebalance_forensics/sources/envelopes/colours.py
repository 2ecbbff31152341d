"""Terminal colours, as escapes or as the text `^[[32m`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line

_COLOUR = re.compile(r"(?:\x1b|\^\[|\\u001b|\\e|\\x1b)\[[0-9;]*[A-Za-z]")


def without_colours(text: str) -> str:
    """A text without the escapes that colour it."""
    return _COLOUR.sub("", text) if is_coloured(text) else text


def is_coloured(text: str) -> bool:
    """True if a text contains what may begin an escape."""
    return "\x1b" in text or "^[[" in text


def uncoloured(line: Line) -> Sequence[Line] | None:
    """The line without its colours, which may stand anywhere in it."""
    if line.fields is not None or "[" not in line.text or not is_coloured(line.text):
        return None
    return (replace(line, text=without_colours(line.text)),)
