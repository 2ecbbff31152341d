"""What the page's own script needs: the shapes of each picture, the lines behind them, the incidents."""

from __future__ import annotations

from rebalance_forensics.report.documents import Document, Json
from rebalance_forensics.report.html.content import Content
from rebalance_forensics.report.html.shapes import Bar, Dot, Picture, Row
from rebalance_forensics.report.plain_text import line_of

NAME_CHARACTERS = 300


def page_data(content: Content) -> Document:
    """Build the data island."""
    return {
        "lines": content.budget.lines.rows,
        "incidents": [
            {"id": one.id, "cause": one.root_causes[0].cause, "summary": line_of(one.summary, NAME_CHARACTERS)}
            for one in content.numbered
        ],
        "pictures": {picture.id: _picture(picture) for picture in content.pictures},
    }


def _picture(picture: Picture) -> Document:
    return {
        "from": picture.started_at,
        "to": picture.ended_at,
        "rows": [_row(row) for row in picture.rows],
    }


def _row(row: Row) -> Document:
    return {
        "name": line_of(row.name, NAME_CHARACTERS),
        "bars": [_bar(bar) for bar in row.bars],
        "dots": [_dot(dot) for dot in row.dots],
    }


def _bar(bar: Bar) -> Json:
    return [bar.kind, bar.started_at, bar.ended_at, bar.label, bar.incident]


def _dot(dot: Dot) -> Json:
    return [dot.severity, dot.at, dot.label, dot.line, dot.incident]
