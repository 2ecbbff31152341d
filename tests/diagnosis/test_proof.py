"""Evidence: a list of twenty lines shows every kind of line that a cause rests on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rebalance_forensics.diagnosis.wording.proof import MOST_LINES, select_evidence
from rebalance_forensics.events.base import Event, Speaker
from rebalance_forensics.events.membership import MemberLeft
from rebalance_forensics.records import Origin


def line(place: int, pattern: str) -> Event:
    """A line of a log, known by this pattern."""
    return MemberLeft(
        at=place, zoned=True, origin=Origin(path="server.log", byte_offset=place, line=place),
        speaker=Speaker(role="broker", file="server.log"), cluster="", group="payments", level="INFO", pattern=pattern,
        text=pattern, member=None,
    )  # fmt: skip


@given(st.lists(st.sampled_from(["poll-timeout", "left", "joined", "failed"]), min_size=1, max_size=80))
def test_however_often_one_kind_of_line_repeats_each_kind_is_shown_and_their_order_stays(patterns: list[str]) -> None:
    lines = [line(place, pattern) for place, pattern in enumerate(patterns)]
    shown, total = select_evidence(lines)
    assert total == len(lines)
    assert len(shown) == min(MOST_LINES, len(lines))
    assert [e.line for e in shown] == sorted(e.line for e in shown)
    assert shown[0].line == 0, "the most telling line stays the first"
    assert {e.text for e in shown} == set(patterns)
