"""Joins lines that a terminal, a mail program or a form wrapped at its width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from rebalance_forensics.sources.layouts.json_fields import object_of
from rebalance_forensics.sources.lines.text import is_jvm_output
from rebalance_forensics.sources.pastes.piece import (
    LEVEL_FIRST,
    Piece,
    has_time,
    is_exception,
    is_object,
    is_setting,
    lacks_message,
    looks_like_record,
)

_NARROWEST = 36
_WIDEST = 400
_SHARE = 0.8
_ENDS_A_WORD = ".,:;)]}"
# The logger that ends a record in Kafka's own layout: the line does not continue after it.
_LOGGER_LAST = re.compile(r"(?:^|\s)\((?:[\w$-]{1,60}\.){1,20}[A-Z][\w$]{0,80}(?::\d{1,6})?\)\Z")
_SMALL_WORD = re.compile(
    r"(?:a|after|and|as|because|before|between|by|due|during|for|from|has|in|into|is|its|no|not|of|on|or|than|that|the"
    r"|to|until|was|were|when|which|while|will|with|within|without) "
)
_SENTENCE_ENDS = (".", ")", "]")
# brod's group members log a heading, with the message on the next line (brod_group_coordinator.erl).
_HEADINGS = ("Group member (", "group coordinator (")
# A class name from its start: the rest of one that was wrapped within its name starts differently.
_WHOLE_CLASS = re.compile(r"(?:org|com|io|net|kafka|scala|akka|reactor|javax)\.")
_ANNOUNCES = re.compile(r"(?:[:=,(\[{]|(?:^|\s)(?:due to|by|cause|caused|error|from|of|threw|to|was|with))\s*\Z")
# The JVM dumps many threads whose headers are equally long, each with its state below.
_STATE = "   java.lang.Thread.State: "
_NEVER_BROKEN = (
    *("\t", "at ", "    at ", "Caused by: ", "java.", "Traceback (most recent call last)", '  File "', _STATE),
)


class Width(Struct, frozen=True):
    """The width at which the lines of a paste were wrapped, and whether within words."""

    columns: int
    inside_words: bool
    indent: int = 0
    """The indentation of continuation lines."""

    def is_full(self, text: str, following: str) -> bool:
        """True for a line that was wrapped because the next word did not fit."""
        if self.inside_words:
            return len(text) >= self.columns - 1
        word = following.split(maxsplit=1)[0] if following.strip() else ""
        return len(text) + 1 + len(word) > self.columns


def joined(pieces: Sequence[Piece], *, timed: bool) -> list[Piece]:
    """The lines, with wrapped ones joined."""
    width = width_of([piece.text for piece in pieces], timed=timed)
    if width is None:
        return list(pieces)
    done: list[Piece] = []
    last = ""
    for piece in pieces:
        if done and last and goes_on(last, piece.text, width, timed=timed):
            done[-1] = done[-1].reading(_joint(done[-1].text, last, piece.text, width))
        else:
            done.append(piece)
        last = piece.text
    return done


def width_of(texts: Sequence[str], *, timed: bool) -> Width | None:
    """The width at which lines were wrapped: nearly all lines that continue on the next are full."""
    records = _around_records(texts, timed=timed)
    columns = max(map(len, records), default=0)
    if not _NARROWEST <= columns <= _WIDEST:
        return None
    pairs = [
        (before, after)
        for before, after in pairwise(records)
        if _may_go_on(before, after) and not _starts(after, timed=timed) and not _may_be_a_trace(after)
    ]
    begun = [(before, after) for before, after in pairs if _starts(before, timed=timed)]
    if not begun:
        return None
    indent = min(len(after) - len(after.lstrip()) for _, after in pairs)
    indent = indent if indent > 1 else 0
    if sum(len(before) >= columns - 1 for before, _ in pairs) == len(pairs) == 1 and _stands_alone(*pairs[0]):
        return None
    inside = Width(columns, inside_words=True, indent=indent)
    between = Width(columns, inside_words=False, indent=indent)
    # The lines of a hex dump in a log also have equal lengths, but no record fills its line and continues on the next.
    if not _full([pair for pair in begun if 2 * len(pair[0]) > columns], between):
        return None
    # If words were broken, no line ends before the last column; if lines were wrapped between words, many do.
    if (
        _holds(pairs, inside)
        and _full(pairs, inside) >= _SHARE * _full(pairs, between)
        and not _begin_with_words(pairs)
    ):
        return inside
    return between if _holds(pairs, between) else None


def is_rest_of_a_sentence(before: str, after: str) -> bool:
    """True for the rest of a line that a person broke by hand: it starts with a small word, within a sentence."""
    before = before.rstrip()
    if before.endswith((".", "]", ":")) or _LOGGER_LAST.search(before) is not None:
        return False
    return _SMALL_WORD.match(after.lstrip()) is not None


def _begin_with_words(pairs: Sequence[tuple[str, str]]) -> bool:
    """True if most lines continue with a small word, which the rest of a broken word rarely looks like."""
    # A few lines that were wrapped between words may all have the same length by chance.
    words = sum(_SMALL_WORD.match(after) is not None and before[-1:].isalnum() for before, after in pairs)
    return words > 1 and 2 * words > len(pairs)


def _around_records(texts: Sequence[str], *, timed: bool) -> list[str]:
    """The blocks of lines in which a record starts; other blocks are prose, with another width."""
    lines: list[str] = []
    block: list[str] = []
    for text in [*texts, ""]:
        if text.strip():
            block.append(text)
            continue
        if any(_starts(each, timed=timed) for each in block):
            lines += [*block, ""]
        block = []
    return lines


def _holds(pairs: Sequence[tuple[str, str]], width: Width) -> bool:
    """True if most lines that may continue are full; lines before prose end a record and may be short."""
    full = _full(pairs, width)
    ended = sum(not width.is_full(before, after) and _is_prose(after) for before, after in pairs)
    return full > 0 and full >= _SHARE * (len(pairs) - ended)


def _stands_alone(before: str, after: str) -> bool:
    """True if the line after the longest one is a separate line: any paste has a longest line."""
    begins, ended = after[0].isupper(), before.endswith((".", ")", "]", "}"))
    return (begins and ended) or (_is_prose(after) and (begins or ended))


def _full(pairs: Sequence[tuple[str, str]], width: Width) -> int:
    return sum(width.is_full(before, after) for before, after in pairs)


def _is_prose(text: str) -> bool:
    """True for a line without any characteristic of Kafka's messages, or with the end of a person's sentence."""
    return not any(mark in text for mark in "=[]{}():") or text.endswith((":", "?", "!"))


def goes_on(before: str, after: str, width: Width, *, timed: bool) -> bool:
    """True if `after` is the rest of the line `before`."""
    return _may_go_on(before, after) and width.is_full(before, after) and not _starts(after, timed=timed)


def _may_go_on(before: str, after: str) -> bool:
    """True if two lines can be one; lines of stack traces, indented lines and settings are separate."""
    # Nothing follows a complete JSON object.
    if is_setting(after):
        return False
    if not before.strip() or not after.strip() or after.startswith(_NEVER_BROKEN) or before.startswith("\t"):
        return False
    if is_exception(after):
        # Loggers print a stack trace below a line that does not announce it.
        is_trace = _may_be_a_trace(after) and _ANNOUNCES.search(before) is None
        if is_trace or before.rstrip().endswith(_SENTENCE_ENDS):
            return False
    if before.endswith("):") and any(heading in before for heading in _HEADINGS):
        return False
    if _LOGGER_LAST.search(before) is not None or (is_object(before) and object_of(before) is not None):
        return False
    # java.util.logging prints level and message below the header, however long they are.
    return not (LEVEL_FIRST.match(after) is not None and lacks_message(before))


def _may_be_a_trace(text: str) -> bool:
    """True for an exception with its package: loggers print it below the line that announces it, whatever the width."""
    return is_exception(text) and _WHOLE_CLASS.match(text) is not None


def _starts(text: str, *, timed: bool) -> bool:
    """True if a record starts with a line: in a paste with times, a line with a time or a JSON object."""
    # A paste without times may contain nothing but an exception.
    if timed:
        return has_time(text) or is_object(text) or is_jvm_output(text)
    return looks_like_record(text) or is_exception(text)


def _joint(whole: str, before: str, after: str, width: Width) -> str:
    """Two parts of a line joined: wrapping between words removed a blank, wrapping within a word did not."""
    if width.inside_words:
        rest = after[width.indent :]
        return f"{whole} {rest.lstrip()}" if len(before) < width.columns else f"{whole}{rest}"
    rest = after.lstrip()
    last, first = before.rsplit(None, 1)[-1], rest.split(maxsplit=1)[0]
    cut = len(before) == width.columns and len(last) + len(first) > width.columns - width.indent
    dotted = last.endswith(".") and last.count(".") > 1
    cut = cut and (dotted or last[-1] not in _ENDS_A_WORD)
    hyphen = last.endswith("-") and len(last) > 1 and last[-2].isalnum()
    return f"{whole}{rest}" if cut or hyphen else f"{whole} {rest}"
