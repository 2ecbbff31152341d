"""Joins messages with a header on the line above, as written by console loggers and by people who paste."""

from __future__ import annotations

import re

_LEVELS = ("INFO", "WARN", "WARNING", "ERROR", "DEBUG", "TRACE", "FATAL", "INF", "WRN", "ERR", "DBG")
HEADER_ENDS = ("-", ":", "]", ">", "|", *_LEVELS)
"""How a header ends if the blank before its message was lost with the line end."""
# Empty, or only a prefix of Kafka's LogContext: the message itself is on the next line.
_PREFIXES = re.compile(r"[ \t]*+(?:\[[^\[\]\n]*\]:?[ \t]*)*\r?")
# The coordinator never logs its reason on a separate line.
_REASON = re.compile(r"\n[ \t]*+(?=\(reason: )")


def awaits_message(message: str) -> bool:
    """True if the message is not on the line of its header."""
    return _PREFIXES.fullmatch(message) is not None


def in_one_line(message: str) -> str:
    """The message on one line, if all of it or its reason is on the line below."""
    first, _, rest = message.partition("\n")
    if rest and awaits_message(first):
        message = below(first, rest).lstrip(" ")
    broken = _REASON.search(message) if "(reason: " in message else None
    return below(message[: broken.start()], message[broken.end() :]) if broken else message


def below(header: str, rest: str) -> str:
    """A header and the message below it on one line."""
    return header.rstrip() + " " + rest.lstrip(" \t")
