from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.html.content import content_of
from rebalance_forensics.report.html.shapes import Picture, Row, legend
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.wording import in_ranges
from tests.report.building import at, crash_report
from tests.report.owned import many_partitions, owned_report


def picture_of(report: Report) -> Picture:
    return content_of(report).pictures[0]


def partitions_of(report: Report) -> list[Row]:
    return [row for row in picture_of(report).rows if row.layer == "partitions"]


def test_partitions_with_equal_stretches_share_a_row_that_names_them() -> None:
    labels = [row.label for row in partitions_of(owned_report())]
    assert labels == ["orders 0-3", "orders 4-5", "orders 6-7", "orders 8-11"]
    assert partitions_of(owned_report())[0].name == "orders 0-3 (4 partitions, alike)"


def test_a_partition_is_drawn_with_its_owners_its_unread_time_and_its_uncertain_start() -> None:
    (row,) = [row for row in partitions_of(owned_report()) if row.label == "orders 4-5"]
    assert [bar.kind for bar in sorted(row.bars, key=lambda bar: bar.started_at)] == [
        *("read", "perhaps", "unread", "read")
    ]
    (dead,) = [bar for bar in row.bars if bar.kind == "unread"]
    assert (dead.look, dead.started_at, dead.ended_at) == ("dead", at(88), at(134))
    assert dead.label == "dead: its process was gone, was read by payments-2"
    (perhaps,) = [bar for bar in row.bars if bar.kind == "perhaps"]
    assert (perhaps.started_at, perhaps.ended_at) == (at(86), at(88))


def test_an_end_between_two_lines_is_drawn_and_described_with_both_bounds() -> None:
    report = owned_report()
    (history,) = report.groups
    span = next(span for span in history.unread if span.ended_at is not None)
    bounded = replace(history, unread=(replace(span, certain=False, to_latest=at(150)),))
    report = replace(report, groups=(bounded,))
    (row,) = [row for row in partitions_of(report) if any(bar.label.startswith("perhaps still") for bar in row.bars)]
    (perhaps,) = [bar for bar in row.bars if bar.label.startswith("perhaps still")]
    assert (perhaps.started_at, perhaps.ended_at) == (span.ended_at, at(150))
    assert "at the latest" in to_html(report)


def test_an_unbounded_end_is_drawn_to_the_end_of_the_picture_and_described() -> None:
    report = owned_report()
    assert "no line shows until when" not in to_html(report)
    (history,) = report.groups
    spans = tuple(replace(span, certain=False, to_latest=None) for span in history.unread)
    report = replace(report, groups=(replace(history, unread=spans),))
    open_ends = {
        bar.ended_at for row in partitions_of(report) for bar in row.bars if bar.label.startswith("perhaps still")
    }
    assert open_ends == {None}
    assert "or later: no line shows until when" in to_html(report)


def test_each_owner_has_a_color_that_is_shown_next_to_its_lane() -> None:
    picture = picture_of(owned_report())
    colors = {owner.name: owner.color for owner in picture.owners}
    assert len(set(colors.values())) == 3
    assert {row.name: row.owner for row in picture.rows if row.owner is not None} == colors


def test_one_row_shows_how_many_partitions_are_unread() -> None:
    (row,) = [row for row in picture_of(owned_report()).rows if row.kind == "share"]
    assert [(bar.label, bar.share) for bar in row.bars] == [("4 of 12 partitions unread", 4 / 12)]


def test_of_too_many_rows_those_least_unread_are_left_out_and_counted() -> None:
    report = many_partitions(100)
    labels = [row.label for row in partitions_of(report)]
    assert labels == [f"orders {number}" for number in range(60, 100)]
    assert "60 partitions in 60 rows, those least unread" in picture_of(report).left_out
    assert "60 partitions in 60 rows, those least unread" in to_html(report)


def test_the_picture_begins_before_its_first_partition_is_unread() -> None:
    assert picture_of(owned_report()).started_at < at(86)


def test_without_known_owners_there_is_no_switch() -> None:
    assert not picture_of(crash_report()).has_partitions
    assert 'data-do="partitions"' not in to_html(crash_report())
    assert 'data-do="partitions"' in to_html(owned_report())


def test_the_legend_of_partitions_says_why_in_words() -> None:
    lines = [meaning for _, meaning in legend(picture_of(owned_report()), "partitions")]
    assert "dead: its process was gone" in lines
    assert "perhaps unread" in lines
    assert "leads" not in lines


@pytest.mark.parametrize(
    ("partitions", "said"),
    [
        (["orders-10", "orders-2", "orders-1"], "orders 1-2, 10"),
        (["a-b-0", "a-b-1", "z-3"], "a-b 0-1; z 3"),
        (["sink", "orders-0"], "orders 0; sink"),
    ],
)
def test_partitions_of_one_topic_are_named_together(partitions: list[str], said: str) -> None:
    assert in_ranges(partitions) == said
