"""Events as evidence: the line that each was read from."""

from __future__ import annotations

import re

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.model import Evidence

LONGEST_TEXT = 2_000


def evidence_of(event: Event) -> Evidence:
    """The line an event was read from."""
    origin, text = event.origin, event.text
    return Evidence(
        path=origin.path,
        line=origin.line,
        byte_offset=origin.byte_offset,
        timestamp=event.at,
        text=without_middle(text, LONGEST_TEXT),
    )


_WORD = 24
_CUT = re.compile(r" … \(\+(\d{1,18}) characters?\)\Z")
_CUT_WITHIN = re.compile(r" … \(\+(\d{1,18}) characters?\) … ")
_LONGEST_MARK = 40
# To say that so many characters are missing would take as many.
_NOT_WORTH_IT = 20


def shortened(text: str, limit: int) -> str:
    """Cut a text to `limit` characters and say how many were left out."""
    if len(text) <= limit + _NOT_WORTH_IT:
        return text
    found = _CUT.search(text, max(0, len(text) - _LONGEST_MARK))
    whole, missing = (text[: found.start()], int(found[1])) if found else (text, 0)
    if len(whole) <= limit:
        return text
    missing += len(whole) - limit
    return f"{whole[:limit].rstrip()} … (+{missing} character{'' if missing == 1 else 's'})"


# Java's package of a logger, as Kafka's layout closes a line with it; its class is known without.
_PACKAGE = re.compile(r" \((?:[a-z][\w-]*\.){2,}(?=[A-Z]\w*\$?\)\s*\Z)")
# The random part of a member id: eight digits tell the members of a group apart.
_RANDOM_ID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def abridged(text: str, limit: int) -> str:
    """Fit a line of a log into `limit` characters: what names it is shortened before what it says."""
    for pattern, short in ((_PACKAGE, " (…"), (_RANDOM_ID, r"\1…")):
        if len(text) <= limit:
            return text
        line, ending, rest = text.partition("\n")
        text = pattern.sub(short, line) + ending + rest
    return without_middle(text, limit)


def without_middle(text: str, limit: int) -> str:
    """Cut the first line of a text to `limit` characters between its head and its end, which says why."""
    # A coordinator's line ends with its reason, a client's with its error; names and ids of any length stand before
    # them. Where the first line fits, the text is cut as others are.
    tail = _CUT.search(text) if "\n" not in text else None  # it was cut before, to a larger limit
    line = text.partition("\n")[0] if tail is None else text[: tail.start()]
    if len(line) <= limit or len(text) <= limit + _NOT_WORTH_IT:
        return shortened(text, limit)
    room = limit - _LONGEST_MARK
    head, end = _between_words(line, room // 3, len(line) - (room - room // 3))
    cut = line[head:end]
    missing = len(cut) + (len(text) - len(line) if tail is None else int(tail[1]))
    missing += sum(int(mark[1]) - len(mark[0]) for mark in _CUT_WITHIN.finditer(cut))
    return f"{line[:head].rstrip()} … (+{missing} characters) … {line[end:].lstrip()}"


def _between_words(line: str, head: int, end: int) -> tuple[int, int]:
    before, after = line.rfind(" ", max(0, head - _WORD), head + 1), line.find(" ", end - 1, end + _WORD)
    return head if before < 0 else before, end if after < 0 else after
