"""Renders the fleet report for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from rebalance_forensics.report.fleet import Fleet, Section
from rebalance_forensics.report.terminal.rich_blocks import columns, heading, listed, printed, text_block
from rebalance_forensics.report.wording import thousands

SHOWN = 10
"""Rows of a section; the page has more, CSV has all."""


def render_fleet(fleet: Fleet, *, width: int = 80, color: bool = False) -> str:
    """What happened and what changed, then a table for groups, causes, culprits, what comes back, what is muted."""
    return printed(_blocks(fleet), width=width, color=color)


def _blocks(fleet: Fleet) -> Iterator[RenderableType]:
    yield text_block(fleet.headline, "bold")
    yield text_block(fleet.period)
    if fleet.changes:
        yield heading("Changed since the week before")
        yield listed(fleet.changes[:SHOWN])
        yield from _left_out(len(fleet.changes))
    for section in fleet.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[RenderableType]:
    yield heading(section.title)
    if not section.rows:
        yield text_block(section.empty)
        return
    yield columns(section.columns, section.rows[:SHOWN], numbers=section.numbers)
    yield from _left_out(len(section.rows))


def _left_out(number: int) -> Iterator[RenderableType]:
    if number > SHOWN:
        yield text_block(f"and {thousands(number - SHOWN)} more")
