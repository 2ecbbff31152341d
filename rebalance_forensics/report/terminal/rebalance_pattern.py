"""Renders the pattern of a group's rebalances for a terminal: in a few lines, or every sentence."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.rebalance_patterns import in_brief, plain, readings_of
from rebalance_forensics.report.terminal.rich_blocks import heading, indented, labelled, listed, text_block
from rebalance_forensics.timeline.model import GroupHistory

SENTENCE_CHARACTERS = 500


def pattern_in_brief(history: GroupHistory) -> Iterator[RenderableType]:
    """One line each for leaders, bursts, regular intervals and members."""
    lines = [(label, line_of(sentence, SENTENCE_CHARACTERS)) for label, sentence in in_brief(history)]
    if lines:
        yield heading(f"Rebalance pattern of {history.group}")
        yield indented(labelled(lines))


def pattern_in_full(history: GroupHistory, of: str = "") -> Iterator[RenderableType]:
    """Every sentence with its details, part by part; `of` names the group if there are several."""
    for title, passages in readings_of(history).parts():
        yield heading(f"{title} in {of}" if of else title)
        for passage in passages:
            yield indented(text_block(line_of(plain(passage.sentence), SENTENCE_CHARACTERS)))
            if passage.details:
                yield indented(listed(line_of(plain(detail), SENTENCE_CHARACTERS) for detail in passage.details), 4)
