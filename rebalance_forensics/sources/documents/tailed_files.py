"""Output of `tail` and `head` for several files: `==> path <==` before the lines of each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.files.hosts import host_of
from rebalance_forensics.sources.lines.text import lines_of, text_of

_HEADING = re.compile(rb"==> (?P<path>\S[^\n]*?) <==\r?\n?\Z")
_BEGINS = re.compile(r"(?:tail: [^\n]*\n)*==> \S[^\n]* <==\r?\n")


def is_document(text: str) -> bool:
    """True if a text starts with such a heading."""
    return _BEGINS.match(text) is not None


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The lines with their positions and the hosts that the paths name; a heading follows a blank line."""
    host: str | None = None
    blank: tuple[int, int] | None = None
    offset, after = 0, 0
    for number, raw in enumerate(lines_of(chunks), 1):
        offset, after = after, after + len(raw)
        if heading := _HEADING.match(raw):
            host, blank = host_of(heading["path"].decode("utf-8", "replace").lstrip("./")), None
            continue
        if blank is not None:
            yield *blank, Line(text="", host=host)
            blank = None
        text = text_of(raw.rstrip(b"\n"))
        if text:
            yield offset, number, Line(text=text, host=host)
        else:
            blank = offset, number
