"""Of a message with something left out, what stands before and behind the cut is told; what was cut away is unknown."""

from __future__ import annotations

import pytest

from rebalance_forensics.catalog.matcher import Catalog

PREFIX = "[Consumer clientId=c-1, groupId=payments]"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


def test_the_words_before_the_cut_and_the_logger_behind_it_tell_the_message(catalog: Catalog) -> None:
    found = catalog.match_inside(f"{PREFIX} Member c-1-77aa sen \u2026 ConsumerCoordinator)")
    assert found is not None
    assert (found.event, found.group, found.fields) == ("LeaveSent", "payments", {"member": "c-1-77aa"})


def test_the_words_behind_the_cut_tell_the_reason(catalog: Catalog) -> None:
    found = catalog.match_inside(f"{PREFIX} Member c-1-77aa sending LeaveGroup \u2026 poll timeout has expired.")
    assert found is not None
    assert (found.event, found.fields.get("why")) == ("LeaveSent", "poll-timeout")


def test_a_few_letters_before_the_cut_are_enough_with_those_behind_it(catalog: Catalog) -> None:
    found = catalog.match_inside(f"{PREFIX} Group coo \u2026 true. Rediscovery will be attempted.")
    assert found is not None
    assert (found.event, found.group) == ("CoordinatorLost", "payments")


def test_values_on_both_sides_of_the_cut_are_read_where_they_are_whole(catalog: Catalog) -> None:
    found = catalog.match_inside(
        "[GroupCoordinator 1]: Stabilized group payments generation 7 (__consum \u2026 sets-3) with 4 members"
    )
    assert found is not None
    assert (found.group, found.fields) == ("payments", {"generation": 7, "member_count": 4})


def test_a_member_that_was_evicted_is_known_by_the_first_half_of_the_line(catalog: Catalog) -> None:
    found = catalog.match_inside(
        "[GroupCoordinator 3]: Member c-1-77aa in group payments has failed, remo \u2026 group.GroupCoordinator)"
    )
    assert found is not None
    assert (found.event, found.fields["members"]) == ("MemberFailed", ("c-1-77aa",))


def test_the_object_that_a_line_prints_is_read_as_far_as_it_goes(catalog: Catalog) -> None:
    member = "MemberMetadata(memberId=c-1-77aa, groupInstanceId=None, clien"
    found = catalog.match_inside(f"[GroupCoordinator 2]: Member {member} \u2026 p.GroupCoordinator)")
    assert found is not None
    assert (found.event, found.fields["member"], found.fields.get("why")) == ("MemberLeft", "c-1-77aa", None)


@pytest.mark.parametrize(
    "line",
    [
        "[GroupCoordinator 1]: Member c-1-77aa \u2026 GroupCoordinator)",
        f"{PREFIX} \u2026 47483645 rack: null)",
        "[GroupCoordinator 1]: Static member with groupInstanceId=i-1 and unknown member id joins group \u2026 x)",
        f"{PREFIX} Re \u2026",
    ],
)
def test_words_that_several_messages_begin_with_tell_none_of_them(catalog: Catalog, line: str) -> None:
    assert catalog.match_inside(line) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Member c-1 in group payments has failed \u2026 and nobody knows why.",
        "Preparing to rebalance group payments in state Stable \u2026 that is what I would like to understand.",
        "Group coordinator b1:9092 \u2026 was rebooted by the platform team, see the ticket.",
    ],
)
def test_a_sentence_with_something_left_out_is_no_message(catalog: Catalog, sentence: str) -> None:
    found = catalog.match_inside(sentence)
    assert found is None
