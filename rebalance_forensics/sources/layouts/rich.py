"""Joins messages that Rich's console wraps within a column: between words, and within words wider than that."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import LEVEL, Parsed

_SOURCE_LINE = re.compile(r"\w+\.py:\d+")
_SAME_SECOND = re.compile(rf" {{9,24}}{LEVEL} {{1,8}}\S")


def unwrapped(parsed: Parsed) -> Parsed:
    """The message without its source location, its wrapped lines joined; Rich prints the month first."""
    first, *others = parsed.message.split("\n")
    message, source = _apart(first)
    column = first.rindex(source) - 1
    last = message
    for line in others:
        # A second record of one second has blanks for its time. Lines that begin with blanks continue a record in
        # every log, so this one is left out.
        if _SAME_SECOND.match(line) and _apart(line)[1]:
            break
        text = line.strip()
        within_a_word = len(last) == column and " " not in last
        message, last = message + ("" if within_a_word else " ") + text, text
    stamp = replace(parsed.stamp.in_order("mdy"), readings=()) if parsed.stamp else None
    return replace(parsed, stamp=stamp, message=message)


def _apart(line: str) -> tuple[str, str]:
    """The text of a line, and the source location (`file.py:12`) at its right margin."""
    text, _, source = line.rstrip(" ").rpartition(" ")
    return (text.rstrip(" "), source) if _SOURCE_LINE.fullmatch(source) else (line, "")
