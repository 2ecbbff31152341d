"""What shows that a line is only a part of one."""

from __future__ import annotations

import re
from collections.abc import Callable

from rebalance_forensics.sources.layouts.base import Parsed

_FORM_BYTES = 10
_DIGIT = re.compile(rb"\d")


def is_severed(first: bytes, other: bytes, is_usual: Callable[[bytes], bool]) -> bool:
    """Whether the first line of a file lacks the first bytes of its header, when another line of it has a whole one.

    Such a rest may look like a header of another layout, or like one of another year: `6-11-20 10:15:30`.
    """
    form = _form(other)
    if not other or _form(first) == form:
        return False
    return any(_form(other[:size] + first) == form and is_usual(other[:size] + first) for size in range(1, _FORM_BYTES))


def ends_with_logger(text: str, parsed: Parsed) -> bool:
    """Whether a record ends with its logger in parentheses."""
    return bool(parsed.logger) and text.rstrip().endswith(f"({parsed.logger})")


def _form(line: bytes) -> bytes:
    """How a line begins: its first bytes, whatever the digits."""
    return _DIGIT.sub(b"9", line[:_FORM_BYTES])
