"""Recognizes pastes: files that cannot be read as a log, or whose records or characters were changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rebalance_forensics.records import LEFT_OUT
from rebalance_forensics.sources.pastes import characters, examples, joined_records, marks, tables, wraps
from rebalance_forensics.sources.pastes.piece import (
    Piece,
    has_time,
    is_exception,
    is_setting,
    lacks_message,
    looks_like_record,
)

LARGEST = 32 << 20
"""Bytes; people do not select more by hand."""
_MAX_SEARCHED = 400
_NEAR_THE_EDGE = 30
# The longest line with a name and a time that a chat puts above a record.
_SHORT = 60
# Wrapping is tested only if one in this many lines is about as long as the longest, unlike in most logs.
_FULL_LINES = 5
_FEW_CUT = 10
# A message of Kafka with its logger, but without its header.
_ALONE = re.compile(r" ?[A-Z][^\n]{30,2000} \((?:kafka|org\.apache\.kafka)\.[\w.$]{5,200}(?::\d{1,5})?\)\Z")
_LEFT_OUT = re.compile(r"\w\s?(?:\u2026|\.{3}(?!\s*\d))")
# Messages about something that starts (systemd's "Starting Daily apt activities...") end with an ellipsis by nature.
_ANNOUNCED = re.compile(r"(?:\A|[\]:>|-] {1,2})[A-Z]\w{1,30}ing\b[^\u2026]{0,200}\w(?:\u2026|\.{3})\Z")
# In a paste, at least one in this many records is recognized only without its marks.
_LOST = 5


def is_broken(head: str, headers: Sequence[str], *, cut: bool) -> bool:
    """True for a file that is a paste: a table, wrapped lines, records that lost a header or gained marks."""
    # Lines that were truncated (`cut`) at a column are as full as wrapped ones.
    everything = head.split("\n")
    lines = [line.rstrip() for line in everything[:_MAX_SEARCHED]]
    return (
        marks.has_fence(lines)
        or tables.has_rule(lines)
        or tables.has_rows(lines)
        or tables.has_columns(lines)
        or tables.has_open_cells(lines)
        or characters.has_links(lines)
        or characters.has_rewritten_messages(lines)
        or characters.has_typeset_dates(lines)
        or (len(lines) < _MAX_SEARCHED and (characters.has_bold(headers) or is_exception(lines[0])))
        or (len(lines) < _MAX_SEARCHED and _has_message_alone(lines))
        or joined_records.is_glued(lines)
        or _is_cut(lines)
        or (not cut and _is_wrapped(_with_settings_besides(everything)))
        or examples.has_any(set(lines).difference(headers))
        or _has_names_above(lines, set(headers))
        or _has_lost(lines, set(headers))
    )


def _has_message_alone(lines: Sequence[str]) -> bool:
    """True if a message follows an empty line: people who tell a story quote single lines, some without a header."""
    below = (line for before, line in pairwise(lines) if not before and line[:2].strip())
    return any(_ALONE.match(line) and not looks_like_record(line.lstrip()) for line in below)


def _is_cut(lines: Sequence[str]) -> bool:
    """True if many lines contain an ellipsis for an omission."""
    dotted = (line for line in lines if "..." in line or LEFT_OUT in line)
    cut = (line for line in dotted if _LEFT_OUT.search(line) and not _ANNOUNCED.search(line))
    return sum(1 for _ in cut) * _FEW_CUT > len(lines)


def _has_names_above(lines: Sequence[str], headers: set[str]) -> bool:
    """True if most records follow a short line after an empty one: a chat prints author and time there."""
    records = [index for index, line in enumerate(lines) if line in headers]
    above = [(lines[index - 2] if index > 1 else "", lines[index - 1]) for index in records if index]
    named = sum(not before and 0 < len(name) <= _SHORT and name not in headers for before, name in above)
    return named > 1 and named * 2 > len(records)


def _with_settings_besides(lines: Sequence[str]) -> Sequence[str]:
    """The first lines: as many as are searched, and the settings between them."""
    searched = 0
    for index, line in enumerate(lines):
        searched += not is_setting(line.lstrip())
        if searched > _MAX_SEARCHED:
            return [each.rstrip() for each in lines[:index]]
    return [line.rstrip() for line in lines]


def _is_wrapped(lines: Sequence[str]) -> bool:
    # The lines of a configuration are short, however wide the terminal was, and Kafka Streams logs hundreds of them.
    lengths = [len(line) for line in lines if line and not is_setting(line.lstrip())]
    longest = max(lengths, default=0)
    if sum(length >= longest - _NEAR_THE_EDGE for length in lengths) * _FULL_LINES < len(lengths):
        return False
    pieces = marks.stripped([Piece(0, 0, characters.plain(line)) for line in lines])
    texts = [piece.text for piece in pieces]
    return wraps.width_of(texts, timed=any(map(has_time, texts))) is not None


def _has_lost(lines: Sequence[str], headers: set[str]) -> bool:
    """True if many lines become records once their marks are removed."""
    above = ["", *lines]
    others = [
        Piece(0, 0, line)
        for before, line in zip(above, lines, strict=False)
        if line.strip() and line not in headers and not lacks_message(before)
    ]
    found = marks.stripped([piece.reading(characters.plain(piece.text)) for piece in others])
    lost = sum(
        looks_like_record(after.text) and not looks_like_record(before.text)
        for before, after in zip(others, found, strict=True)
    )
    return lost * _LOST > len(headers)
