"""Makes untrusted text harmless: characters that move a cursor, reverse a line or hide are shown as escapes."""

from __future__ import annotations

import re
import unicodedata

from rebalance_forensics.timeline.evidence import shortened

# Control, format (bidirectional marks, zero widths), surrogate, private and unassigned characters.
HARMFUL_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
SUSPECT = re.compile(r"[^ -~]")
# No language stacks more than a few accents on a letter; a thousand would cover the lines above.
# The most lines shown of one record; the last of them holds the rest.
MOST_LINES = 6
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d|B|kB|MB|GB|times)(?!\w))")
"""The blank between a number and its unit, which must not be separated."""
STACKED_MARKS = re.compile(r"([\u0300-\u036f]{4})[\u0300-\u036f]+")


def printable(text: str) -> str:
    """Show every control, format and unassigned character as its escape, a tab as a blank."""
    return text if text.isascii() and text.isprintable() else SUSPECT.sub(_shown, STACKED_MARKS.sub(r"\1…", text))


def prose(text: str) -> str:
    """Make sentences harmless, on one line."""
    return printable(" ".join(text.split()))


def line_of(text: str, limit: int) -> str:
    """One harmless line of at most about `limit` characters from a text of any length."""
    return shortened(printable(shortened(text, limit)), 6 * limit)


def lines_of(text: str, limit: int) -> list[str]:
    """The lines of a record as harmless lines: an exception is below the line that logged it."""
    lines = [line_of(line, limit) for line in shortened(text, limit).split("\n", MOST_LINES - 1)]
    return [line for line in lines if line]


def _shown(found: re.Match[str]) -> str:
    character = found.group()
    if character == "\t":
        return " "
    if unicodedata.category(character) not in HARMFUL_CATEGORIES:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
