"""What somebody who wrote a name wrongly may have meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

SUGGESTED = 10


def near_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The names most like it, best first: other case or signs, a part of one or the other way round, a slip."""
    by_plain: dict[str, list[str]] = {}
    for candidate in dict.fromkeys(known):
        by_plain.setdefault(_plain(candidate), []).append(candidate)
    wanted = _plain(name)
    if not wanted:
        return []
    parts = [plain for plain in by_plain if plain and (wanted in plain or plain in wanted)]
    alike = difflib.get_close_matches(wanted, by_plain, n=limit, cutoff=0.7)
    ordered = dict.fromkeys([*(plain for plain in by_plain if plain == wanted), *alike, *parts])
    return [candidate for plain in ordered for candidate in by_plain[plain]][:limit]


def did_you_mean(name: str, known: Iterable[str], kind: str) -> str:
    """`did you mean a or b?`, or the first of all that there are."""
    names = list(dict.fromkeys(known))
    if near := near_names(name, names):
        return f"did you mean {' or '.join(near)}?"
    more = f" and {len(names) - SUGGESTED} more" if len(names) > SUGGESTED else ""
    return f"{kind}: {', '.join(names[:SUGGESTED]) or 'none'}{more}."


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")
