"""librdkafka's log events as `console.log` prints them in Node.js (node-rdkafka): a JavaScript object of a few lines.

An event takes one line or several; lines of the application may come between two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.sources.layouts.json_fields import Fields
from rebalance_forensics.sources.lines.text import lines_of

_EVENT = re.compile(r"\{\s+severity: (?P<severity>[0-7]),\s+fac: '(?P<fac>[A-Z0-9_]{2,40})',")
# Of an event that somebody copied in part, the line that matters.
_MESSAGE_LINE = re.compile(r"^[ \t]*message:\s+['\"`]\[thrd:", re.MULTILINE)
_OPENS = re.compile(rb"\{\s*(?:severity: [0-7],|\Z)")
_NAME = re.compile(r"\bname: '([^'\n]{1,300})'")
_MESSAGE = re.compile(r"\bmessage:\s+(['\"`])(?P<text>(?:\\.|(?!\1)[^\\])*)\1", re.DOTALL)
# Where older releases of Node.js break a long text.
_CONCATENATED = re.compile(r"['\"`] \+\s+['\"`]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# Lines: an event has four or five, and a message of several adds a few.
_LONGEST = 64

Entry = tuple[int, int, str, Fields | None]


def is_document(text: str) -> bool:
    """Whether a text has such an event, or the one line of it that somebody copied."""
    return _EVENT.search(text) is not None or _MESSAGE_LINE.search(text) is not None


def entries(chunks: Iterator[bytes]) -> Iterator[Entry]:
    """The events and the lines between them, with their places."""
    event: list[bytes] = []
    start, first, offset = 0, 1, 0
    for number, line in enumerate(lines_of(chunks), 1):
        if not event and _MESSAGE_LINE.match(text := _text(line)) and (message := _MESSAGE.search(text)):
            yield offset, number, "", {"fac": "", "message": _ESCAPED.sub(r"\1", message["text"])}
        elif not event and not _OPENS.match(line):
            yield offset, number, _text(line), None
        else:
            if not event:
                start, first = offset, number
            event.append(line)
            if line.rstrip().endswith(b"}") or len(event) >= _LONGEST:
                yield from _event(start, first, event)
                event = []
        offset += len(line)
    yield from _event(start, first, event)


def _event(start: int, first: int, lines: list[bytes]) -> Iterator[Entry]:
    """The event as an object; lines that are no event, unchanged."""
    text = _CONCATENATED.sub("", "\n".join(map(_text, lines)))
    begun, message = _EVENT.match(text), _MESSAGE.search(text)
    if begun is None or message is None:
        for number, line in enumerate(lines, first):
            yield start, number, _text(line), None
            start += len(line)
        return
    name = _NAME.search(text)
    fields: dict[str, object] = {**begun.groupdict(), "message": _ESCAPED.sub(r"\1", message["text"])}
    yield start, first, "", fields | ({"name": name[1]} if name else {})


def _text(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode("utf-8", "replace")
