"""Lines that documentation shows as examples, in a runbook or a changelog: nothing that happened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rebalance_forensics.sources.pastes.piece import Piece

# A condition with its symptom, as opposed to a report, which says what was seen, or where.
_CONDITION = (
    r"\b(?:when|whenever|if|once|in case|should) (?:you|somebody|someone|an? (?:client|consumer|member|service))"
    r" (?:ever |still |also |only )?"
    r"(?:sees?|finds?|gets?|observes?|notices?|hits?|encounters?|runs? into|logs?|prints?)\b"
)
_OPENS = re.compile(
    rf"{_CONDITION}(?! (?:the |my |our |these |this |in )*(?:logs?|outputs?|traces?|attach\w*)\b)[^.!?\n`\"]{{0,60}}$",
    re.IGNORECASE,
)
# Lines that somebody looked up come after a sentence that says where.
_CITES = re.compile(
    r"^\W{0,8}(?:(?:the |kafka'?s? |official |as )*(?:docs?|documentation|javadocs?|manual|source(?: code)?)"
    r" (?:says?|states?|reads?|mentions?|tells?)\b|(?:from|according to|as in) (?:the |kafka'?s? |official )*"
    r"(?:docs?|documentation|javadocs?|manual)\b)[^.!?\n`\"]{0,60}:\s*$",
    re.IGNORECASE,
)
_QUOTES = re.compile(rf"{_CONDITION}[^.!?\n`\"]{{0,60}}[`\"]", re.IGNORECASE)
_CHANGE = re.compile(
    r"\s*[-*+\u2022] (?:\[?[A-Z]+-\d+\]?:? |#\d+:? )?(?:fix(?:e[sd])?|add(?:s|ed)?|chang(?:es?|ed)|remov(?:es?|ed)"
    r"|improv(?:es?|ed)|avoids?|handles?|prevents?|retr(?:y|ies)|no longer)\b[^\n`\"]{0,80}[`\"]",
    re.IGNORECASE,
)
_FENCE = "```"


def has_any(lines: Iterable[str]) -> bool:
    """True if a line introduces or quotes an example."""
    return any(_introduces(line) or _QUOTES.search(line) or _CHANGE.match(line) for line in lines)


def left_out(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The lines, with those emptied that a condition or a changelog entry quotes as examples."""
    opened, fenced, begun = False, False, False
    for piece in pieces:
        text = piece.text.strip()
        if opened and (fenced or text):
            fence = text.startswith(_FENCE)
            yield piece.reading("")
            fenced, begun = fenced != fence, not text.endswith(":")
            opened = fenced or not fence
            continue
        opened = (opened and not begun) or _introduces(text)
        begun = False
        is_example = _QUOTES.search(text) or _CHANGE.match(piece.text)
        yield piece.reading("") if is_example else piece


def _introduces(text: str) -> bool:
    return _OPENS.search(text) is not None or _CITES.match(text) is not None
