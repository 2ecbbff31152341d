"""A line of a paste, and the signs that a record starts in it."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.layouts.base import LEVEL, Parsed
from rebalance_forensics.sources.layouts.header_remainder import begins_as_kafka_does
from rebalance_forensics.sources.layouts.split_messages import awaits_message
from rebalance_forensics.sources.lines.text import is_jvm_output

_MAX_SEARCHED = 300
_SHORT = 2048
_OBJECT = '{"'
_SETTING = re.compile(r"[a-z][\w.-]*+ = ")
_EXCEPTION = re.compile(r"(?:Caused by: )?(?:[a-z_]\w{0,60}\.){2,12}[A-Z][\w$]{0,80}(?:Exception|Error)(?::|\Z)")
# brod_group_coordinator.erl, log/4: the message is below a heading that names the member.
_HEADINGS = ("Group member (", "group coordinator (")
LEVEL_FIRST = re.compile(rf"\[?{LEVEL}\]?[\s:|]")


class Piece(Struct, frozen=True):
    """A line, or a part of one, with the position at which it starts in the paste."""

    offset: int
    number: int
    text: str

    def reading(self, text: str) -> Piece:
        """A copy of the piece with another text."""
        return self if text == self.text else replace(self, text=text)

    def part(self, start: int, end: int) -> Piece:
        """A part of the piece with its own position."""
        offset = self.offset + len(self.text[:start].encode("utf-8", "replace"))
        return replace(self, offset=offset, text=self.text[start:end].rstrip())


def has_time(text: str) -> bool:
    """True if the text starts with a record header that includes a time."""
    return _header(text[:_MAX_SEARCHED])[1]


def is_object(text: str) -> bool:
    """True if the text starts like a JSON object: some loggers write one on each line."""
    return text.startswith(_OBJECT)


def is_setting(text: str) -> bool:
    """True if the text is a line of a configuration, as AbstractConfig prints it, without the leading tab."""
    return _SETTING.match(text) is not None


def is_exception(text: str) -> bool:
    """True if the text starts like the first line of a Java stack trace."""
    return _EXCEPTION.match(text) is not None


def is_heading(text: str) -> bool:
    """True for a heading with the member's names, as brod writes it above each message."""
    return text.endswith("):") and any(heading in text for heading in _HEADINGS)


def looks_like_record(text: str) -> bool:
    """True if a record starts with this text: a header, a level, an object, or one of Kafka's log prefixes."""
    if not text or text[0] in " \t":
        return False
    return _known_record(text) if len(text) <= _SHORT else _is_record(text)


def _is_record(text: str) -> bool:
    return (
        is_object(text)
        or begins_as_kafka_does(text)
        or is_jvm_output(text)
        or LEVEL_FIRST.match(text) is not None
        or _header(text[:_MAX_SEARCHED])[0]
    )


# Cached: each kind of mark tests all lines.
_known_record = lru_cache(maxsize=2048)(_is_record)


def lacks_message(text: str) -> bool:
    """True for a header whose message is on the next line."""
    parsed = _parsed(text) if len(text) < _MAX_SEARCHED else None
    return parsed is not None and awaits_message(parsed.message)


def belongs_below(text: str) -> bool:
    """True for a text that can be the message of the header above: it has neither time nor logger."""
    parsed = _parsed(text.lstrip()[:_MAX_SEARCHED])
    return parsed is None or (parsed.stamp is None and parsed.logger is None)


def _header(text: str) -> tuple[bool, bool]:
    parsed = _parsed(text)
    return parsed is not None, parsed is not None and parsed.stamp is not None


@lru_cache(maxsize=8192)
def _parsed(text: str) -> Parsed | None:
    """The record that starts with the text, if its layout is known."""
    name = layouts.header_layout(text) if text[:1] not in (" ", "\t", "") else None
    return layouts.by_name()[name].parse(text) if name else None
