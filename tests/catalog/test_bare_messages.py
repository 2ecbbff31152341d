"""A message is known by its own words wherever it begins in a line; talk about messages is none."""

from __future__ import annotations

import pytest

from rebalance_forensics.catalog.matcher import Catalog

FAILED = "Member c-1-77aa in group payments has failed, removing it from the group"
REJOIN = "[Consumer clientId=c-1, groupId=payments] (Re-)joining group"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


@pytest.mark.parametrize(
    "line",
    [
        FAILED,
        f"[10:15] sam: {FAILED}",
        f"| 10:15 | broker-1 | {FAILED} |",
        f'"{FAILED}",',
        f"what the broker says -> {FAILED}",
        f"9,580,669 INFO executor-3 {FAILED}",
        f"odd <layout> INFO {FAILED} (kafka.coordinator.group.GroupCoordinator)",
    ],
)
def test_a_message_is_found_wherever_it_begins_and_whatever_follows_it(catalog: Catalog, line: str) -> None:
    found = catalog.match_inside(line)
    assert found is not None
    assert (found.pattern, found.group) == ("broker/member-failed", "payments")


@pytest.mark.parametrize("line", [REJOIN, f"sam: {REJOIN}", f"then we see {REJOIN.replace('[', ': [', 1)}"])
def test_the_prefix_of_a_class_makes_a_short_message_kafkas(catalog: Catalog, line: str) -> None:
    found = catalog.match_inside(line)
    assert found is not None
    assert found.group == "payments"


@pytest.mark.parametrize(
    "sentence",
    [
        "I think a member has failed and the coordinator removed it from the group.",
        "We saw that member X has failed, and then everything rebalanced again.",
        "After the deployment every consumer was rejoining the group for minutes.",
        "Why is it that (Re-)joining group shows up so often in our logs?",
        'The client says "Giving away all assigned partitions as lost" and starts anew.',
        "Preparing to rebalance is what the broker writes when somebody joins or leaves.",
        "Is the rebalance timeout the same as max.poll.interval.ms of the slowest member?",
        "Stabilized group payments, finally, after we raised the session timeout to a minute.",
        "Revoking previously assigned partitions",
        "The leader finished the assignment \u2026 and nobody got partition 7.",
    ],
)
def test_a_sentence_about_messages_is_not_a_message(catalog: Catalog, sentence: str) -> None:
    assert catalog.match_inside(sentence) is None


def test_a_message_whose_end_was_left_out_tells_what_is_left(catalog: Catalog) -> None:
    message = "Preparing to rebalance group payments in state PreparingRebalance with old generation 7"
    found = catalog.match_inside(
        f"[GroupCoordinator 1]: {message} (__consumer_offsets-3) (reason: Adding new mem\u2026"
    )
    assert found is not None
    assert (found.event, found.group, found.fields["generation"]) == ("RebalanceStarted", "payments", 7)


def test_a_truncated_name_is_not_read_as_a_complete_one(catalog: Catalog) -> None:
    found = catalog.match_inside("[GroupCoordinator 1]: Preparing to rebalance group paym\u2026")
    assert found is None or found.group is None


def test_a_truncated_reason_is_not_read_as_the_applications_own(catalog: Catalog) -> None:
    cut = "[Consumer clientId=c-1, groupId=payments] Request joining group due to: need to re-jo\u2026"
    found = catalog.match_inside(cut)
    assert found is None or found.fields.get("why") != "enforced"


def test_a_quoted_message_needs_to_name_its_group_no_more_than_one_that_is_not(catalog: Catalog) -> None:
    found = catalog.match_inside(">Failing OffsetCommit request since the consumer is not part of an active group")
    assert found is not None
    assert found.event == "OffsetCommitFailed"


@pytest.mark.parametrize(
    "before",
    ["", "Caused by: ", 'Exception in thread "main" ', "> Caused by: ", "ksqldb-server   | ", "app-1  | Caused by: "],
)
def test_what_announces_an_exception_makes_no_sentence_of_it(catalog: Catalog, before: str) -> None:
    thrown = "org.apache.kafka.streams.errors.TaskMigratedException: Client request for task 0_1 has been fenced"
    found = catalog.match_inside(f"{before}{thrown} due to a rebalance")
    assert found is not None
    assert found.event in ("ThreadFenced", "ExceptionLogged")


@pytest.mark.parametrize(
    "sentence",
    [
        "We then see a TaskMigratedException: Client request for task 0_1 has been fenced due to a rebalance",
        "a FencedInstanceIdException says that the broker rejected this static consumer",
        "What does org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group mean?",
    ],
)
def test_a_sentence_about_an_exception_is_not_an_exception(catalog: Catalog, sentence: str) -> None:
    assert catalog.match_inside(sentence) is None


@pytest.mark.parametrize("mark", ["`", '"', "'", "> `"])
def test_a_line_in_quotes_is_no_sentence(catalog: Catalog, mark: str) -> None:
    text = "Member c-1-77aa sending LeaveGroup request to coordinator b1.example.net:9092 (id: 2147483645 rack: null)"
    found = catalog.match_inside(f"{mark}{text} due to consumer poll timeout has expired.{mark.strip('> ')}")
    assert found is not None
    assert (found.event, found.fields["why"]) == ("LeaveSent", "poll-timeout")


def test_a_line_that_is_nothing_but_a_short_message_with_its_group_is_one(catalog: Catalog) -> None:
    found = catalog.match_inside("Failed to join group payments: EOF")
    assert found is not None
    assert (found.event, found.group) == ("JoinFailed", "payments")
    assert catalog.match_inside("We see: Failed to join group payments: EOF") is None
