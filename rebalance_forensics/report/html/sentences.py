"""Sentences as the page writes them: their times are elements that another zone can be chosen for."""

from __future__ import annotations

from markupsafe import Markup, escape

from rebalance_forensics.report.html.budget import LINE_CHARACTERS
from rebalance_forensics.report.html.names import brief
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.rebalance_patterns import Clock, Sentence
from rebalance_forensics.report.times import iso


def sentence(parts: Sentence, group: str) -> Markup:
    """Write what is said about a group, with random ids by their beginning."""
    return Markup().join(_clock(part) if isinstance(part, Clock) else _words(part, group) for part in parts)


def _clock(clock: Clock) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(iso(clock.at) or "", clock)


def _words(text: str, group: str) -> Markup:
    """Keep the blanks at the ends, which part the words from a time."""
    inner = brief(" ".join(text.split()), group)
    before, after = (" " if text[edge : edge + 1 or None].isspace() else "" for edge in (0, -1))
    return escape(line_of(f"{before}{inner}{after}", LINE_CHARACTERS))
