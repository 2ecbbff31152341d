"""Converts HTML to lines: rows and paragraphs become lines, cells are separated by tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rebalance_forensics.sources.pastes.piece import Piece

_TAG = re.compile(
    r"</?(?:table|thead|tbody|tr|td|th|p|div|li|ul|ol|pre|code|span|b|i|em|strong|font|a|html|body|h\d|br|blockquote)"
    r"(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
_CELL_ENDS = re.compile(r"</t[dh]>\s*(?=<t[dh]\b)", re.IGNORECASE)
_LINE_ENDS = re.compile(r"<br\s{0,3}/?>|</(?:tr|p|div|li|pre|blockquote|h\d)>", re.IGNORECASE)
_ROW = re.compile(r"<tr\b|</tr>", re.IGNORECASE)
# A row of a Markdown table stays one row, even with line breaks in its cells.
_MARKDOWN_ROW = re.compile(r"\s{0,8}\|.*\|\s*+\Z")
_LONGEST_ROW = 40


def without_tags(pieces: Sequence[Piece]) -> list[Piece]:
    """The text that a browser would show if there are tags; else the unchanged lines."""
    if not any("<" in piece.text and _TAG.search(piece.text) for piece in pieces):
        return list(pieces)
    return [part for piece in _whole_rows(pieces) for part in _shown(piece)]


def _whole_rows(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces, with each table row that was split over several lines joined to one."""
    row: list[Piece] = []
    for piece in pieces:
        row.append(piece)
        ends = _ROW.findall("".join(each.text for each in row))
        if len(row) > _LONGEST_ROW or not ends or ends[-1].startswith("</"):
            yield from [row[0].reading("".join(each.text.strip() for each in row))] if ends else row
            row = []
    yield from row


def _shown(piece: Piece) -> Iterator[Piece]:
    if "<" not in piece.text:
        yield piece
        return
    if _MARKDOWN_ROW.match(piece.text):
        yield piece.reading(_TAG.sub("", _LINE_ENDS.sub("\n", piece.text)))
        return
    text = _TAG.sub("", _LINE_ENDS.sub("\n", _CELL_ENDS.sub("\t", piece.text))).removesuffix("\n")
    at = 0
    for part in text.split("\n"):
        yield piece.reading(text).part(at, at + len(part))
        at += len(part) + 1
