"""What a user can put right, said in one sentence: what, where, remedy, and the name that was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

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
    """`did you mean a, b or c?`, or the first of all that there are."""
    names = list(dict.fromkeys(known))
    return meant(near_names(name, names)) or f"{kind}: {_first_of(names) or 'none'}."


def meant(near: Sequence[str]) -> str:
    """`did you mean a, b or c?`; empty where nothing is near."""
    from rebalance_forensics.diagnosis.wording.durations import listed  # noqa: PLC0415 - `--help` needs none of it

    return f"did you mean {listed(near, 'or')}?" if near else ""


def _first_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - SUGGESTED} more" if len(names) > SUGGESTED else ""
    return f"{', '.join(names[:SUGGESTED])}{more}"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.casefold()).strip("-")


class InputError(Exception):
    """The command or its input cannot be used as it is; the message is the sentence to show."""


def refuse_unknown_name(name: str, known: Iterable[str]) -> NoReturn:
    """Nobody of that name: the known ones help further than an empty answer."""
    raise InputError(f"no member, broker or topic matches {name!r}; {did_you_mean(name, known, 'names in these logs')}")


def refuse_unknown_group(group: str | None, known: Iterable[str]) -> NoReturn:
    """No group of that name, or several where none was named: a report on nothing would read as if all were well."""
    if group is None:
        names = list(dict.fromkeys(known))
        which = f"name one of {len(names)} groups with --group: {_first_of(names)}."
        raise InputError(which if names else "no line names a group.")
    raise InputError(f"no line mentions group {group!r}; {did_you_mean(group, known, 'groups in these logs')}")


def address_of(option: str, text: str) -> str:
    """The address of a page, without what a link to a part of it would be put behind."""
    if not text.startswith(("http://", "https://")) or any(
        not letter.isprintable() or letter in ' "<>|#' for letter in text
    ):
        raise InputError(f"{option} {text}: write the address of a page, such as https://reports.example/today.html.")
    return text
