"""Pieces of Markdown: log text is quoted so that nothing in it is taken for markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """Text as it stands in a log, within a line; a backtick in it needs more around it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cell(text: str) -> str:
    """The same within a table, where a bar would end the cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing where there are no rows."""
    lines = ["| " + " | ".join(cell(one) for one in row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *lines])


def block(text: str, language: str = "text") -> str:
    """Lines of a log, each as it stands there."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def page(*parts: str) -> str:
    """Parts one after another, each a paragraph; empty ones are left out."""
    return "\n\n".join(part for part in parts if part) + "\n"


def slug(name: str) -> str:
    """A name as an address: `PollTimeoutExpired` becomes `poll-timeout-expired`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").lower()
