"""The time behind the message: Log4j and Logback patterns such as `%p [%t] %c - %m @ %d`."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LEVEL_FIRST, LOGGER, Parsed, TextLayout, pattern

SAMPLE = "INFO  [main] ConsumerCoordinator - [Consumer clientId=c, groupId=orders] Setting x @ 2026-11-20 10:15:30,123"
REJECT = "INFO  [main] NetworkClient - Retrying until 2026-11-20 10:15:30,123"

# The sign in front tells the time of the line from one that the message speaks of.
_SIGN = r"[ \t](?:[@|]|--?)[ \t]?[\[(]?"
_END = r"[\])]?[ \t]*\r?(?=\n|\Z)"
_TIME_BEHIND = re.compile(rf"{_SIGN}{DATED}{_END}")


def _without_time(parsed: Parsed) -> Parsed:
    """Take the time off the first line; a stack trace may follow it."""
    return replace(parsed, message=_TIME_BEHIND.sub("", parsed.message, count=1))


LAYOUT = TextLayout(
    header=pattern(
        rf"\[?(?P<level>{LEVEL})\]?\s+(?:\[(?P<thread>[^\]\n]*)\]\s+)?(?P<logger>{LOGGER})(?::\d+)?(?: -|:)\s"
        rf"(?=[^\n]*?{_SIGN}(?P<time>{DATED}){_END})(?P<message>.*)"
    ),
    starts=LEVEL_FIRST,
    rank=19,
    finish=_without_time,
)
