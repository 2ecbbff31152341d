"""Caches parsed lines that a log repeats at different times, by the text after the time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.times.timestamps import LOG4J, log4j_stamp

_REMEMBERED = 8192
# Longer records, and those with a stack trace, rarely repeat.
_LONGEST = 1024
_AT_ANY_TIME = ("2020-01-01", "00:00:00", "000")
_STAMP = log4j_stamp("{} {},{}".format(*_AT_ANY_TIME))


class RepeatedLines:
    """Parses records like a layout, but those that start with a Log4j time, bare or in brackets, only once."""

    def __init__(self, read: Callable[[str], Parsed | None]) -> None:
        self._read = read
        self._read_once = lru_cache(_REMEMBERED)(read)
        self._has_no_zone = True

    def __call__(self, text: str) -> Parsed | None:
        """The record; None if it does not have the layout."""
        at = 1 if text[:1] == "[" else 0
        end = at + LOG4J
        may_come_again = self._has_no_zone and "\n" not in text and not text[_LONGEST:]
        stamp = log4j_stamp(text[at:end]) if may_come_again else None
        if stamp is None:
            return self._read(text)
        date, clock, fraction = _AT_ANY_TIME
        parsed = self._read_once(f"{text[:at]}{date}{text[at + 10]}{clock}{text[at + 19]}{fraction}{text[end:]}")
        if parsed is None or parsed.stamp == _STAMP:
            return parsed and replace(parsed, stamp=stamp)
        self._has_no_zone = False  # or it prints a second time
        return self._read(text)
