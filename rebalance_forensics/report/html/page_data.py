"""What the page's own script needs: shapes of each picture, lines behind them, incidents, and what copies them."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_forensics.report.documents import Document, Json
from rebalance_forensics.report.html.content import Content
from rebalance_forensics.report.html.shapes import Bar, Dot, Picture, Row
from rebalance_forensics.report.incident_markdown import incident_markdown
from rebalance_forensics.report.plain_text import line_of

SUMMARY_CHARACTERS = 160


@dataclass(slots=True)
class Words:
    """Texts that many shapes share, each written once and told by its number."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number_of(self, text: str) -> int:
        """Give a text its number."""
        return self.numbers.setdefault(text, len(self.numbers))


def page_data(content: Content) -> Document:
    """Build the data island; of incidents only those that something drawn belongs to."""
    words = Words()
    pictures: Document = {picture.id: _picture(picture, words) for picture in content.pictures}
    rows = [row for picture in content.pictures for row in picture.rows]
    drawn = {bar.incident for row in rows for bar in row.bars} | {dot.incident for row in rows for dot in row.dots}
    return {
        "lines": content.budget.lines.rows,
        "incidents": {
            str(number): [one.root_causes[0].cause, line_of(one.summary, SUMMARY_CHARACTERS)]
            for number, one in enumerate(content.numbered)
            if number in drawn
        },
        "markdown": {one.id: "\n".join(incident_markdown(one)) for one in content.numbered if one.id in content.told},
        "pictures": pictures,
        "words": list(words.numbers),
    }


def _picture(picture: Picture, words: Words) -> Document:
    begun = picture.started_at
    rows = [[_bars(row, begun, words), _dots(row, begun, words)] for row in picture.rows]
    return {"from": begun, "to": picture.ended_at, "rows": rows}


def _bars(row: Row, begun: int, words: Words) -> list[Json]:
    return [_bar(bar, begun, words) for bar in row.bars]


def _bar(bar: Bar, begun: int, words: Words) -> Json:
    end = None if bar.ended_at is None else bar.ended_at - begun
    return [words.number_of(bar.kind), bar.started_at - begun, end, words.number_of(bar.label), bar.incident]


def _dots(row: Row, begun: int, words: Words) -> list[Json]:
    return [_dot(dot, begun, words) for dot in row.dots]


def _dot(dot: Dot, begun: int, words: Words) -> Json:
    return [words.number_of(dot.severity), dot.at - begun, words.number_of(dot.label), dot.line, dot.incident]
