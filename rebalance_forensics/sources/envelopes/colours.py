"""Terminal colors: escape sequences, their text `^[[32m`, or the `[32m` that forms leave of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line

_COLOUR = re.compile(r"(?:\x1b|\^\[|\\u001b|\\e|\\x1b|\\033|\bESC)\[[0-9;]*[A-Za-z]")
# Without the escape character, a color is recognized by its reset on the same line: `[5m]` and `[0ms]` are durations.
_ENDED = re.compile(r"\[0(?:;39)?m(?!s\b|\])")
_BARE = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m(?!s\b|\])")


def without_colours(text: str) -> str:
    """A text without color sequences."""
    if not is_coloured(text):
        return text
    text = _COLOUR.sub("", text)
    return _BARE.sub("", text) if _ENDED.search(text) else text


def is_coloured(text: str) -> bool:
    """True if a text contains what may be a color sequence."""
    return "\x1b" in text or "^[[" in text or "\\u001b[" in text or "[0m" in text or "[0;39m" in text


def uncoloured(line: Line) -> Sequence[Line] | None:
    """The line without its colors, wherever they are."""
    if line.fields is not None or "[" not in line.text or not is_coloured(line.text):
        return None
    return (replace(line, text=without_colours(line.text)),)
