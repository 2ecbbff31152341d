"""Errors that the user can fix: one sentence with the problem, the place, the remedy and similar names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

MAX_SUGGESTED = 10


def near_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The most similar names, best first: equal but for case and punctuation, then typing errors, then substrings."""
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
    """`did you mean a, b or c?`, or the first of the known names if none is similar."""
    names = list(dict.fromkeys(known))
    return meant(near_names(name, names)) or f"{kind}: {_first_of(names) or 'none'}."


def meant(near: Sequence[str]) -> str:
    """`did you mean a, b or c?`; empty if there are no names."""
    from rebalance_forensics.diagnosis.wording.durations import listed  # noqa: PLC0415 - `--help` needs none of it

    return f"did you mean {listed(near, 'or')}?" if near else ""


def _first_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SUGGESTED} more" if len(names) > MAX_SUGGESTED else ""
    return f"{', '.join(names[:MAX_SUGGESTED])}{more}"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")


class InputError(Exception):
    """The command or its input is invalid; the message is the sentence to show."""


def refuse_unknown_name(name: str, known: Iterable[str]) -> NoReturn:
    """Raise InputError for a name that the logs do not contain, with similar names."""
    raise InputError(f"no member, broker or topic matches {name!r}; {did_you_mean(name, known, 'names in these logs')}")


def refuse_unknown_group(group: str | None, known: Iterable[str]) -> NoReturn:
    """Raise InputError for a group that is missing or ambiguous: an empty report would look like a healthy group."""
    if group is None:
        names = list(dict.fromkeys(known))
        which = f"name one of {len(names)} groups with --group: {_first_of(names)}."
        raise InputError(which if names else "no line names a group.")
    raise InputError(f"no line mentions group {group!r}; {did_you_mean(group, known, 'groups in these logs')}")


def address_of(option: str, text: str) -> str:
    """The text if it is an HTTP address without a fragment; raises InputError otherwise."""
    if not text.startswith(("http://", "https://")) or any(
        not letter.isprintable() or letter in ' "<>|#' for letter in text
    ):
        raise InputError(f"{option} {text}: write the address of a page, such as https://reports.example/today.html.")
    return text
