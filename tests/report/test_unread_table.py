"""The page says who read nothing, when and why, also in a table that needs no picture and no JavaScript."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.html.budget import UNREAD_ROWS_A_TABLE, Budget
from rebalance_forensics.report.html.incident_links import links_of
from rebalance_forensics.report.html.tables import unread_rows
from rebalance_forensics.report.model import Report
from tests.report.building import crash_report
from tests.report.owned import many_partitions, owned_report, unread


def table_of(report: Report) -> str:
    found = re.search(r'id="group-0-unread".*?</table>', to_html(report), re.DOTALL)
    return "" if found is None else re.sub(r"<[^>]+>", " ", found.group())


def test_partitions_that_one_member_left_unread_at_once_are_one_row() -> None:
    (row,), left_out = unread_rows(owned_report().groups[0], Budget(), links_of([]))
    assert row.partitions == ("orders-4", "orders-5", "orders-6", "orders-7")
    assert (row.whose, row.lasted_ms, row.why, left_out) == ("payments-2", 46_000, "dead: its process was gone", 0)


def test_the_page_says_it_in_words_and_from_when_on_it_may_have_been() -> None:
    outcome = table_of(owned_report())
    assert "orders-4, orders-5, orders-6 and orders-7" in outcome
    assert "46 s" in outcome
    assert re.search(r"or earlier,\s+\S+\s+at the earliest", outcome)
    assert "dead: its process was gone" in outcome


def test_a_partition_that_is_not_read_again_is_reported_as_such() -> None:
    history = replace(owned_report().groups[0], unread=(unread(4, 88, None),))
    assert "not read again" in table_of(replace(crash_report(), groups=(history,)))


def test_a_group_whose_partitions_were_always_read_has_no_such_table() -> None:
    assert not table_of(crash_report())


def test_the_longest_stretches_stay_when_the_page_is_full_and_the_others_are_counted() -> None:
    history = many_partitions(UNREAD_ROWS_A_TABLE * 5).groups[0]
    rows, left_out = unread_rows(history, Budget(), links_of([]))
    assert len(rows) <= UNREAD_ROWS_A_TABLE
    assert left_out > 0
    longest = max(history.unread, key=lambda span: (span.ended_at or 0) - span.started_at).partition
    assert any(longest in row.partitions for row in rows)
    assert [row.started_at for row in rows] == sorted(row.started_at for row in rows)
