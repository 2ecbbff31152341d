"""zap's console encoder: time, level, logger, caller and message between tabs."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, Parsed, TextLayout, pattern
from rebalance_forensics.sources.layouts.json_fields import GO_FACTS, object_of, with_facts

SAMPLE = (
    '2026-11-20T10:15:30.123Z\tINFO\tkafka.consumer\tconsumer/group.go:88\tjoined\t{"group": "payments", '
    '"generation": 4}'
)
REJECT = "2026-11-20T10:15:30.123Z  INFO 1 --- [main] o.a.k.c.c.i.ConsumerCoordinator : (Re-)joining group"

_TAB = r"(?:\t|[ ]{4}[ ]*)"
"""Copied from a terminal, a tab is blanks up to the next column of eight, and a single one where that is the next."""
_FACTS = re.compile(r"[ \t]+(?=\{\")")


def _with_its_facts(parsed: Parsed) -> Parsed:
    """The facts behind a message stand there as JSON."""
    message, *behind = _FACTS.split(parsed.message, maxsplit=1)
    fields = object_of(behind[0].strip()) if behind else None
    return replace(parsed, message=with_facts(message, fields, GO_FACTS)) if fields is not None else parsed


LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>{DATED}|1\d{{9}}\.\d+){_TAB}(?P<level>{LEVEL}){_TAB}"
        rf"(?:(?P<logger>[\w.-]+)(?:\t(?=[^\n]*\t)|[\t ]{{1,9}}(?=[\w./@-]+\.go:\d+)))?"
        rf"(?:[\w./@-]+\.go:\d+[\t ])?(?P<message>.*)"
    ),
    starts=(b"20", b"1"),
    finish=_with_its_facts,
    rank=8,
)
