from __future__ import annotations

import pytest

from rebalance_forensics.catalog.matcher import Catalog

FAILED = "Member c-1-77aa in group payments has failed, removing it from the group"
TRACE = "\norg.apache.kafka.common.errors.TimeoutException: late\n\tat org.apache.kafka.x.Y.z(Y.java:1)"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """The shipped catalog."""
    return Catalog.load()


@pytest.mark.parametrize(
    "message",
    [
        FAILED,
        f"{FAILED}   ",
        f"{FAILED}\r",
        f"\x1b[31m{FAILED}\x1b[0m",
        f"[GroupCoordinator 1]: {FAILED}",
        f"[SomeForkOfKafka nodeId=3] {FAILED}",
        f"{FAILED}{TRACE}",
        f"{FAILED}\nsomething a layout put behind it",
    ],
)
def test_a_line_is_recognized_whatever_surrounds_it(catalog: Catalog, message: str) -> None:
    match = catalog.match(message)
    assert match is not None
    assert (match.event, match.group) == ("MemberFailed", "payments")
    assert match.fields == {"members": ("c-1-77aa",), "why": "session-expired"}


@pytest.mark.parametrize("blank", ["\n\n", "\n \n"])
@pytest.mark.parametrize(
    "message",
    [
        "Member c-1 sending LeaveGroup request due to the consumer unsubscribed from all topics",
        "Offset commit failed on partition orders-0 at offset 42: The coordinator is not aware of this member.",
        "[GroupId payments] Member 1zF6aWBvQIWSGzWZk8Yy0w fenced from the group because its session expired.",
        "Updating assignment with\n\tAssigned partitions: [a-0]\n\tCurrent owned partitions: []\n",
    ],
)
def test_what_a_person_wrote_below_an_empty_line_is_no_part_of_a_message(
    catalog: Catalog, message: str, blank: str
) -> None:
    assert catalog.match(f"{message}{blank}Does anybody know why? We run 3 brokers: b-1, b-2.") == catalog.match(
        message
    )


@pytest.mark.parametrize(
    "message",
    [
        "Updating assignment with\n\tAssigned partitions: [a-0]\n\tCurrent owned partitions: [b-0]\n",
        "ConsumerConfig values:\n\tclient.id = c-1\n\tmax.poll.interval.ms = 300000\n",
    ],
)
def test_a_message_of_several_lines_is_whole_in_a_copy_with_an_empty_line_below_each(
    catalog: Catalog, message: str
) -> None:
    whole, copied = catalog.match(message), catalog.match(message.replace("\n", "\n\n"))
    assert whole is not None
    assert copied is not None
    assert copied.fields.keys() == whole.fields.keys()
    assert all(map(bool, copied.fields.values())) == all(map(bool, whole.fields.values()))


@pytest.mark.parametrize("below", ["", "\nWe restarted it then.", "\n- b-1: alive"])
@pytest.mark.parametrize("broken", [" is ", "\nis "])
def test_kafkas_own_words_are_read_where_they_were_broken_and_above_a_persons(
    catalog: Catalog, below: str, broken: str
) -> None:
    left = catalog.match(f"Member c-1 sending LeaveGroup request due to the consumer{broken}being closed{below}")
    failed = catalog.match(
        f"LeaveGroup request failed with error: The coordinator{broken}not aware of this member.{below}"
    )
    assert left is not None
    assert failed is not None
    assert (left.fields["why"], failed.fields["error"]) == ("closed", "UNKNOWN_MEMBER_ID")


def test_ids_may_contain_blanks(catalog: Catalog) -> None:
    match = catalog.match("Member my app-1-77aa in group team payments has failed, removing it from the group")
    assert match is not None
    assert (match.group, match.fields["members"]) == ("team payments", ("my app-1-77aa",))


def test_the_prefix_tells_the_group_and_the_speaker(catalog: Catalog) -> None:
    match = catalog.match("[Consumer instanceId=pod-3, clientId=c-1, groupId=payments] (Re-)joining group")
    assert match is not None
    assert match.group == "payments"
    assert (match.speaker.role, match.speaker.client_id, match.speaker.instance_id) == ("consumer", "c-1", "pod-3")


def test_identical_messages_of_two_kinds_of_processes_are_distinguished_by_the_prefix(catalog: Catalog) -> None:
    words = "State transition from RUNNING to PENDING_SHUTDOWN"
    client, thread = catalog.match(f"stream-client [a] {words}"), catalog.match(f"stream-thread [a-1] {words}")
    assert client is not None
    assert thread is not None
    assert (client.event, thread.event) == ("StreamsStateChanged", "StreamThreadStateChanged")


@pytest.mark.parametrize("message", ["", " ", "\n", "[", "] ", "Order 77 was shipped", "rebmeM c-1 ni puorg g"])
def test_a_message_that_kafka_never_logs_matches_no_pattern(catalog: Catalog, message: str) -> None:
    assert catalog.match(message) is None


def test_inner_classes_and_companions_count_as_their_outer_class(catalog: Catalog) -> None:
    assert catalog.is_group_class("kafka.coordinator.group.GroupMetadata$")
    assert catalog.is_group_class("o.a.k.c.c.internals.ConsumerCoordinator")
    assert not catalog.is_group_class("kafka.server.ReplicaManager")


def test_a_long_hostile_message_ends(catalog: Catalog) -> None:
    assert catalog.match("Member " + "in group " * 20_000 + "x") is None


@pytest.mark.parametrize("members", ["*******", "****", "\u2588\u2588\u2588"])
def test_a_name_that_was_covered_is_one_name_however_long_the_cover(members: str) -> None:
    line = f"[GroupCoordinator 3]: Member {members} in group ***** has failed, removing it from the group"
    found = Catalog.load().match(line)
    assert found is not None
    assert (found.fields["members"], found.group) == (("***",), "***")
