"""Restores pastes to the original log lines; each line keeps its position in the paste."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics.records import LEFT_OUT
from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.layouts.split_messages import below
from rebalance_forensics.sources.lines.blocks import whole_lines
from rebalance_forensics.sources.lines.cut_lines import cut_column, is_cut
from rebalance_forensics.sources.lines.line_ends import line_feeds
from rebalance_forensics.sources.lines.text import text_of
from rebalance_forensics.sources.pastes import characters, cut_objects, dates, examples, marks, markup, tables, wraps
from rebalance_forensics.sources.pastes.joined_records import parted
from rebalance_forensics.sources.pastes.piece import (
    Piece,
    belongs_below,
    has_time,
    is_exception,
    is_heading,
    is_object,
    is_setting,
    lacks_message,
    looks_like_record,
)

# The number of lines that are restored together: wrapping and marks only show over many lines.
_PAGE_LINES = 5_000
# After an empty line, or as the first line, it was copied out of a stack trace and continues no record.
_CAUSE = "Caused by: "
_GOES_ON = (" ", "\t", "at ", _CAUSE, "... ")
# AbstractConfig prints a blank at the end of the line, which often gets lost.
_SETTINGS_FOLLOW = "Config values: "

_MOVED = ("  ", " at ", " ...")
_LEFT_BEHIND = frozenset("}]).,;`'\" \t")


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The lines as the logger wrote them, with their positions."""
    page: list[Piece] = []
    for piece in _pieces(chunks):
        page.append(piece)
        if len(page) >= _PAGE_LINES:
            yield from restored(page)
            page = []
    yield from restored(page)


def _pieces(chunks: Iterator[bytes]) -> Iterator[Piece]:
    number = 0
    for block in whole_lines(line_feeds(chunks)):
        offset = block.offset
        for raw in block.data.removesuffix(b"\n").split(b"\n"):
            number += 1
            yield Piece(offset, number, text_of(raw))
            offset += len(raw) + 1


def restored(page: Sequence[Piece]) -> list[Placed]:
    """The lines of one page of a paste, without examples and marks, with cells and wrapped lines restored."""
    plain = [piece.reading(characters.plain(piece.text)) for piece in page]
    pieces = markup.without_tags([*examples.left_out(plain)])
    pieces = marks.stripped([piece.reading(cut_objects.opened(piece.text)) for piece in pieces])
    pieces = cut_objects.in_one_line(pieces)
    found = tables.split([piece.reading(dates.in_english(piece.text)) for piece in pieces])
    pieces = [each for each in found if isinstance(each, Piece)]
    timed = any(has_time(each.text) for each in pieces)
    done: list[Placed] = [each for each in found if not isinstance(each, Piece)]
    after_blank, in_settings, after_record, below_heading, before = True, False, False, False, ""
    for piece in parted(_with_messages(_whole(pieces, timed=timed))):
        if not piece.text.strip():
            after_blank = True
            continue
        text = _object_in(piece.text)
        if after_blank and text.startswith(" ") and not text.startswith(_MOVED):
            text = text.strip()  # the selection began a blank too early
        if text.rstrip().endswith(_SETTINGS_FOLLOW.rstrip()):
            text = text.rstrip() + " "
        piece = piece.reading(text)  # noqa: PLW2901
        goes_on = piece.text.startswith(_GOES_ON) and not (after_blank and piece.text.startswith(_CAUSE))
        goes_on = goes_on or (after_record and not after_blank and is_exception(piece.text))
        goes_on = goes_on or (not timed and not after_blank and wraps.is_rest_of_a_sentence(before, piece.text))
        below_heading = below_heading and not after_blank and not looks_like_record(piece.text)
        goes_on = goes_on or below_heading
        begins = not goes_on and (not timed or after_blank or looks_like_record(piece.text))
        in_settings = in_settings and is_setting(piece.text)
        done.append((piece.offset, piece.number, Line(text=piece.text, begins=begins and not in_settings)))
        in_settings = in_settings or text.endswith(_SETTINGS_FOLLOW)
        below_heading = below_heading or is_heading(text.rstrip())
        after_blank, after_record, before = False, looks_like_record(piece.text), piece.text
    return sorted(done, key=lambda entry: entry[1])


def _whole(pieces: Sequence[Piece], *, timed: bool) -> list[Piece]:
    """The lines before they were wrapped; lines that were truncated at a column get an ellipsis."""
    column = cut_column([(piece.text, looks_like_record(piece.text)) for piece in pieces])
    if column is None:
        return wraps.joined(pieces, timed=timed)
    return [piece.reading(piece.text + LEFT_OUT) if is_cut(piece.text, column) else piece for piece in pieces]


def _with_messages(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The lines, with each header joined to the message on the line below."""
    header: Piece | None = None
    for piece in pieces:
        if header is not None and piece.text.strip() and belongs_below(piece.text):
            yield header.reading(below(header.text, piece.text))
            header = None
            continue
        if header is not None:
            yield header
        header = piece if lacks_message(piece.text) else None
        if header is None:
            yield piece
    if header is not None:
        yield header


def _object_in(text: str) -> str:
    """The JSON object in a line without trailing brackets or code marks, closed if it was truncated; else the line."""
    if not is_object(text):
        return text
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except RecursionError:
        return text
    except ValueError:
        return cut_objects.closed(text)
    return text[:end] if _LEFT_BEHIND.issuperset(text[end:]) else text
