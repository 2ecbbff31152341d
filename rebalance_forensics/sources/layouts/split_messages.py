"""Messages that begin below their header: console loggers, and people who paste, put a line end between the two."""

from __future__ import annotations

import re

_LEVELS = ("INFO", "WARN", "WARNING", "ERROR", "DEBUG", "TRACE", "FATAL", "INF", "WRN", "ERR", "DBG")
HEADER_ENDS = ("-", ":", "]", ">", "|", *_LEVELS)
"""What a header ends with once the blank in front of its message is lost with the line end."""
# Nothing, or what Kafka's LogContext puts in front of a message: the message itself is still to come.
_PREFIXES = re.compile(r"[ \t]*+(?:\[[^\[\]\n]*\]:?[ \t]*)*\r?")
# The coordinator never writes its reason on a line of its own.
_REASON = re.compile(r"\n[ \t]*+(?=\(reason: )")


def awaits_message(message: str) -> bool:
    """True if what follows a header is no message yet."""
    return _PREFIXES.fullmatch(message) is not None


def in_one_line(message: str) -> str:
    """The message as it was logged, where all of it or its reason stands on a line below."""
    first, _, rest = message.partition("\n")
    if rest and awaits_message(first):
        message = below(first, rest).lstrip(" ")
    broken = _REASON.search(message) if "(reason: " in message else None
    return below(message[: broken.start()], message[broken.end() :]) if broken else message


def below(header: str, rest: str) -> str:
    """A header and its message in one line."""
    return header.rstrip() + " " + rest.lstrip(" \t")
