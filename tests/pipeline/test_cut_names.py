"""Names that were cut in a paste are those that its other lines show whole, and none where it may be several."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics.events.base import Event, Speaker
from rebalance_forensics.events.membership import (
    MemberFailed,
    MemberIdIssued,
    MemberJoined,
    MemberLeft,
    StaticMemberKept,
    StaticMemberReplaced,
)
from rebalance_forensics.pipeline.cut_names import Named, restore_names
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
    return [event.member for event in restore_names(events) if isinstance(event, MemberLeft)]


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


def test_the_longest_beginning_represents_a_member_that_no_line_shows_completely() -> None:
    assert named(left("c-2-b749f02b-1\u2026"), left("c-2-b749f\u2026")) == ["c-2-b749f02b-1\u2026"] * 2


@pytest.mark.parametrize(
    ("begun", "group"), [("pay\u2026", "payments"), ("pa\u2026", None), ("ord\u2026", None), (None, None)]
)
def test_a_group_is_the_one_that_begins_so(begun: str | None, group: str | None) -> None:
    restored = [*restore_names([left(LEFT), left(LEFT, "parcels"), left(None, begun)])]
    assert restored[-1].group == group


def test_what_a_line_names_whole_stays_as_it_is() -> None:
    events = [left(LEFT), left(OTHER, "orders")]
    assert [*restore_names(events)] == events


def test_events_whose_member_is_cut_off_name_none() -> None:
    assert MemberIdIssued.__struct_defaults__[0] is None
    assert MemberFailed.__struct_defaults__[0] == ()


CUT = "Static member with groupInstanceId=inst-1 and unknown member id joins group pay\u2026"


def joined(at: int | None, text: str = CUT, place: int = 0) -> MemberJoined:
    """What is left of the line about a static member that joined."""
    return MemberJoined(
        at=at, zoned=True, origin=Origin(path="paste.txt", byte_offset=place, line=1), speaker=BROKER, cluster="",
        group="pay\u2026", level="INFO", pattern="broker/member-joined", text=text, instance_id="inst-1",
    )  # fmt: skip


def kept(at: int | None, place: int = 100) -> StaticMemberKept:
    """The line behind it, where the group does not rebalance."""
    return StaticMemberKept(
        at=at, zoned=True, origin=Origin(path="paste.txt", byte_offset=place, line=2), speaker=BROKER, cluster="",
        group=None, level="INFO", pattern="broker/static-member-kept", text="Static member which joins during Stable",
    )  # fmt: skip


def restored(*events: Event) -> list[type[Event]]:
    """The event types of lines whose names were restored."""
    beside = Named()
    beside.read("[Consumer instanceId=inst-1, clientId=c-1, groupId=payments] Successfully \u2026")
    found = [*restore_names(events, beside)]
    assert all(event.group == "payments" for event in found if not isinstance(event, StaticMemberKept))
    return [type(event) for event in found]


def test_a_static_member_whose_line_is_cut_came_back_if_the_coordinator_then_says_it_will_not_rebalance() -> None:
    assert restored(joined(10), kept(12)) == [StaticMemberReplaced, StaticMemberKept]
    assert restored(kept(10, place=0), joined(10, place=100)) == [StaticMemberKept, StaticMemberReplaced]
    assert restored(joined(None), kept(None)) == [StaticMemberReplaced, StaticMemberKept], "in the order of the lines"


def test_without_that_line_or_long_after_it_it_is_unknown_whether_a_static_member_is_new() -> None:
    assert restored(joined(10)) == []
    assert restored(joined(10), kept(90_000)) == [StaticMemberKept]
    assert restored(kept(10, place=0), joined(12, place=100)) == [StaticMemberKept]


def test_before_3_0_the_words_of_a_new_static_member_are_no_other_ones() -> None:
    new = replace(joined(10, "Static Member with unknown member id joins group pay\u2026"), instance_id=None)
    assert restored(new) == [MemberJoined]


def test_a_static_member_that_was_added_to_the_group_is_new() -> None:
    assert restored(joined(10, f"{CUT} for this member and add to the group."), kept(12))[0] is MemberJoined


def failed(member: str) -> MemberFailed:
    """The coordinator gave up on a member."""
    return MemberFailed(
        at=20, zoned=True, origin=Origin(path="paste.txt", byte_offset=300, line=3), speaker=BROKER, cluster="",
        group="payments", level="INFO", pattern="broker/member-failed", text="Member \u2026", members=(member,),
        why="session-expired",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("instance", "member", "static"),
    [
        ("inst-1", "inst-1-b749f02b-154f-4c9b-92e6-f57babb332e3", "inst-1"),
        ("inst\u2026", "inst-1-b749f02b-154f-4c9b-92e6-f57babb332e3", "inst-1"),
        ("inst\u2026", "inst-1-b749f02b-154f-4c\u2026", "inst-1"),
        ("in\u2026", "inst-1-b749f02b-154f-4c9b-92e6-f57babb332e3", None),
        ("inst-2", "inst-1-b749f02b-154f-4c9b-92e6-f57babb332e3", None),
        ("c-1\u2026", LEFT, None),
    ],
)
def test_a_member_is_static_whose_id_begins_with_an_instance_id_and_with_no_clients_name(
    instance: str, member: str, static: str | None
) -> None:
    beside = Named()
    beside.read("[Consumer clientId=c-1, groupId=payments] Successfully \u2026")
    shown = replace(joined(10), instance_id=instance, group="payments")
    (found,) = (e for e in restore_names([shown, failed(member)], beside) if isinstance(e, MemberFailed))
    assert found.instance_id == static


def test_an_instance_id_that_was_cut_is_never_shown_as_one() -> None:
    events = [replace(left(LEFT), instance_id="inst\u2026", text="Member \u2026"), joined(10), kept(12)]
    found = [e for e in restore_names(events) if isinstance(e, MemberLeft)]
    assert [e.instance_id for e in found] == ["inst-1"]
    alone = [e for e in restore_names(events[:1]) if isinstance(e, MemberLeft)]
    assert [e.instance_id for e in alone] == [None]
