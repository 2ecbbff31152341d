"""Hypotheses against signs on a terminal: a column for each cause, a row for each sign, marks where they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from rich.console import RenderableType
from rich.table import Table

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.differential import LEGEND, Hypothesis, SignLine, SignTable, either, sign_table
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.terminal.paper import indented, labelled, said
from rebalance_forensics.report.wording import count, place

HEADS_CHARACTERS = 44
"""Room for the heads of all columns, so that at 80 columns the signs still read as sentences."""
HEAD_CHARACTERS = 13
PADDING = 2
LINE_CHARACTERS = 320


def signs_of(incident: Incident, *, every: bool = False) -> Iterator[RenderableType]:
    """Show the table of one incident; `every` adds the signs that say nothing about any of its causes, and the lines."""
    table = sign_table(incident)
    if not table.hypotheses or not incident.signs:
        yield indented("No sign was weighed for it.")
        return
    heads = _heads(table.hypotheses)
    if heads is None:
        letters = list(ascii_uppercase[: len(table.hypotheses)])
        yield indented(labelled((letter, _named(one)) for letter, one in zip(letters, table.hypotheses, strict=False)))
        yield indented(_grid(letters, table, every=every))
    else:
        yield indented(f"{either(tuple(_named(one) for one in table.hypotheses))}:")
        yield indented(_grid(heads, table, every=every))
    if table.idle and not every:
        checked = f"{count(len(table.idle), 'more sign')} {'was' if len(table.idle) == 1 else 'were'} checked"
        yield indented(said(f"{checked} and said nothing about these causes.", "dim"))
    yield indented(said(LEGEND, "dim"))
    if every:
        yield from _lines((*table.telling, *table.idle))


def _named(one: Hypothesis) -> str:
    return f"{one.cause} ({one.standing})"


def _heads(hypotheses: Sequence[Hypothesis]) -> list[str] | None:
    """Each name on lines of whole words; None where there is no room for them beside the signs."""
    heads = [one.cause.replace("-", "-\n") for one in hypotheses]
    widths = [max(map(len, head.split("\n"))) for head in heads]
    fits = sum(widths) + PADDING * len(widths) <= HEADS_CHARACTERS and max(widths) <= HEAD_CHARACTERS
    return heads if fits else None


def _grid(heads: Sequence[str], table: SignTable, *, every: bool) -> Table:
    grid = Table(box=None, padding=(0, PADDING, 0, 0), pad_edge=False, header_style="dim")
    for head in heads:
        grid.add_column(head, no_wrap=True, vertical="top")
    grid.add_column("sign", overflow="fold")
    for line in (*table.telling, *(table.idle if every else ())):
        grid.add_row(*line.marks, said(line.says))
    return grid


def _lines(signs: Sequence[SignLine]) -> Iterator[RenderableType]:
    """The lines that answer, or where they were looked for, sign by sign."""
    for sign in signs:
        if not sign.where:
            continue
        yield said("")
        yield indented(said(sign.says, "bold"))
        for line in sign.row.evidence:
            yield indented(said(place(line), "cyan"), 4)
            yield indented(line_of(line.text, LINE_CHARACTERS), 6)
        if not sign.row.evidence:
            yield indented(f"{sign.where}: nothing of the kind", 4)
