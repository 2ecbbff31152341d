"""Google Cloud's log entries as `gcloud logging read` prints them: YAML documents one after another."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.lines.text import lines_of

_BEGINS = re.compile(r"(?:---\n)?(?:[a-zA-Z]+:[^\n]*\n|[ -][^\n]*\n)*?(?:textPayload|jsonPayload):")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def is_document(text: str) -> bool:
    """True if a text begins such an entry."""
    return text.startswith(("---\n", "insertId:")) and _BEGINS.match(text) is not None


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The entries with their places; those that are not valid YAML are left out."""
    document: list[bytes] = []
    start, first, offset = 0, 1, 0
    number = 0
    for number, line in enumerate(lines_of(chunks), 1):
        if line.rstrip() == b"---":
            yield from _entry(start, first, document)
            document, start, first = [], offset + len(line), number + 1
        else:
            document.append(line)
        offset += len(line)
    yield from _entry(start, first, document)


def _entry(start: int, first: int, lines: list[bytes]) -> Iterator[Placed]:
    try:
        value = yaml.load(b"".join(lines), _LOADER)  # noqa: S506 - the base loader makes nothing but texts
    except (yaml.YAMLError, RecursionError):
        return
    if isinstance(value, dict):
        yield start, first, Line(text="", fields=value)
