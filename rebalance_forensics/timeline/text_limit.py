"""Texts of any length within a limit: what is cut says so, and how much is missing, also where it is cut twice."""

from __future__ import annotations

import re

_CUT = re.compile(r" … \(\+(\d{1,18}) characters?\)\Z")
_LONGEST_MARK = 40
# To say that so many characters are missing would take as many.
_NOT_WORTH_IT = 20


def shortened(text: str, limit: int) -> str:
    """Cut a text to `limit` characters and say how many were left out."""
    if len(text) <= limit + _NOT_WORTH_IT:
        return text
    found = _CUT.search(text, max(0, len(text) - _LONGEST_MARK))
    whole, missing = (text[: found.start()], int(found[1])) if found else (text, 0)
    if len(whole) <= limit:
        return text
    missing += len(whole) - limit
    return f"{whole[:limit].rstrip()} … (+{missing} character{'' if missing == 1 else 's'})"
