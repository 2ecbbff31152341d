"""Hypotheses against signs on a terminal: a column for each cause, a row for each sign, marks where they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.differential import LEGEND, Hypothesis, SignLine, SignTable, either, sign_table
from rebalance_forensics.report.plain_text import lines_of
from rebalance_forensics.report.terminal.rich_blocks import indented, labelled, text_block
from rebalance_forensics.report.wording import count, place

SIGN_CHARACTERS = 34
"""Room that the signs need to read as sentences; names of causes get what is left."""
PADDING = 2
LINE_CHARACTERS = 320


def legend() -> RenderableType:
    """What the marks of the tables mean."""
    return text_block(LEGEND, "dim")


def signs_of(incident: Incident, *, every: bool = False) -> Iterator[RenderableType]:
    """Show the table of one incident; `every` adds the signs that say nothing about its causes, and the lines."""
    table = sign_table(incident)
    if not incident.signs:
        yield indented("No sign was weighed for it.")
        return
    yield indented(_Grid(table, every))
    if table.idle and not every:
        checked = f"{count(len(table.idle), 'more sign')} {'was' if len(table.idle) == 1 else 'were'} checked"
        yield indented(text_block(f"{checked} and said nothing about these causes.", "dim"))
    if every:
        yield indented(legend())
        yield from _lines((*table.relevant, *table.idle))


class _Grid(Struct, frozen=True):
    """A table of signs that is laid out when its width is known: with names above the columns, or letters and a key."""

    table: SignTable
    every: bool

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Lay it out."""
        hypotheses = self.table.hypotheses
        if len(hypotheses) == 1:
            yield text_block(f"{_named(hypotheses[0])}:")
            yield self._laid_out([""])
            return
        heads = [hypothesis.cause.replace("-", "-\n") for hypothesis in hypotheses]
        taken = sum(max(map(len, head.split("\n"))) + PADDING for head in heads)
        if taken + SIGN_CHARACTERS <= options.max_width:
            yield text_block(f"{either(tuple(map(_named, hypotheses)))}:")
        else:
            heads = [*ascii_uppercase, *map(str, range(len(hypotheses)))][: len(hypotheses)]
            yield labelled(zip(heads, map(_named, hypotheses), strict=True))
        yield self._laid_out(heads)

    def _laid_out(self, heads: Sequence[str]) -> Table:
        titled = any(heads)
        grid = Table(box=None, padding=(0, PADDING, 0, 0), pad_edge=False, header_style="dim", show_header=titled)
        for head in heads:
            grid.add_column(head, no_wrap=True)
        grid.add_column("sign", overflow="fold")
        for line in (*self.table.relevant, *(self.table.idle if self.every else ())):
            grid.add_row(*line.marks, text_block(line.wording))
        return grid


def _named(hypothesis: Hypothesis) -> str:
    return f"{hypothesis.cause} ({hypothesis.standing})"


def _lines(signs: Sequence[SignLine]) -> Iterator[RenderableType]:
    """The lines that answer, or where they were looked for, sign by sign."""
    for sign in signs:
        if not sign.where:
            continue
        yield text_block("")
        yield indented(text_block(sign.wording, "bold"))
        for line in sign.row.evidence:
            yield indented(text_block(place(line), "cyan"), 4)
            yield from (indented(part, 6) for part in lines_of(line.text, LINE_CHARACTERS))
        if not sign.row.evidence:
            yield indented(f"{sign.where}: nothing of the kind", 4)
