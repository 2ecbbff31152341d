"""YAML: Google Cloud's log entries, documents one after another; what Kubernetes says of objects, listed or alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.lines.text import lines_of

_BEGINS = re.compile(r"(?:---\n)?(?:[a-zA-Z]+:[^\n]*\n|[ -][^\n]*\n)*?(?:textPayload|jsonPayload):")
# Comments may stand above it: a recorder's, or how somebody got it.
_OF_KUBERNETES = re.compile(r"(?:---\n|#[^\n]*\n|\n){0,50}apiVersion: (?:v1|events\.k8s\.io/v1|autoscaling/v[12])\n")
_OF_A_LIST = frozenset(("apiVersion", "kind", "metadata", "items"))
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def is_document(text: str) -> bool:
    """True if a text starts with such an entry."""
    if _OF_KUBERNETES.match(text):
        return True
    return text.startswith(("---\n", "insertId:")) and _BEGINS.match(text) is not None


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The entries with their positions; those that are not valid YAML are left out."""
    document: list[bytes] = []
    start, first, offset = 0, 1, 0
    number = 0
    for number, line in enumerate(lines_of(chunks), 1):
        # The items of a list are objects by themselves; the whole of it may be large.
        item = line.startswith(b"- ") or line.rstrip() in (b"items:", b"kind: List", b"kind: EventList")
        if item:
            yield from _entry(start, first, document)
            document, start, first = ([line] if line.startswith(b"- ") else []), offset, number
        elif line.rstrip() == b"---":
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
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and not value.keys() <= _OF_A_LIST:
        yield start, first, Line(text="", fields=value)
