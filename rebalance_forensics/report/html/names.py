"""Names and sentences on the page: random ids are abbreviated, times are elements."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markupsafe import Markup, escape

from rebalance_forensics.report.html.budget import LINE_CHARACTERS
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.rebalance_patterns import Clock, Sentence
from rebalance_forensics.report.times import iso
from rebalance_forensics.timeline.identity.names import with_short_ids

STREAM_THREAD = re.compile(r"(…-StreamThread-\d+)-consumer(?![-\w])")


def called(name: str, short: Mapping[str, str]) -> str:
    """The short name of a member or its lane: `node-2/T1` for a Streams thread, whose consumer is the member."""
    return short.get(name) or short.get(f"{name}-consumer") or name


def brief(text: str, group: str | None = None) -> str:
    """A name with its UUID abbreviated to eight digits: `shop-1b4e28ba…-StreamThread-1-consumer`."""
    # Without the group at its start, if `group` is given: `1b4e28ba…-StreamThread-1`.
    short = with_short_ids(text)
    if group is None or short == text:
        return short
    return STREAM_THREAD.sub(
        r"\1", re.sub(rf"(?<![-\w.]){re.escape(group)}-(?=[0-9a-f]{{8}}…-StreamThread)", "", short)
    )


def sentence(parts: Sentence, group: str) -> Markup:
    """A sentence about a group with random ids abbreviated."""
    return Markup().join(_clock(part) if isinstance(part, Clock) else _words(part, group) for part in parts)


def _clock(clock: Clock) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(iso(clock.at) or "", clock)


def _words(text: str, group: str) -> Markup:
    # Keep the blanks at the ends, which separate the words from a time.
    inner = brief(" ".join(text.split()), group)
    before, after = (" " if text[edge : edge + 1 or None].isspace() else "" for edge in (0, -1))
    return escape(line_of(f"{before}{inner}{after}", LINE_CHARACTERS))
