"""Suffixes that a layout appends to every message: the context of the thread, the ids of a trace."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SUFFIX = re.compile(
    r"(?<![ \t])[ \t]++(?:\{(?:[\w.@-]+=[^{}\n]*)?\}"
    r"|\[(?:[\w.-]{0,80}?(?:trace|span|correlation|request|tenant)[\w.-]{0,80}?[=:][^\[\]\n]*)\]"
    r"|(?:[\w.-]{0,80}?(?:[tT]race|[sS]pan|correlation|request|tenant)[\w.-]{0,80}?="
    r"\S*+[ \t]*+){1,8})[ \t]*+$",
    re.MULTILINE,
)
_FEWEST = 5
_MOSTLY = 0.7


def are_appended(messages: Sequence[str]) -> bool:
    """True where nearly every message ends with a suffix: it is the layout's, not Kafka's."""
    ending = sum(_SUFFIX.search(message) is not None for message in messages)
    return len(messages) >= _FEWEST and ending > _MOSTLY * len(messages)


def without_suffix(message: str) -> str:
    """The message as it was logged; a stack trace may follow the suffix."""
    found = list(_SUFFIX.finditer(message))
    return message[: found[-1].start()] + message[found[-1].end() :] if found else message
