"""Terminal colours, as escapes, as the text `^[[32m`, or as the `[32m` that a form leaves of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line

_COLOUR = re.compile(r"(?:\x1b|\^\[|\\u001b|\\e|\\x1b)\[[0-9;]*[A-Za-z]")
# Without the escape it shows by its end in the same line: `[5m]` is a span of time, and so is `[0ms]`.
_ENDED = re.compile(r"\[0(?:;39)?m(?!s\b|\])")
_BARE = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m(?!s\b|\])")


def without_colours(text: str) -> str:
    """A text without the escapes that colour it."""
    if not is_coloured(text):
        return text
    text = _COLOUR.sub("", text)
    return _BARE.sub("", text) if _ENDED.search(text) else text


def is_coloured(text: str) -> bool:
    """True if a text contains what may begin an escape."""
    return "\x1b" in text or "^[[" in text or "\\u001b[" in text or "[0m" in text or "[0;39m" in text


def uncoloured(line: Line) -> Sequence[Line] | None:
    """The line without its colours, which may stand anywhere in it."""
    if line.fields is not None or "[" not in line.text or not is_coloured(line.text):
        return None
    return (replace(line, text=without_colours(line.text)),)
