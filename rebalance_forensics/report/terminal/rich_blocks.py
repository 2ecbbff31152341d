"""Building blocks of terminal text: rich renderables for one width, with or without color."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rebalance_forensics.report.plain_text import BEFORE_UNIT, line_of, printable

NARROWEST = 40
LONGEST_TEXT = 4_000
# A number and its unit are not separated: they are joined by a character that `printable` removes from all texts.
TIE = "\ue000"


def printed(blocks: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """Render blocks below each other, independent of this terminal and its environment."""
    console = Console(
        file=io.StringIO(),
        width=max(width, NARROWEST),
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as capture:
        for block in blocks:
            console.print(block)
    text = capture.get().replace(TIE, " ")
    return "\n".join(line.rstrip() for line in text.splitlines()).lstrip("\n") + "\n"


def text_block(text: str, style: str = "") -> Text:
    """A harmless block for any text, wrapped between words."""
    return Text(BEFORE_UNIT.sub(TIE, line_of(text, LONGEST_TEXT)), style=style, overflow="fold")


def heading(text: str) -> Text:
    """The heading of a section, after an empty line."""
    return Text("\n" + printable(text), style="bold")


def indented(block: RenderableType | str, by: int = 2) -> Padding:
    """A block indented by some columns."""
    return Padding(text_block(block) if isinstance(block, str) else block, (0, 0, 0, by))


def listed(items: Iterable[str], signs: Iterable[str] | None = None) -> Table:
    """Items below each other, each after its bullet, with wrapped lines aligned."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sign, item in zip(repeat("-") if signs is None else signs, items, strict=False):
        grid.add_row(sign, text_block(item))
    return grid


def labelled(rows: Iterable[tuple[str, str]]) -> Table:
    """Rows of a short label and a text."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for label, value in rows:
        grid.add_row(label, text_block(value))
    return grid


def side_by_side(left: Text, right: Text) -> Table:
    """A text that wraps next to one that does not."""
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(left, right)
    return grid


def columns(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: frozenset[int] = frozenset()
) -> RenderableType:
    """Rows under titles, without rules; `numbers` are right-aligned. Each row becomes a block if names do not fit."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for index, title in enumerate(titles):
        table.add_column(title, overflow="fold", justify="right" if index in numbers else "left")
    for row in rows:
        table.add_row(*(_Cell(text_block(cell)) for cell in row))
    return _Columns(table, Group(*_as_blocks(titles, rows)))


def _as_blocks(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[RenderableType]:
    for first, *others in rows:
        yield text_block(first)
        yield indented(labelled(zip(titles[1:], others, strict=True)))


class _Columns(Struct, frozen=True):
    """A table, with its rows as blocks for terminals that are too narrow for its longest names."""

    table: Table
    blocks: Group

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table if each piece of its names fits, else the blocks."""
        needed = Measurement.get(console, options.update(width=LONGEST_TEXT), self.table).minimum
        yield self.table if needed <= options.max_width else self.blocks


_BETWEEN_PIECES = re.compile(r"(?<=\w-)(?=\w)|(?<=\s)(?=\S)")


class _Cell(Struct, frozen=True):
    """A cell that wraps between words and, since names are long, after hyphens; within a piece only if necessary."""

    text: Text

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        """The width of its longest piece, and that of the whole text."""
        pieces = (cell_len(piece.rstrip()) for piece in _BETWEEN_PIECES.split(self.text.plain))
        return Measurement(max(pieces, default=0), cell_len(self.text.plain)).with_maximum(options.max_width)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Render it in as few lines as possible."""
        lines = [""]
        for piece in _BETWEEN_PIECES.split(self.text.plain):
            if lines[-1] and cell_len((lines[-1] + piece).rstrip()) > options.max_width:
                lines.append("")
            lines[-1] += piece
        yield Text("\n".join(lines), style=self.text.style, overflow="fold", justify=options.justify)
