"""Restores JSON objects that were split over several lines, lost their first brace or were truncated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from rebalance_forensics.sources.layouts.json_fields import object_of
from rebalance_forensics.sources.pastes.piece import Piece

_CUT = re.compile(r"\s?(?:\u2026|\.{3,9})\s?")
_MARK = " \u2026"
_UNOPENED = re.compile(r'"[@\w.-]{1,60}": ?["\d]')
_LETTER = re.compile(r"[^\W_]")
_OPENS, _CLOSES = "{[", "}]"
_MOST_LINES = 60


def in_one_line(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, with each JSON object that was split over several lines joined to one."""
    done: list[Piece] = []
    at = 0
    while at < len(pieces):
        size = _lines_of_object(pieces, at) if pieces[at].text.strip() == "{" else 0
        written = "".join(piece.text.strip() for piece in pieces[at : at + size])
        done.append(pieces[at].reading(written or pieces[at].text))
        at += size or 1
    return done


def _lines_of_object(pieces: Sequence[Piece], at: int) -> int:
    written = ""
    for size, piece in enumerate(islice(pieces, at, at + _MOST_LINES), 1):
        written += piece.text.strip()
        if piece.text.strip() == "}" and object_of(written) is not None:
            return size
    return 0


def opened(text: str) -> str:
    """The object with its first brace, if the selection started after it."""
    body, brace, behind = text.rpartition("}")
    if not brace or _UNOPENED.match(text) is None or _LETTER.search(behind):
        return text
    return f"{{{text}" if object_of(f"{{{body}}}") is not None else text


def closed(text: str) -> str:
    """The completed object, with an ellipsis where it was truncated; the unchanged text if no completion parses."""
    cuts = [(text[: cut.start()], text[cut.end() :]) for cut in _CUT.finditer(text)]
    heads = dict.fromkeys((*cuts[:1], *cuts[-1:]))
    for head, tail in [*heads, (text, "")]:
        for candidate in _candidates(head, tail):
            if object_of(candidate) is not None:
                return candidate
    return text


def _candidates(head: str, tail: str) -> list[str]:
    """The possible completions: of the string alone, or of the object as well."""
    closing = _open_at_the_end(head)
    if closing is None:
        return []
    shut = f'{head}{_MARK}"'
    rest = tail.lstrip(" ,")
    return [*([f"{shut},{rest}"] if rest.startswith('"') else []), shut + "".join(reversed(closing))]


def _open_at_the_end(head: str) -> list[str] | None:
    """The brackets that close a text which ends within a string; None if it ends elsewhere."""
    waiting: list[str] = []
    inside = escaped = False
    for letter in head:
        if escaped:
            escaped = False
        elif inside and letter == "\\":
            escaped = True
        elif letter == '"':
            inside = not inside
        elif not inside and letter in _OPENS:
            waiting.append(_CLOSES[_OPENS.index(letter)])
        elif not inside and letter in _CLOSES and waiting:
            waiting.pop()
    return waiting if inside and not escaped and waiting else None
