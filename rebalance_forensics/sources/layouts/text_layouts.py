"""Layouts of which each record begins with a header that an expression describes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from string import digits

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Layout, Parsed, level_of
from rebalance_forensics.sources.layouts.message_trailer import without_trailer
from rebalance_forensics.sources.layouts.split_messages import HEADER_ENDS, below, in_one_line
from rebalance_forensics.sources.times.timestamps import read_stamp

# An expression with no more groups than time, level, logger, thread and message (and pid) has no second branch.
_PLAIN_GROUPS = 5
# Many lines have one time: where a log prints whole seconds, and where only what is behind it is asked for.
_read_stamp = lru_cache(maxsize=256)(read_stamp)
_IN_ALL = ("time", "level", "logger", "thread")


class TextLayout(Layout, frozen=True, kw_only=True):
    """A layout written as a regular expression with the groups time, level, logger, thread, uptime, pid and message.

    `level2`, `logger3` and so on are the same in another branch of the expression. `trailer` finds what is printed
    behind the message, with the groups logger and thread; `then` reads what an expression cannot. Of a
    log in this layout alone, no line is looked at without what one of `relevant` finds, but near a line that `foreign`
    finds: another program printed that. A `verbatim` message has no rest of a header in it, whatever brackets it
    begins with.
    """

    header: re.Pattern[str]
    trailer: re.Pattern[str] | None = None
    then: Callable[[Parsed], Parsed] | None = None
    # Each is searched by itself: one that begins with a letter or a sign is found in a fifteenth of the time that one
    # expression of several branches takes (0.2 s and 3.1 s in 100 MB of a GC log).
    relevant: tuple[re.Pattern[bytes], ...] = ()
    foreign: re.Pattern[bytes] | None = None
    verbatim: bool = False

    def is_header(self, line: str) -> bool:
        """True if a record starts with this line."""
        if self.header.match(line) is not None:
            return True
        return line.endswith(HEADER_ENDS) and self._above_its_message(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        match = self.header.match(text)
        if match is None and ("\n" in text or text.endswith(HEADER_ENDS)):
            match = self._above_its_message(text)
        if match is None:
            return None
        parts = match.groupdict()
        group = parts.get if len(parts) - ("pid" in parts) <= _PLAIN_GROUPS else partial(_in_any_branch, parts)
        time, level, logger, thread = map(group, _IN_ALL)
        stamp = _read_stamp(time) if time else None
        if time and stamp is None:
            return None
        message = parts["message"] or ""
        if "\n" in text and not self.verbatim:
            is_below = match.string[match.start("message") - 1] == "\n"
            message = in_one_line(message.lstrip(" \t") if is_below else message)
        parsed = Parsed(
            stamp=stamp,
            level=level_of(level),
            logger=logger,
            thread=(thread.strip() or None) if thread else None,
            message=message,
            pid=int(pid) if "pid" in parts and (pid := _in_any_branch(parts, "pid")) else None,
        )
        if "uptime" in parts and (uptime := _in_any_branch(parts, "uptime")):
            parsed = replace(parsed, uptime_ms=_uptime_ms(uptime))
        if self.trailer is not None:
            parsed = without_trailer(parsed, self.trailer.search(parsed.message))
        return parsed if self.then is None else self.then(parsed)

    def _above_its_message(self, text: str) -> re.Match[str] | None:
        """The header that lost the blank behind it, with the message below it."""
        first, _, rest = text.partition("\n")
        return self.header.match(below(first, rest)) if first.endswith(HEADER_ENDS) else None

    def end_of_time(self, line: str) -> int:
        """Where the time in front of a line ends."""
        match = self.header.match(line)
        return match.end("time") if match else 0


def _uptime_ms(text: str) -> int:
    """The uptime that HotSpot prints as `28.345s`, `28345ms` or `28345678901ns`, by JDK 8 without a unit."""
    number = float(text.rstrip("mns").replace(",", "."))
    return round(number / 1_000_000 if text.endswith("ns") else number if text.endswith("ms") else number * 1000)


def _in_any_branch(parts: dict[str, str | None], name: str) -> str | None:
    """The group of this name, or of the same name with a digit in another branch of the expression."""
    return parts.get(name) or next((text for key, text in parts.items() if text and key.rstrip(digits) == name), None)
