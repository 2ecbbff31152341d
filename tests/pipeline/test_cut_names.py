"""Names that were cut in a paste are those that its other lines show whole, and none where it may be several."""

from __future__ import annotations

import pytest

from rebalance_forensics.events.base import Event, Speaker
from rebalance_forensics.events.membership import MemberFailed, MemberIdIssued, MemberLeft
from rebalance_forensics.pipeline.cut_names import with_their_names
from rebalance_forensics.records import Origin

LEFT = "c-1-b749f02b-154f-4c9b-92e6-f57babb332e3"
OTHER = "c-1-b7e60000-154f-4c9b-92e6-f57babb332e3"
BROKER = Speaker(role="broker", file="paste.txt")


def left(member: str | None, group: str | None = "payments") -> MemberLeft:
    """A coordinator's line that tells of this member."""
    text = "Member \u2026" if member is None or member.endswith("\u2026") else f"Member {member} has left"
    return MemberLeft(
        at=0, zoned=True, origin=Origin(path="paste.txt", byte_offset=0, line=1), speaker=BROKER, cluster="",
        group=group, level="INFO", pattern="broker/member-left", text=text, member=member,
    )  # fmt: skip


def named(*events: Event) -> list[str | None]:
    """The members of the events."""
    return [event.member for event in with_their_names(events) if isinstance(event, MemberLeft)]


@pytest.mark.parametrize(
    ("begun", "whole"),
    [
        ("c-1-b749f0\u2026", LEFT),
        ("c-1-b749f02b-154f-4c9b-92e6-f57babb332e3\u2026", LEFT),
        ("c-1-b7\u2026", None),
        ("c-1-\u2026", None),
        ("c-1-ffff0\u2026", "c-1-ffff0\u2026"),
        ("c-2-ffff0\u2026", None),
        ("c-2-ffff0000-15\u2026", "c-2-ffff0000-15\u2026"),
        ("payments-ffff0000-15\u2026", None),
    ],
)
def test_a_member_is_the_one_whose_id_begins_so(begun: str, whole: str | None) -> None:
    assert named(left(LEFT), left(OTHER), left(begun))[-1] == whole


def test_the_longest_beginning_stands_for_a_member_that_no_line_shows_whole() -> None:
    assert named(left("c-2-b749f02b-1\u2026"), left("c-2-b749f\u2026")) == ["c-2-b749f02b-1\u2026"] * 2


@pytest.mark.parametrize(
    ("begun", "group"), [("pay\u2026", "payments"), ("pa\u2026", None), ("ord\u2026", None), (None, None)]
)
def test_a_group_is_the_one_that_begins_so(begun: str | None, group: str | None) -> None:
    told = [*with_their_names([left(LEFT), left(LEFT, "parcels"), left(None, begun)])]
    assert told[-1].group == group


def test_what_a_line_names_whole_stays_as_it_is() -> None:
    events = [left(LEFT), left(OTHER, "orders")]
    assert [*with_their_names(events)] == events


def test_events_whose_member_is_cut_off_name_none() -> None:
    assert MemberIdIssued.__struct_defaults__[0] is None
    assert MemberFailed.__struct_defaults__[0] == ()
