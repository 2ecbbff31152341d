"""The data for the page's script: the shapes of each picture, their log lines, incidents; each text once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rebalance_forensics.report.documents import Document, Json
from rebalance_forensics.report.html.budget import LINE_CHARACTERS
from rebalance_forensics.report.html.content import Content
from rebalance_forensics.report.html.shapes import Bar, Dot, Picture
from rebalance_forensics.report.incident_markdown import incident_markdown
from rebalance_forensics.report.plain_text import line_of, lines_of
from rebalance_forensics.report.times import iso
from rebalance_forensics.timeline.model import Evidence

SUMMARY_CHARACTERS = 160


def page_data(content: Content) -> Document:
    """Build the data island; it includes only incidents that a drawn shape belongs to."""
    texts = Texts()
    pictures: Document = {picture.id: _picture(picture, texts) for picture in content.pictures}
    rows = [row for picture in content.pictures for row in picture.rows]
    drawn = {bar.incident for row in rows for bar in row.bars} | {dot.incident for row in rows for dot in row.dots}
    return {
        "lines": [_line(line, texts) for line in content.budget.lines.kept],
        "incidents": {
            str(number): [incident.root_causes[0].cause, line_of(incident.summary, SUMMARY_CHARACTERS)]
            for number, incident in enumerate(content.numbered.outlines)
            if number in drawn
        },
        "markdown": {
            incident.id: [texts.number_of(line) for line in incident_markdown(incident)]
            for incident in content.numbered[: len(content.with_sections)]
        },
        "pictures": pictures,
        "texts": texts.rows,
        "parts": texts.parts,
    }


def _line(line: Evidence, texts: Texts) -> Json:
    path, text = line_of(line.path, LINE_CHARACTERS), "\n".join(lines_of(line.text, LINE_CHARACTERS))
    return [texts.number_of(path), line.line, line.timestamp if iso(line.timestamp) else None, texts.number_of(text)]


def _picture(picture: Picture, texts: Texts) -> Document:
    begun = picture.started_at
    rows: list[Json] = [
        [[_bar(bar, begun, texts) for bar in row.bars], [_dot(dot, begun, texts) for dot in row.dots]]
        for row in picture.rows
    ]
    arrows: list[Json] = [[each.row, each.at - begun, each.to_row, each.to - begun] for each in picture.arrows]
    return {"from": begun, "to": picture.ended_at, "rows": rows, "arrows": arrows}


def _bar(bar: Bar, begun: int, texts: Texts) -> Json:
    end = None if bar.ended_at is None else bar.ended_at - begun
    return [texts.number_of(bar.kind), bar.started_at - begun, end, texts.number_of(bar.label), bar.incident]


def _dot(dot: Dot, begun: int, texts: Texts) -> Json:
    return [texts.number_of(dot.severity), dot.at - begun, texts.number_of(dot.label), dot.line, dot.incident]


WORD = re.compile(r"[\w-]+")
DIGIT = re.compile(r"\d")
# Marks where a text differs from similar ones. No harmless text contains it: `plain_text` shows it as an escape.
HOLE = "\0"


@dataclass(slots=True)
class Texts:
    """Texts by number; the page's script reassembles them from `rows` and `parts`."""

    numbers: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    """Part -> its index in the list of parts."""
    rows: list[list[int]] = field(default_factory=list)
    """For each text the index of its pattern, then the indexes of the parts that fill the pattern's gaps."""

    @property
    def parts(self) -> list[str]:
        """Patterns, and the parts that fill their gaps."""
        return list(self.places)

    def number_of(self, text: str) -> int:
        """The number of a harmless text, which is added if it is new."""
        if text not in self.numbers:
            self.numbers[text] = len(self.rows)
            self.rows.append([self._place(part) for part in _parts(text)])
        return self.numbers[text]

    def _place(self, part: str) -> int:
        return self.places.setdefault(part, len(self.places))


def _parts(text: str) -> list[str]:
    # The pattern of a text, then its words that contain a digit: names, numbers and times vary.
    varying: list[str] = []

    def hole(word: re.Match[str]) -> str:
        if not DIGIT.search(word.group()):
            return word.group()
        varying.append(word.group())
        return HOLE

    return [WORD.sub(hole, text), *varying]
