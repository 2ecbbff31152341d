"""Rich's console for Python: time, level, message, `file.py:line` at the right margin, long messages in a column.

They are broken between words, and within a word that is wider than the column. A second record of one second begins
with blanks for its time: a line that begins with blanks continues another in every log, so this one is left out.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, Parsed, TextLayout, pattern

SAMPLE = (
    "[11/20/26 10:15:30] WARNING  Heartbeat failed for group payments  base.py:1018\n"
    "                             because it is rebalancing                        "
)
REJECT = "[11/20/26 10:15:30] WARNING  Heartbeat failed for group payments because it is rebalancing"
_PLACE = re.compile(r"\w+\.py:\d+")
_SAME_SECOND = re.compile(rf" {{9,24}}{LEVEL} {{1,8}}\S")


def _whole_message(parsed: Parsed) -> Parsed:
    """The message without the place, its lines joined as they were broken; Rich writes the month before the day."""
    first, *others = parsed.message.split("\n")
    said, place = _apart(first)
    column = first.rindex(place) - 1
    last = said
    for line in others:
        if _SAME_SECOND.match(line) and _apart(line)[1]:
            break
        text = line.strip()
        within_a_word = len(last) == column and " " not in last
        said, last = said + ("" if within_a_word else " ") + text, text
    stamp = replace(parsed.stamp.in_order("mdy"), readings=()) if parsed.stamp else None
    return replace(parsed, stamp=stamp, message=said)


def _apart(line: str) -> tuple[str, str]:
    """What a line says, and the place in the source at its right margin."""
    said, _, place = line.rstrip(" ").rpartition(" ")
    return (said.rstrip(" "), place) if _PLACE.fullmatch(place) else (line, "")


LAYOUT = TextLayout(
    header=pattern(
        rf"\[(?P<time>{DATED}|[0-2]\d:[0-5]\d:[0-5]\d)\] (?P<level>{LEVEL}) {{1,8}}"
        r"(?=[^\n]* \w+\.py:\d+ *(?:\n|\Z))(?P<message>.*)"
    ),
    starts=(b"[0", b"[1", b"[2"),
    finish=_whole_message,
    rank=13,
)
