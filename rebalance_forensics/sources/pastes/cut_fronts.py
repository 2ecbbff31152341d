"""A first line whose front was not copied: what is left of it begins somewhere in a header or in Kafka's own prefix."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import dropwhile

from rebalance_forensics.records import LEFT_OUT
from rebalance_forensics.sources.layouts.base import DATED, Parsed
from rebalance_forensics.sources.layouts.header_remainder import begins_as_kafka_does, without_heading
from rebalance_forensics.sources.pastes.piece import Piece, looks_like_record

# The end of something in brackets of which the beginning is missing, and behind it the message or more of the header.
_UNOPENED = re.compile(r"[^\[\](){}<>\"'`\n]{1,250}\] (?=[A-Z(\[]|o\.|org\.)")
# A whole time belongs to a header that is there: it stands in an envelope that was not taken off.
_DATED = re.compile(DATED)
_MOVED = ("  ", "\t", " at ", "at ")


def is_cut(lines: Sequence[str], headers: Collection[str]) -> bool:
    """True where a log's first line is no header, but surely the rest of a record."""
    first = next((line for line in lines if line.strip()), "")
    return bool(headers) and first not in headers and _rest(first) is not None


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The lines, the first from its message on where its front is missing: its time and what named it are unknown."""
    blank = len(pieces) - len(list(dropwhile(lambda piece: not piece.text.strip(), pieces)))
    if blank == len(pieces) or looks_like_record(pieces[blank].text):
        return list(pieces)
    first = pieces[blank]
    return [*pieces[:blank], first.reading(_rest(first.text) or first.text), *pieces[blank + 1 :]]


def _rest(text: str) -> str | None:
    """What is left of the record in a first line, from Kafka's own prefix or the message on; None for other lines."""
    if text.startswith(_MOVED):
        return None
    unopened = _UNOPENED.match(text)
    behind = text[unopened.end() :] if unopened else text
    message = without_heading(Parsed(stamp=None, level=None, logger=None, thread=None, message=behind)).message
    if begins_as_kafka_does(message):
        return None if _DATED.search(text.removesuffix(message)) else message
    return f"[{LEFT_OUT}] {message}" if unopened else None
