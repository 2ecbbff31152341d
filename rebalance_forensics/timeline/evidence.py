"""Converts events into evidence, and shortens log lines for reports."""

from __future__ import annotations

import re
from functools import partial

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.identity.names import with_short_ids
from rebalance_forensics.timeline.model import Evidence

LONGEST_TEXT = 2_000


def evidence_of(event: Event) -> Evidence:
    """The log line of an event."""
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
# A note about fewer omitted characters would be as long as the omitted text.
_NOT_WORTH_IT = 20


def shortened(text: str, limit: int) -> str:
    """Cut a text to `limit` characters and append the number of omitted characters."""
    if len(text) <= limit + _NOT_WORTH_IT:
        return text
    found = _CUT.search(text, max(0, len(text) - _LONGEST_MARK))
    whole, missing = (text[: found.start()], int(found[1])) if found else (text, 0)
    if len(whole) <= limit:
        return text
    missing += len(whole) - limit
    return f"{whole[:limit].rstrip()} … (+{missing} character{'' if missing == 1 else 's'})"


# The Java package of the logger, at the end of a line in Kafka's default layout; the class name is enough.
_PACKAGE = re.compile(r" \((?:[a-z][\w-]*\.){2,}(?=[A-Z]\w*\$?\)\s*\Z)")


# The prefix that Kafka's LogContext adds to a message: `[Consumer clientId=a, groupId=b] `, `[GroupCoordinator 1]: `.
_CONTEXT = re.compile(r"\[[A-Z][A-Za-z]+ [^\]\[]*\]:? (?:\[Group [^\]\[]*\] )?(?=\S)")
_TIME_AND_LEVEL = re.compile(r"\W*\d[^A-Z]{7,40}?T?[^A-Z]{0,20}\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\]? +")
# The start of the reason in a client's message; a long explanation of what to do may follow it.
_REASON = re.compile(r" (?:due to|because of) (?!cause: null)")
# Number of characters kept at the start of a line: its time, its level and the next word.
_HEAD = 48


def abridged(text: str, limit: int) -> str:
    """Shorten a log line to `limit` characters: first the logger's package and ids, then the text itself."""
    for shortened in (partial(_PACKAGE.sub, " (…"), with_short_ids):
        if len(text) <= limit:
            return text
        line, ending, rest = text.partition("\n")
        text = shortened(line) + ending + rest
    return without_middle(text, limit)


def message_of(text: str, limit: int) -> str:
    """The message of a line without time, level, context and package: `Member c-1-1b4e28ba… in group g has failed`."""
    line = _PACKAGE.sub(" (…", text.partition("\n")[0])
    head = _CONTEXT.search(line) or _TIME_AND_LEVEL.match(line)
    return shortened(with_short_ids(line[head.end() :] if head else line), limit)


def without_middle(text: str, limit: int) -> str:
    """Cut the first line of a text to `limit` characters: before its message, then within the message."""
    # A coordinator's line ends with the reason; a client's message starts or ends with it. Names and ids of any length
    # precede the message. If the first line fits, the text is cut at its end like any other.
    if len(text) <= limit + _NOT_WORTH_IT:
        return text
    tail = _CUT.search(text) if "\n" not in text else None  # it was cut before, to a larger limit
    line = text.partition("\n")[0] if tail is None else text[: tail.start()]
    if len(line) <= limit:
        return shortened(text, limit)
    cuts = _cuts(line, limit)
    more = len(text) - len(line) if tail is None else int(tail[1])
    kept, end = "", 0
    for cut, part in enumerate(cuts, start=1):
        begin, until = _with_whole_marks(line, *part)
        missing = until - begin + (more if cut == len(cuts) else 0)
        missing += sum(int(mark[1]) - len(mark[0]) for mark in _CUT_WITHIN.finditer(line, begin, until))
        kept += f"{line[end:begin].strip()} … (+{missing} characters) … "
        end = until
    return (kept + line[end:].lstrip()).removesuffix(" … ")


def _cuts(line: str, limit: int) -> list[tuple[int, int]]:
    """The parts of a line to omit: a long part before the message, then a part of the message if it is too long."""
    found = _CONTEXT.search(line)
    # The context is kept, unless it takes the space of the message.
    begin = 0 if found is None else found.start() if found.end() - found.start() <= limit // 5 else found.end()
    if begin <= _HEAD + _LONGEST_MARK:
        room = limit - _LONGEST_MARK
        # The first words after the client and group describe the event.
        first_words = 0 if found is None else found.end() + 2 * _WORD
        head = min(max(room // 3, first_words), 2 * room // 3)
        return [_between_words(line, head, len(line) - (room - head))]
    head, _ = _between_words(line, _HEAD, begin)
    room = limit - head - _LONGEST_MARK
    if len(line) - begin <= room:
        return [(head, begin)]
    room -= _LONGEST_MARK
    cut = _between_words(line, begin + room // 2, len(line) - (room - room // 2))
    reason = _REASON.search(line, begin, cut[1])
    if reason is None or reason.end() <= cut[0] - _WORD:
        return [(head, begin), cut]
    # The reason is the evidence: the text before and after it is cut.
    room -= _LONGEST_MARK
    before, _ = _between_words(line, min(begin + room // 2, reason.start()), len(line))
    after, _ = _between_words(line, reason.start() + room // 2, len(line))
    return [(head, begin), *([(before, reason.start())] if before < reason.start() else []), (after, len(line))]


def _with_whole_marks(line: str, begin: int, until: int) -> tuple[int, int]:
    """The part to omit, extended so that it does not split the `… (+n characters) …` note of an earlier cut."""
    for mark in _CUT_WITHIN.finditer(line):
        begin = mark.start() if mark.start() < begin < mark.end() else begin
        until = mark.end() if mark.start() < until < mark.end() else until
    return begin, until


def _between_words(line: str, head: int, end: int) -> tuple[int, int]:
    before, after = line.rfind(" ", max(0, head - _WORD), head + 1), line.find(" ", end - 1, end + _WORD)
    return head if before < 0 else before, end if after < 0 else after
