"""Which statements the catalog matches, in every release that prints them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.statements.filling import NoValueError, filled, parts
from benchmarks.statements.reading import Statement, rank
from rebalance_forensics.catalog.matcher import Catalog

_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result for a statement: the releases in which all its wordings are known, and those in which one is not."""

    statement: Statement
    known: tuple[str, ...]
    missed: tuple[str, ...]
    reason: str | None
    """Why the catalog misses it; None if it does not."""
    events: frozenset[str]
    """The events of its lines; empty for a known line that is not about groups."""
    claimed_twice: bool


def ask(catalog: Catalog, statements: Iterable[Statement]) -> list[Answer]:
    """Match all statements with the catalog."""
    return [_answer(catalog, statement) for statement in statements]


def _answer(catalog: Catalog, statement: Statement) -> Answer:
    reasons: dict[str, list[str]] = defaultdict(list)
    releases: dict[str, None] = {}
    events: set[str] = set()
    claims = 0
    for wording in statement.wordings:
        for release in wording.releases:
            releases[release] = None
            try:
                message = filled(statement, wording, release)
            except NoValueError as error:
                reasons[release].append(f"no plausible value is known for `{error}`")
                continue
            found = catalog.matches(message, logger=statement.name)
            claims = max(claims, len(found))
            events |= {match.event for match in found[:1] if match.event}
            if not found:
                reasons[release].append(_why_not(statement))
    return Answer(
        statement=statement,
        known=tuple(one for one in releases if one not in reasons),
        missed=tuple(sorted(reasons, key=rank)),
        reason=next((reason for told in reasons.values() for reason in told), None),
        events=frozenset(events),
        claimed_twice=claims > 1,
    )


def _why_not(statement: Statement) -> str:
    if not _words(parts(statement.template)[::2]):
        return "it has no words of its own: what it prints is another message or an exception's text"
    return "the catalog does not know it"


def _words(literals: Sequence[str]) -> list[str]:
    """Distinctive words: `failed due to` occurs in any message."""
    return [word for word in _WORD.findall(" ".join(literals)) if word not in ("failed", "due")]
