"""Layouts whose records start with a header described by a regular expression."""

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

# An expression with only the groups time, level, logger, thread and message (and pid) has no second branch.
_PLAIN_GROUPS = 5
# Many lines share a time: in logs with whole seconds, and where only the text after it is needed.
_read_stamp = lru_cache(maxsize=256)(read_stamp)
_IN_ALL = ("time", "level", "logger", "thread")


class TextLayout(Layout, frozen=True, kw_only=True):
    """A layout described by an expression with the groups time, level, logger, thread, uptime, pid and message.

    `level2`, `logger3` and so on are the same in another branch. `trailer` matches what is printed after the message,
    with the groups logger and thread; `then` parses what an expression cannot. If a log has only this layout, lines
    that no `relevant` expression matches are skipped, except near lines of another program, which `foreign` matches. A
    `verbatim` message contains no rest of a header, whatever brackets it starts with.
    """

    header: re.Pattern[str]
    trailer: re.Pattern[str] | None = None
    then: Callable[[Parsed], Parsed] | None = None
    # Each expression is searched separately: one that starts with a literal takes a fifteenth of the time of a single
    # expression with several branches (0.2 s and 3.1 s in 100 MB of a GC log).
    relevant: tuple[re.Pattern[bytes], ...] = ()
    foreign: re.Pattern[bytes] | None = None
    verbatim: bool = False

    def is_header(self, line: str) -> bool:
        """True if a record starts with this line."""
        if self.header.match(line) is not None:
            return True
        return line.endswith(HEADER_ENDS) and self._above_its_message(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Parse a whole record; None if it does not have this layout."""
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
        """The match of a header that lost its trailing blank, with the message on the line below."""
        first, _, rest = text.partition("\n")
        return self.header.match(below(first, rest)) if first.endswith(HEADER_ENDS) else None

    def end_of_time(self, line: str) -> int:
        """The end of the time at the start of a line."""
        match = self.header.match(line)
        return match.end("time") if match else 0


def _uptime_ms(text: str) -> int:
    """An uptime that HotSpot prints as `28.345s`, `28345ms` or `28345678901ns`, in JDK 8 without a unit, in ms."""
    number = float(text.rstrip("mns").replace(",", "."))
    return round(number / 1_000_000 if text.endswith("ns") else number if text.endswith("ms") else number * 1000)


def _in_any_branch(parts: dict[str, str | None], name: str) -> str | None:
    """The group of this name, or the same name with a digit from another branch of the expression."""
    return parts.get(name) or next((text for key, text in parts.items() if text and key.rstrip(digits) == name), None)
