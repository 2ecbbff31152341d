"""Finds messages in lines of unknown layout: where one may start and end, and what merely mentions one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rebalance_forensics.catalog.match import Match
from rebalance_forensics.records import LEFT_OUT

_MAX_SEARCHED = 2_000
_MAX_STARTS = 40
# Marks that people put in front of a quoted line.
_QUOTED = "> \t`\"'*-\u2022"
# Characters of literal template text that identify a message without a class prefix; ordinary sentences share fewer.
_MIN_LITERAL = 24
LONG_LITERAL = 2 * _MIN_LITERAL
"""A line that starts with this much literal text is a truncated message, not a sentence about one."""
# Enough where the line holds nothing but the message, with its group, and marks in front of it.
_MIN_LITERAL_ALONE = 16
_LEVEL = r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"
# Docker Compose prefixes each line with the service.
_SERVICE = r"[\w.-]{1,80}\s{1,40}\|"
_THROWN = re.compile(
    rf"""[>\s]{{0,20}}(?:{_SERVICE}\s{{0,4}})?(?:(?:Caused by|Suppressed|Exception in thread "[^"\n]{{1,200}}"):?\s)?"""
)
# Elapsed time, as in hand-written timelines: `T+42.315 INFO`.
_SINCE = re.compile(
    rf"[>\s]{{0,20}}\[?T?\+?\d{{1,6}}(?:[.:,]\d{{1,3}}){{0,3}} ?m?s?\]?:?\s{{1,8}}(?:\[?{_LEVEL}\]?:?\s{{1,8}})?"
)
_BEGINS = re.compile(rf"""(?:[:|>)\]}}"'`*;,\u00bb\u2022\u2502\t-]|{_LEVEL})\s{{0,40}}(?=[\w(\[])""")
_AFTER_THREAD = re.compile(rf"{_LEVEL}\s{{1,40}}[\w.#@-]{{1,60}}\s{{1,8}}(?=[A-Z(\[])")
_LOGGER = re.compile(r"\s\((?:[\w$-]{1,60}\.){0,20}[A-Z][\w$]{0,80}(?::\d{1,6})?\)(?:\s\[[^\[\]]{0,80}\])?\s?\Z")
_LOGGER_START = re.compile(r"\s\([a-z]{0,12}(?:\.[\w$]{0,80}){0,20}\Z")
_LOGGER_END = re.compile(r"(?P<name>[\w.$-]{0,120})(?::\d{1,6})?\)\Z")
_THREAD_END = re.compile(r"(?:[\w.$-]{0,120}\) \[)?[\w.$|# -]{0,120}\]\Z")
_TRUNCATED_LOGGER = re.compile(r"(?:^|[\s\[(])(?P<name>org\.apache\.kafka\.(?:\w{1,60}\.){0,9}[A-Z]\w{5,80})\Z")
_CLOSING = " \t\"'`|\u2502,;*_"
_OMITTED_PREFIX = re.compile(r"\A\s{0,20}(?:\u2026|\.{3,40}|\[(?:\u2026|\.{2,9})\])\s{1,20}(?=[A-Z(\[])")
_CUT = re.compile(
    r"\s?(?:\u2026|\.{3,9}|\[(?:\u2026|\.{2,9})\]|\((?:\u2026|\.{3,9})\)|<(?:\u2026|snip|cut|truncated)>)"
)


def find_message(text: str, match: Callable[[str], Match | None]) -> Match | None:
    """The first message that starts anywhere in a text and runs to its end."""
    for start in beginnings(text):
        for message in _ends(text[start:]):
            found = match(message)
            if found is not None and is_kafka_message(found, amid=_follows_words(text[:start])):
                return found
    return None


def _follows_words(before: str) -> bool:
    """True if prose precedes a message; the header of an exception or the name of a service is not prose."""
    # Applications log an exception on a line of its own, below their own words.
    before = before.rpartition("\n")[2]
    return not (_THROWN.fullmatch(before) or _SINCE.fullmatch(before)) and before.strip(_QUOTED) != ""


def is_kafka_message(found: Match, *, amid: bool = False) -> bool:
    """True if this is certainly a message, not prose that happens to match; `amid` other words more is required."""
    # A sentence that quotes a message has no settings after it and leaves out the partitions, which consumers print
    # even if there are none (`[]`). Amid other words, a message must also name its group.
    if found.spells_prefix or "settings" in found.fields:
        return True
    if found.group is None:
        return found.weight >= _MIN_LITERAL and not amid and found.fields.get("partitions") != ()
    return found.weight >= (_MIN_LITERAL if amid else _MIN_LITERAL_ALONE)


def beginnings(text: str) -> Iterator[int]:
    """Where a message may start: at the front, or after a level (and a thread) or a mark, never after a plain word."""
    yield 0
    if threaded := _AFTER_THREAD.search(text, 0, _MAX_SEARCHED):
        yield threaded.end()
    for number, match in enumerate(_BEGINS.finditer(text, 0, _MAX_SEARCHED)):
        if number >= _MAX_STARTS:
            return
        yield match.end()


def without_omitted_prefix(text: str) -> str:
    """The text without a leading ellipsis that replaces what preceded the message: a thread, a class, a client."""
    return _OMITTED_PREFIX.sub("", text)


def after_first_omission(text: str) -> str | None:
    """The text after the first omission, if a message may start there: the rest of its header was left out."""
    cut = _CUT.search(text)
    rest = "" if cut is None else text[cut.end() :].lstrip()
    return rest if rest[:1].isupper() or rest[:1] in ("(", "[") else None


class Cut(NamedTuple):
    """A text with an omission: `head` precedes the first one, `tail` follows the last one.

    The message `is_whole` if only its logger was cut, and may be whole if the head `ends_at_word`; `logger` is what is
    left of a logger's name at the end.
    """

    head: str
    tail: str
    is_whole: bool
    logger: str | None = None
    ends_at_word: bool = False


def split_at_omission(text: str) -> Cut | None:
    """Split a text at its omissions; None if it has none."""
    cuts = list(_CUT.finditer(text))
    if not cuts:
        return None
    left = text[: cuts[0].start()]
    head = _LOGGER_START.sub("", left)
    tail = text[cuts[-1].end() :].strip(_CLOSING)
    if whole := _LOGGER.search(tail):
        logger = whole[0].strip(" ()")
        return Cut(head, tail[: whole.start()], head != left, logger)
    if end := _LOGGER_END.match(tail):
        return Cut(head, "", head != left, end["name"], left.endswith(" "))
    return Cut(head, tail, head != left)


def without_thread(cut: Cut) -> Cut | None:
    """The cut without the rest of a thread name, which some layouts print last."""
    return cut._replace(tail="") if cut.tail and _THREAD_END.match(cut.tail) else None


def truncated_logger(head: str) -> str | None:
    """The truncated logger name at the end of a text, with its ellipsis: the message itself comes after it."""
    begun = _TRUNCATED_LOGGER.search(head)
    return None if begun is None else begun["name"] + LEFT_OUT


def _ends(text: str) -> Iterator[str]:
    """The text, then the text without what may follow a message: a logger, quotes, marks."""
    yield text
    bare = _LOGGER.sub("", text)
    if bare != text:
        yield bare
    if (closed := bare.rstrip(_CLOSING)) != bare:
        # The quote may belong to the message and be followed by a Markdown mark.
        if (unmarked := bare.rstrip("`*_ ")) not in (bare, closed):
            yield unmarked
        yield closed
        if (inner := _LOGGER.sub("", closed)) != closed:
            yield inner
