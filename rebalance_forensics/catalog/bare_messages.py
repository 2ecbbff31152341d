"""Messages in lines that no layout knows: where one may begin, where it may end, and what is only talk about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rebalance_forensics.catalog.match import Match
from rebalance_forensics.records import LEFT_OUT

_LOOKED_AT = 2_000
_MOST_BEGINNINGS = 40
# What a person puts before a line to show that it is one.
_QUOTED = "> \t`\"'*-\u2022"
# Without the prefix of a class, a message is known by so many letters of Kafka's own: fewer stand in any sentence.
_OWN_WORDS = 24
NO_SENTENCE = 2 * _OWN_WORDS
"""So many at the beginning of a line are a message that breaks off, not a sentence about one."""
# So many are enough where a message with its group is all that stands in a line, behind marks at most.
_WHOLE_LINE = 16
_LEVEL = r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"
# What docker compose prints before each line.
_SERVICE = r"[\w.-]{1,80}\s{1,40}\|"
_THROWN = re.compile(
    rf"""[>\s]{{0,20}}(?:{_SERVICE}\s{{0,4}})?(?:(?:Caused by|Suppressed|Exception in thread "[^"\n]{{1,200}}"):?\s)?"""
)
# A time since some start, as people write in a timeline of their own: `T+42.315 INFO`.
_SINCE = re.compile(
    rf"[>\s]{{0,20}}\[?T?\+?\d{{1,6}}(?:[.:,]\d{{1,3}}){{0,3}} ?m?s?\]?:?\s{{1,8}}(?:\[?{_LEVEL}\]?:?\s{{1,8}})?"
)
_BEGINS = re.compile(rf"""(?:[:|>)\]}}"'`*;,\u00bb\u2022\u2502\t-]|{_LEVEL})\s{{0,40}}(?=[\w(\[])""")
_BEHIND_ITS_THREAD = re.compile(rf"{_LEVEL}\s{{1,40}}[\w.#@-]{{1,60}}\s{{1,8}}(?=[A-Z(\[])")
_LOGGER = re.compile(r"\s\((?:[\w$-]{1,60}\.){0,20}[A-Z][\w$]{0,80}(?::\d{1,6})?\)(?:\s\[[^\[\]]{0,80}\])?\s?\Z")
_CUT_LOGGER = re.compile(r"\s\([a-z]{0,12}(?:\.[\w$]{0,80}){0,20}\Z")
_END_OF_LOGGER = re.compile(r"(?P<name>[\w.$-]{0,120})(?::\d{1,6})?\)\Z")
_END_OF_THREAD = re.compile(r"(?:[\w.$-]{0,120}\) \[)?[\w.$|# -]{0,120}\]\Z")
_BEGUN_LOGGER = re.compile(r"(?:^|[\s\[(])(?P<name>org\.apache\.kafka\.(?:\w{1,60}\.){0,9}[A-Z]\w{5,80})\Z")
_CLOSING = " \t\"'`|\u2502,;*_"
_PREFIX_LEFT_OUT = re.compile(r"\A\s{0,20}(?:\u2026|\.{3,40}|\[(?:\u2026|\.{2,9})\])\s{1,20}(?=[A-Z(\[])")
_CUT = re.compile(
    r"\s?(?:\u2026|\.{3,9}|\[(?:\u2026|\.{2,9})\]|\((?:\u2026|\.{3,9})\)|<(?:\u2026|snip|cut|truncated)>)"
)


def found_in(text: str, match: Callable[[str], Match | None]) -> Match | None:
    """The first message that begins somewhere in a text and ends with it."""
    for start in beginnings(text):
        for message in _ends(text[start:]):
            found = match(message)
            if found is not None and is_kafkas(found, amid=_is_amid(text[:start])):
                return found
    return None


def _is_amid(before: str) -> bool:
    """True if other words stand before a message; an announced exception and the name of a service are none."""
    # An exception stands on a line of its own behind the words with which an application logs it.
    before = before.rpartition("\n")[2]
    return not (_THROWN.fullmatch(before) or _SINCE.fullmatch(before)) and before.strip(_QUOTED) != ""


def is_kafkas(found: Match, *, amid: bool = False) -> bool:
    """True if this is surely a message and not a few words that happen to read like it."""
    # Amid other words, as in a sentence that quotes it, it must also name its group. No sentence has settings behind
    # it. A quote of the words alone leaves out the partitions; consumers print them, in brackets even if there are
    # none.
    if found.dressed or "settings" in found.fields:
        return True
    if found.group is None:
        return found.weight >= _OWN_WORDS and not amid and found.fields.get("partitions") != ()
    return found.weight >= (_OWN_WORDS if amid else _WHOLE_LINE)


def beginnings(text: str) -> Iterator[int]:
    """Where a message may begin: at the front, behind a level (and a thread) or a mark, never behind a mere word."""
    yield 0
    if threaded := _BEHIND_ITS_THREAD.search(text, 0, _LOOKED_AT):
        yield threaded.end()
    for number, match in enumerate(_BEGINS.finditer(text, 0, _LOOKED_AT)):
        if number >= _MOST_BEGINNINGS:
            return
        yield match.end()


def behind_a_left_out_prefix(text: str) -> str:
    """The text without the dots that a person put for what stood before the message: a thread, a class, a client."""
    return _PREFIX_LEFT_OUT.sub("", text)


def behind_the_first_cut(text: str) -> str | None:
    """What stands behind the first omission, if a message may begin there: the rest of its header was left out."""
    cut = _CUT.search(text)
    rest = "" if cut is None else text[cut.end() :].lstrip()
    return rest if rest[:1].isupper() or rest[:1] in ("(", "[") else None


class Cut(NamedTuple):
    """A text with something left out: what stands before the first cut and behind the last one.

    The message `is_whole` if only its logger was cut, and may be if it was cut `behind_a_word`; `logger` is what is
    left of the logger's name at the end.
    """

    head: str
    tail: str
    is_whole: bool
    logger: str | None = None
    behind_a_word: bool = False


def around_the_cut(text: str) -> Cut | None:
    """The text before and behind what was left out; None where nothing was."""
    cuts = list(_CUT.finditer(text))
    if not cuts:
        return None
    left = text[: cuts[0].start()]
    head = _CUT_LOGGER.sub("", left)
    tail = text[cuts[-1].end() :].strip(_CLOSING)
    if whole := _LOGGER.search(tail):
        logger = whole[0].strip(" ()")
        return Cut(head, tail[: whole.start()], head != left, logger)
    if end := _END_OF_LOGGER.match(tail):
        return Cut(head, "", head != left, end["name"], left.endswith(" "))
    return Cut(head, tail, head != left)


def without_its_thread(cut: Cut) -> Cut | None:
    """The cut without the end of a thread's name, which some layouts print last."""
    return cut._replace(tail="") if cut.tail and _END_OF_THREAD.match(cut.tail) else None


def begun_logger(head: str) -> str | None:
    """The logger that a text breaks off in, with the ellipsis behind it: no word of the message stands before that."""
    begun = _BEGUN_LOGGER.search(head)
    return None if begun is None else begun["name"] + LEFT_OUT


def _ends(text: str) -> Iterator[str]:
    """The text, and without what may stand behind a message."""
    yield text
    bare = _LOGGER.sub("", text)
    if bare != text:
        yield bare
    if (closed := bare.rstrip(_CLOSING)) != bare:
        # A quote may be the message's own, behind it a mark of Markdown.
        if (unmarked := bare.rstrip("`*_ ")) not in (bare, closed):
            yield unmarked
        yield closed
        if (inner := _LOGGER.sub("", closed)) != closed:
            yield inner
