"""librdkafka log events printed field by field, on one line or several."""

# Node.js prints the object (node-rdkafka, confluent-kafka-javascript), C++ programs print the result of each accessor
# (`event.str()= …`). Lines of the application may come between two events.

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.layouts.base import DATED
from rebalance_forensics.sources.layouts.json_fields import Fields
from rebalance_forensics.sources.layouts.librdkafka import event_fields
from rebalance_forensics.sources.lines.text import lines_of

_SIGNS = ("fac", "[thrd:", "event.str()")
_KEY = r"[\"']?(?:severity|fac|name|message|timestamp)[\"']?: ?"
# A line that starts with `{"` is a JSON object, for which there are layouts.
_OPENS = re.compile(rf'(?!\s*\{{")(?P<before>[^{{}}\n]{{0,200}})\{{\s*(?:{_KEY}|\Z)')
_CLOSES = re.compile(r"\}[\s\]),;]*\Z")
_ACCESSOR = re.compile(r"\W{0,8}event\.(?P<name>\w{2,20})\(\) ?[=:] ?(?P<text>.*)")
# The relevant line of an event that was copied in part.
_MESSAGE_LINE = re.compile(r"[ \t]*message:\s+['\"`]\[thrd:")
_TIME = re.compile(rf"\W{{0,3}}(?P<time>{DATED})")
_RULE = re.compile(r"\W*\Z")
# In lines: an event has four or five, and a multi-line message adds a few.
_LONGEST = 64


def is_document(text: str) -> bool:
    """True if a text contains such an event, or the relevant line of one."""
    return any(sign in text for sign in _SIGNS) and any(
        line.fields is not None for _, _, line in entries(iter((text.encode(),)))
    )


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The events and the lines between them, with their positions."""
    event: list[Placed] = []
    offset, heading = 0, ""
    for number, raw in enumerate(lines_of(chunks), 1):
        text = raw.rstrip(b"\r\n").decode("utf-8", "replace")
        accessor = _ACCESSOR.match(text) is not None
        if event and accessor != _is_accessors(event):
            yield from _event(event, heading)
            event = []
        if event or accessor or _OPENS.match(text):
            event.append((offset, number, Line(text=text)))
            if not accessor and (_CLOSES.search(text) or len(event) >= _LONGEST):
                yield from _event(event, heading)
                event = []
        elif _MESSAGE_LINE.match(text) and (fields := event_fields(text)):
            yield offset, number, Line(text="", fields=fields)
        else:
            yield offset, number, Line(text=text)
            # Programs may print a horizontal rule between the time and the event.
            heading = heading if _RULE.match(text) else text
        offset += len(raw)
    yield from _event(event, heading)


def _is_accessors(event: list[Placed]) -> bool:
    return _ACCESSOR.match(event[0][2].text) is not None


def _event(lines: list[Placed], heading: str) -> Iterator[Placed]:
    """The event as an object; lines that are not an event are unchanged."""
    texts = [line.text for _, _, line in lines]
    if texts and _is_accessors(lines):
        fields = _of_accessors(texts)
    else:
        opening = _OPENS.match(texts[0]) if texts else None
        fields = event_fields("\n".join(texts)) if opening else None
        heading = opening["before"] if opening and opening["before"].strip() else heading
    if fields is None:
        yield from lines
        return
    time = _TIME.match(heading)
    offset, number, _ = lines[0]
    yield offset, number, Line(text="", fields={**({"time": time["time"]} if time else {}), **fields})


def _of_accessors(texts: list[str]) -> Fields | None:
    found = {match["name"]: match["text"].strip() for text in texts if (match := _ACCESSOR.match(text))}
    if "str" not in found:
        return None
    return {"fac": found.get("fac", ""), "severity": found.get("severity", ""), "message": found["str"]}
