"""Separates records that a viewer or a chat joined on one line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics.sources.layouts.base import LEVEL
from rebalance_forensics.sources.pastes.piece import Piece

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})"
# The thread, and what custom patterns print next to it: an empty context, a thread name with blanks.
_THREAD = r"(?:(?:\[[^\[\]\n]{0,200}\] ){1,3})"
# A full time followed by a level (with a thread between them) is the header of a record wherever it appears, and so is
# a time of day with milliseconds.
_DATED = r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?\s{1,4}"
_HEADER = (
    rf"(?:{_DATED}{_THREAD}?\[?{LEVEL}\b"
    rf"|\[{_CLOCK}\] {LEVEL}\b|{_CLOCK} {_THREAD}?{LEVEL}\b)"
)
_OBJECT = r"\{\"@?[A-Za-z][\w.]{0,30}\":"
# One of Kafka's log prefixes without a header: it starts a record only right after the logger that ends the previous
# one.
_BARE = r"\[Group(?:Coordinator \d+\]:|(?:Coordinator|MetadataManager) [a-zI]+=\d+[^\]\n]{0,80}\]) "
_FIRST = re.compile(f"{_HEADER}|{_OBJECT}|{_BARE}")
# The logger ends a message; an exception after it is the first line of the stack trace that was below.
_TRACE = (
    r"\((?:[\w$-]{1,60}\.){1,20}[A-Z][\w$]{0,80}(?::\d{1,6})?\) "
    r"(?=(?:[a-z_]\w{0,60}\.){2,12}[A-Z][\w$]{0,80}(?:Exception|Error): )"
)
# An object without a message holds the values of the message before it.
_RECORD_AS_OBJECT = rf'{_OBJECT}"[^\n]{{0,20000}}?"@?(?:message|msg|log|MESSAGE|textPayload)":'
_NEXT = rf"(?<=[\s)\].;,}}])(?:(?={_HEADER})|(?={_RECORD_AS_OBJECT}))|(?<=[a-z]\))(?={_BARE})"
_RECORD = re.compile(_NEXT)
_RECORD_OR_TRACE = re.compile(f"{_NEXT}|{_TRACE}")
# No record is shorter with its header; a shorter text is the first of two headers before a message.
_SHORTEST = 60


# In a paste, at least one in this many lines is like this; two processes that write to one file cause fewer.
_FEW = 5


def is_glued(lines: Sequence[str]) -> bool:
    """True if many lines contain several records."""
    first = [line for line in lines if _FIRST.match(line)]
    return sum(next(_begins(line, _RECORD), None) is not None for line in first) * _FEW > len(first)


def parted(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """One piece for each record, and one for a stack trace."""
    for piece in pieces:
        at = 0
        for start in _begins(piece.text, _RECORD_OR_TRACE) if _FIRST.match(piece.text) else ():
            yield piece.part(at, start)
            at = start
        yield piece.part(at, len(piece.text)) if at else piece


def _begins(text: str, following: re.Pattern[str]) -> Iterator[int]:
    """The positions at which further records start in a line; the content of a JSON object is not searched."""
    at = 0
    while match := following.search(text, max(_end_of_object(text, at), at + _SHORTEST)):
        at = match.end()
        yield at


def _end_of_object(text: str, at: int) -> int:
    """The end of the JSON object that starts at `at`; `at` itself if there is none."""
    if not text.startswith("{", at):
        return at
    try:
        return json.JSONDecoder().raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return len(text)
