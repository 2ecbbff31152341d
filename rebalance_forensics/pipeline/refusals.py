"""What a user can put right, said in one sentence: what, where, remedy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from rebalance_forensics.report.near_names import did_you_mean


class InputError(Exception):
    """The command or its input cannot be used as it is; the message is the sentence to show."""


def refuse_unknown_name(name: str, known: Iterable[str]) -> NoReturn:
    """Nobody of that name: the known ones help further than an empty answer."""
    raise InputError(f"no member, broker or topic matches {name!r}; {did_you_mean(name, known, 'names in these logs')}")


def refuse_unknown_group(group: str, known: Iterable[str]) -> NoReturn:
    """No group of that name: a report on nothing would read as if all were well."""
    raise InputError(f"no line mentions group {group!r}; {did_you_mean(group, known, 'groups in these logs')}")


def address_of(option: str, text: str) -> str:
    """The address of a page, without what a link to a part of it would be put behind."""
    if not text.startswith(("http://", "https://")) or any(
        not letter.isprintable() or letter in ' "<>|#' for letter in text
    ):
        raise InputError(f"{option} {text}: write the address of a page, such as https://reports.example/today.html.")
    return text
