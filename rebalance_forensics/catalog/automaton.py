"""A program run in time that grows with the length of the text alone, whatever the text holds: by RE2.

RE2 does not backtrack. It knows neither blanks beyond ASCII nor a look ahead. The one look ahead that templates compile
to, "blanks and a line break follow", becomes a mark that is put into the text wherever that holds; what the groups hold
is cut from the text without marks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import chain

import re2
import regex

BREAK_AHEAD = r"(?=\s*\n)"
"""The look ahead that a program may have; any other is refused by RE2."""
_MARK = "\x0b"
_BLANKS = r"\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
"""What `\\s` means to `regex`; the mark is one of them, so that blanks in a program pass over it."""
_TOKEN = re.compile(r"(?P<ahead>\(\?=\\s\*\\n\))|\\(?P<escaped>.)|(?P<opens>\[\^?\]?)|(?P<closes>\])|.", re.DOTALL)
_BREAKS = regex.compile(r"(?<=\S)(?=[^\S\n]*+\n)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Automaton:
    """One anchored program; it fills the same groups as the same program of `regex`."""

    def __init__(self, source: str) -> None:
        options = re2.Options()
        options.log_errors = False
        self._program = re2.compile(_translated(source), options)

    def fullmatch(self, text: str) -> tuple[str | None, ...] | None:
        """What the groups hold, None each where a group took no part; None where the text is not of this program."""
        inserted = [found.start() for found in _BREAKS.finditer(text)]
        # Any other blank does for a mark that is there already: groups are cut from the text itself.
        marked = _with_marks(text.replace(_MARK, "\f"), inserted)
        # JSON may escape half a character, which UTF-8 cannot say.
        match = self._program.fullmatch(marked if marked.isascii() else _SURROGATE.sub("\ufffd", marked))
        if match is None:
            return None
        marks = [at + before for before, at in enumerate(inserted)]
        spans = (match.span(group) for group in range(1, self._program.groups + 1))
        return tuple(
            None if start < 0 else text[start - bisect_left(marks, start) : end - bisect_left(marks, end)]
            for start, end in spans
        )


def _with_marks(text: str, places: list[int]) -> str:
    if not places:
        return text
    pieces = (text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True))
    return _MARK.join(pieces)


def _translated(source: str) -> str:
    return "".join(chain.from_iterable(_tokens(source)))


def _tokens(source: str) -> list[str]:
    """The program in RE2's dialect, token by token."""
    written: list[str] = []
    inside = False
    for token in _TOKEN.finditer(source):
        if token["ahead"]:
            written.append(_MARK)
        elif token["escaped"]:
            written.append(_escaped(token["escaped"], inside=inside))
        else:
            inside = (inside or bool(token["opens"])) and not token["closes"]
            written.append(token[0])
    return written


def _escaped(char: str, *, inside: bool) -> str:
    if char == "s":
        return _BLANKS if inside else f"[{_BLANKS}]"
    if char == "S":
        return f"[^{_BLANKS}]"
    if char == " " and not inside:
        return f"{_MARK}? "
    return f"\\{char}" if char.isalnum() or char in r".^$*+?{}[]|()\-/" else char
