"""Limits the size of a page; whatever does not fit is counted and mentioned, never silently dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.wording import thousands
from rebalance_forensics.timeline.model import Evidence

T = TypeVar("T")
LINES, LINE_CHARACTERS, LINE_CHARACTERS_IN_ALL = 5_000, 1_500, 1_500_000
MARKS, SPANS, ROWS = 12_000, 12_000, 4_000
LANES, LANES_A_PICTURE, FEWEST_LANES, FEWEST, RESERVED = 3_000, 80, 12, 150, 60
PARTITION_ROWS, PARTITION_ROWS_A_PICTURE, FEWEST_PARTITION_ROWS = 1_200, 40, 8
PASSAGES, PASSAGES_A_PART, FEWEST_PASSAGES = 1_200, 60, 6
MARKS_A_PICTURE, SPANS_A_PICTURE, ROWS_A_TABLE, TERMS = 6_000, 6_000, 1_500, 40
INCIDENTS, GROUPS, OVERVIEW_ROWS = 40, 40, 400
EVENTS, EVENTS_A_TABLE = 1_000, 250
UNREAD_ROWS_A_TABLE = 200
GLIMPSES = 400
FEW_LANES = 16
"""The number of rows that a picture shows until the reader expands it."""
NAMES, NAMES_AN_INCIDENT, FEWEST_NAMES = 8_000, 2_000, 20


@dataclass(slots=True)
class Lines:
    """The log lines that a page includes for its pictures, each once."""

    places: dict[tuple[str, int], int] = field(default_factory=dict)
    kept: list[Evidence] = field(default_factory=list)
    characters: int = 0
    left_out: int = 0

    def number_of(self, line: Evidence) -> int | None:
        """The number of a line, which is added unless the page is full."""
        key = (line.path, line.byte_offset)
        if key in self.places:
            return self.places[key]
        if len(self.kept) >= LINES or self.characters >= LINE_CHARACTERS_IN_ALL:
            self.left_out += 1
            return None
        self.characters += len(line_of(line.text, LINE_CHARACTERS))
        self.places[key] = len(self.kept)
        self.kept.append(line)
        return self.places[key]


@dataclass(slots=True)
class Pool:
    """A shared number of marks, bars or rows; the most urgent pictures come first and take most."""

    left: int
    most: int
    """The maximum for one picture or table."""
    fewest: int = FEWEST
    """The minimum for each, even if nothing is left."""
    reserved: int = RESERVED
    """Reserved for each of the following ones."""

    def room(self, pictures: int) -> int:
        """How many one picture may take, so that some are left for each of the following ones."""
        return min(self.most, max(self.left - self.reserved * pictures, self.fewest))

    def take(self, rows: Sequence[T], pictures: int = 0) -> Sequence[T]:
        """The first rows, as many as fit."""
        taken = rows[: self.room(pictures)]
        self.left -= len(taken)
        return taken


@dataclass(slots=True)
class Budget:
    """The remaining space of the page."""

    lines: Lines = field(default_factory=Lines)
    pictures: int = 1
    """The number of pictures still to be drawn."""
    marks: Pool = field(default_factory=lambda: Pool(MARKS, MARKS_A_PICTURE))
    spans: Pool = field(default_factory=lambda: Pool(SPANS, SPANS_A_PICTURE))
    events: Pool = field(default_factory=lambda: Pool(EVENTS, EVENTS_A_TABLE, fewest=0))
    lanes: Pool = field(default_factory=lambda: Pool(LANES, LANES_A_PICTURE, FEWEST_LANES, FEWEST_LANES))
    partition_rows: Pool = field(
        default_factory=lambda: Pool(
            PARTITION_ROWS, PARTITION_ROWS_A_PICTURE, FEWEST_PARTITION_ROWS, FEWEST_PARTITION_ROWS
        )
    )
    passages: Pool = field(default_factory=lambda: Pool(PASSAGES, PASSAGES_A_PART, FEWEST_PASSAGES))
    """Sentences about rebalance patterns; a group that rebalances all day has thousands."""
    names: Pool = field(default_factory=lambda: Pool(NAMES, NAMES_AN_INCIDENT, FEWEST_NAMES, FEWEST_NAMES))
    """Names of culprits; there may be thousands if members come back under new names."""
    rows: int = ROWS
    left_out: dict[str, int] = field(default_factory=dict)

    def take_rows(self, rows: Sequence[T], most: int, what: str) -> tuple[tuple[T, ...], int]:
        """The first rows of a table, and the number of rows left out."""
        taken = tuple(rows[: max(min(self.rows, most), 0)])
        self.rows -= len(taken)
        self.omit(what, len(rows) - len(taken))
        return taken, len(rows) - len(taken)

    def omit(self, what: str, number: int) -> None:
        """Count something that the page does not show."""
        if number > 0:
            self.left_out[what] = self.left_out.get(what, 0) + number

    def sentences(self) -> list[str]:
        """Sentences about what the page does not show."""
        if self.lines.left_out:
            self.omit("log lines behind marks of the pictures", self.lines.left_out)
        return [f"{thousands(number)} {what}" for what, number in self.left_out.items()]
