"""Finds a client's line within another logger's message: after a short label, as a field, or as a whole record."""

from __future__ import annotations

import re
from collections.abc import Callable

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.client_facts import FACTS_BEHIND
from rebalance_forensics.sources.layouts.header_remainder import brings_a_header
from rebalance_forensics.sources.layouts.logfmt import unquoted

# Names in brackets, a level in any language with a logger after it, a single word with punctuation: labels, unlike a
# sentence that quotes a line.
_LABEL = re.compile(
    r"""(?:\[(?:(?P<module>(?:aio)?kafka(?:\.\w+)+)|[^\]\[\n=]{1,60})\]:?\s+
    | \[?(?:[^\W\d_]{1,14}\]?\s+)?(?P<logger>(?:aio)?kafka(?:\.\w+)+|rdkafka|sarama)(?::|\s-)\s+
    | [A-Za-z][\w.-]{0,60}\s?[^\w\s\[({"']{1,4}\s{0,8}(?=\S)
    | [A-Za-z][\w.-]{0,40}\s+(?=%\d\|)
    ){1,4}""",
    re.VERBOSE,
)
_FIELD = re.compile(r'(?:^|[\s,{])(?:message|msg|line|log|text|detail)="(?P<value>(?:[^"\\\n]|\\.){9,4000})"')
_LOGGER = re.compile(r'(?:^|[\s,{])logger="?(?P<name>[\w.$]{1,120})')

Parse = Callable[[str], "tuple[str, Parsed] | None"]


def line_inside(message: str, parse: Parse) -> Parsed | None:
    """The record of another logger within a message; None if nothing shows that there is one.

    The record has a `stamp` or a `logger` if it includes them; else it is the text after a label or before the values
    that a program adds.
    """
    label = _LABEL.match(message)
    behind = _without_quotes(message[label.end() :]) if label else message
    if (record := _record(behind, parse)) is not None:
        return record
    if (field := _FIELD.search(message)) is not None:
        text, logger = unquoted(field["value"]), _LOGGER.search(message)
        return _record(text, parse) or _bare(text, logger and logger["name"])
    bare, *facts = FACTS_BEHIND.split(message, maxsplit=1)
    if facts:
        return _bare(bare)
    return _bare(behind, label["logger"] or label["module"]) if label else None


def _record(text: str, parse: Parse) -> Parsed | None:
    found = parse(text) if brings_a_header(text) else None
    return found[1] if found is not None and found[1].stamp is not None and found[1].message else None


def _bare(message: str, logger: str | None = None) -> Parsed:
    return Parsed(stamp=None, level=None, logger=logger, thread=None, message=message)


def _without_quotes(text: str) -> str:
    return unquoted(text[1:-1]) if text[:1] in ("'", '"') and text[1:].endswith(text[0]) else text
