"""Removes marks around pasted lines: quotes, bullets, comments, frames, fences, numbers, file names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from rebalance_forensics.sources.pastes.piece import Piece, looks_like_record

_DEEPEST = 4
# In a run of this many lines that all start with it, a mark counts as one before any text.
_SURE_RUN = 4
# Markdown fences, the start and end of a comment, the top and bottom of a frame.
_BORDER = re.compile(r"\s*(?:(?:`{3,}|~{3,})[\w .+-]{0,20}|`|/?\*{1,80}/?|[\u2500-\u257f]{2,400})\Z")
# A fence on the same line as text, which chats allow.
_GLUED = re.compile(r"\A[ \t]{0,8}`{3,6}(?=[^`\s])|(?<=[^`\s])`{3,6}[ \t]{0,8}\Z")
_NUMBER = re.compile(
    r"[ \t]*[LN]?(?P<number>\d{1,7})(?:[:|.)\u2502][ \t]?|[-\t]|[ ]{1,4}(?=\S)|\Z)(?P<text>.*)", re.DOTALL
)
_FILE = re.compile(
    r"(?P<file>[\w./\\@+~-]{1,200}\.[A-Za-z]\w{0,9}(?:\.\d{1,3})?)[:-](?:\d{1,7}[:-])?(?P<text>.*)", re.DOTALL
)
_BAR = r"[\u2502\u2503|\u2551]"
_FRAME = re.compile(rf"\A[ \t]*+{_BAR} ?(?P<text>(?:(?!{_BAR}\Z).)*){_BAR}\Z", re.DOTALL)
_MARKS = tuple(
    re.compile(shape, re.DOTALL)
    for shape in (
        r"[ \t]{0,8}(?:>[ \t]?){1,6}(?P<text>.*)",
        r"[ \t]{0,8}[\u2502\u2503|\u2551](?:[ ](?P<text>.*)|(?P<empty>)\Z)",
        r"[ \t]{0,8}(?:[*\u2022\u25e6\u25aa\u00b7+-]|\d{1,3}[.)]|[a-z]\))[ \t]{1,4}(?P<text>\S.*)",
        r"[ \t]{0,8}(?:/\*{1,2}|\*(?=\s|\Z)|//+|#+|--(?=\s)|;+)[ \t]?(?P<text>.*)",
        # Inline code may start on the first line and end on the last.
        r"\A`(?P<text>.+?)`?\Z",
        # Emphasis, or a bullet without its blank.
        r"\A\*{1,3}(?P<text>[^*\s].*?)\*{0,3}\Z",
        r"[\"'](?P<text>[^\"']+)[\"'],?",
        r"(?: |[ \t]{2,40})(?P<text>\S.*)",
    )
)
_INDENT = _MARKS[-1]
_BARS = (_FRAME, _MARKS[1])
_TABLE_BARS = 3


def has_fence(lines: Sequence[str]) -> bool:
    """True if the lines include a Markdown fence."""
    fences = (line for line in lines if "```" in line or "~~~" in line)
    return any(_BORDER.match(line) or _GLUED.search(line) for line in fences)


def stripped(pieces: Sequence[Piece]) -> list[Piece]:
    """The lines without marks; marks may be nested, so they are removed until nothing changes."""
    found = [
        piece.reading("" if _BORDER.match(piece.text) else _GLUED.sub("", piece.text)) for piece in _dedented(pieces)
    ]
    for _ in range(_DEEPEST):
        before = found
        found = _without_numbers(found)
        found = _without(found, _FRAME)
        found = _without(found, _FILE)
        for mark in _MARKS:
            found = _without(found, mark)
        if found == before:
            break
    return found


def _dedented(pieces: Sequence[Piece]) -> list[Piece]:
    """The lines without the common indentation of a paragraph, as in indented code."""
    done: list[Piece] = []
    begins = True
    for indented, lines in groupby(
        pieces, key=lambda piece: piece.text[:1] in (" ", "\t") and bool(piece.text.strip())
    ):
        block = list(lines)
        # Indented lines directly below a line belong to it, like a stack trace.
        done.extend(_moved_left(block) if indented and begins else block)
        begins = not block[-1].text.strip() or _BORDER.match(block[-1].text) is not None
    return done


def _moved_left(block: Sequence[Piece]) -> Sequence[Piece]:
    # Tabs separate the cells of a table, the first of which may be empty.
    if any("\t" in piece.text.lstrip(" \t") for piece in block):
        return block
    least = min(len(piece.text) - len(piece.text.lstrip(" \t")) for piece in block)
    return [piece.reading(piece.text[least:]) for piece in block]


def _without(pieces: Sequence[Piece], mark: re.Pattern[str]) -> list[Piece]:
    """The lines without a mark, in each run of lines that start with it if it is one (`_is_mark`)."""
    done: list[Piece] = []
    inside = [_inside(piece.text, mark) for piece in pieces]
    if not any(text is not None for text in inside):
        return list(pieces)
    for marked, run in groupby(zip(pieces, inside, strict=True), key=lambda each: each[1] is not None):
        of_run, texts = zip(*run, strict=True)
        if marked and _is_mark(of_run, texts, mark):
            done.extend(piece.reading(text) for piece, text in zip(of_run, texts, strict=True))
        else:
            done.extend(of_run)
    return done


def _inside(text: str, mark: re.Pattern[str]) -> str | None:
    match = mark.match(text)
    if match is None or match.end() < len(text) or not text.strip() or looks_like_record(text):
        return None
    return (match["text"] or "").rstrip(" \t")


def _is_mark(run: Sequence[Piece], inside: Sequence[str], mark: re.Pattern[str]) -> bool:
    """True if a record starts after the mark, and for quotes in a long run; the bars of a table are not marks."""
    if mark in _BARS and all(piece.text.count("|") >= _TABLE_BARS for piece in run):
        return False
    records = sum(looks_like_record(text.lstrip(" \t`'\"")) for text in inside)
    if mark is _INDENT:
        return records * 2 >= len(run)
    if records:
        return True
    return len(run) >= _SURE_RUN and mark in _MARKS[:1]


def _without_numbers(pieces: Sequence[Piece]) -> list[Piece]:
    """The lines without the line numbers of an editor or grep, which increase from line to line."""
    done: list[Piece] = []
    run: list[tuple[Piece, int, str]] = []
    for piece in [*pieces, None]:
        match = _NUMBER.match(piece.text) if piece is not None else None
        match = None if piece is not None and match is not None and looks_like_record(piece.text) else match
        if piece is not None and match and (not run or int(match["number"]) > run[-1][1]):
            run.append((piece, int(match["number"]), match["text"]))
            continue
        done.extend(_numbered(run))
        run = [(piece, int(match["number"]), match["text"])] if piece is not None and match else []
        if piece is not None and not match:
            done.append(piece)
    return done


def _numbered(run: Sequence[tuple[Piece, int, str]]) -> list[Piece]:
    steps = {after[1] - before[1] for before, after in pairwise(run)}
    # If a line is wrapped within a number, two consecutive pieces may start with consecutive numbers by chance.
    sure = len(run) > 2 and steps == {1}
    if sure or any(looks_like_record(text.lstrip()) for _, _, text in run):
        return [piece.reading(text) for piece, _, text in run]
    return [piece for piece, _, _ in run]
