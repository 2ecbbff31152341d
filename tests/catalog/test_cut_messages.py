"""Of a message with something left out, what stands before and behind the cut is told; what was cut away is unknown."""

from __future__ import annotations

import pytest

from rebalance_forensics.catalog.matcher import Catalog

PREFIX = "[Consumer clientId=c-1, groupId=payments]"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load()


def test_the_words_before_the_cut_and_the_logger_after_it_identify_the_message(catalog: Catalog) -> None:
    found = catalog.match_inside(f"{PREFIX} Member c-1-77aa sen \u2026 ConsumerCoordinator)")
    assert found is not None
    assert (found.event, found.group, found.fields) == (
        "LeaveSent",
        "payments",
        {"member": "c-1-77aa", "why": "unknown"},
    )


def test_the_words_after_the_cut_identify_the_reason(catalog: Catalog) -> None:
    found = catalog.match_inside(f"{PREFIX} Member c-1-77aa sending LeaveGroup \u2026 poll timeout has expired.")
    assert found is not None
    assert (found.event, found.fields.get("why")) == ("LeaveSent", "poll-timeout")


def test_a_few_letters_before_the_cut_are_enough_together_with_those_after_it(catalog: Catalog) -> None:
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
    assert (found.event, found.fields["member"], found.fields.get("why")) == ("MemberLeft", "c-1-77aa", "unknown")


def test_a_reason_that_was_cut_off_is_unknown_and_the_message_is_not(catalog: Catalog) -> None:
    found = catalog.match_inside(f"{PREFIX} Request j \u2026 ConsumerCoordinator)", headed=True)
    assert found is not None
    assert (found.event, found.group, found.fields) == ("JoinRequested", "payments", {"why": "unknown"})


def test_the_first_letters_of_a_reason_tell_it_where_no_other_begins_so(catalog: Catalog) -> None:
    found = catalog.match_inside(f"{PREFIX} Request joining group due to: subscri \u2026 invoices-retry]", headed=True)
    assert found is not None
    assert (found.event, found.fields["why"]) == ("JoinRequested", "subscription-changed")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("The consumer group h", "GROUP_MAX_SIZE_REACHED"),
        ("The group member's supported p", "INCONSISTENT_GROUP_PROTOCOL"),
        ("The coordinator is ", None),
    ],
)
def test_the_text_of_an_error_is_identified_by_its_beginning_unless_others_start_the_same_way(
    catalog: Catalog, text: str, error: str | None
) -> None:
    found = catalog.match_inside(f"{PREFIX} JoinGroup failed due to fatal error: {text} \u2026 ConsumerCoordinator)")
    assert found is not None
    assert (found.event, found.fields.get("error")) == ("JoinFailed", error)


@pytest.mark.parametrize(
    ("end", "event", "why"),
    [
        ("consumer is being closed", "LeaveSent", "closed"),
        ("timeout has expired.", "LeaveSent", "poll-timeout"),
        ("returned in poll() with max.poll.records.", "PollTimeoutExpired", None),
    ],
)
def test_a_cut_that_begins_within_the_prefix_leaves_the_client_and_the_end(
    catalog: Catalog, end: str, event: str, why: str | None
) -> None:
    found = catalog.match_inside(f"[Consumer clientId=c-1, groupId=paym \u2026 {end}", headed=True)
    assert found is not None
    assert (found.event, found.fields.get("why")) == (event, why)
    assert (found.speaker.client_id, found.group) == ("c-1", None)


def test_a_truncated_client_id_is_not_used(catalog: Catalog) -> None:
    found = catalog.match_inside("[Consumer clientId=search-index \u2026 the consumer is being closed", headed=True)
    assert found is not None
    assert (found.event, found.speaker.client_id) == ("LeaveSent", None)


def test_a_message_is_whole_where_the_cut_goes_through_its_logger(catalog: Catalog) -> None:
    found = catalog.match_inside(
        f"{PREFIX} Subscribed to topic(s): t-1, t-2 (org.apache.kafka.cli \u2026 afkaConsumer)"
    )
    assert found is not None
    assert (found.event, found.fields["topics"]) == ("Subscribed", ("t-1", "t-2"))


def test_a_message_that_was_cut_after_a_word_may_be_complete(catalog: Catalog) -> None:
    found = catalog.match_inside(
        "[GroupCoordinator id=3 topic=__consumer_offsets partition=0] Stabilized group cdc generation 2 with 2 "
        "members.  \u2026 roupMetadataManager)",
        headed=True,
    )
    assert found is not None
    assert (found.event, found.fields["generation"], found.fields["member_count"]) == ("GenerationStabilized", 2, 2)


def test_of_a_message_of_many_lines_those_before_the_cut_are_read(catalog: Catalog) -> None:
    found = catalog.match_inside(
        "ConsumerConfig values: \n\tclient.id = c-1\n\tgroup.id = payments\n\theartbeat.inter \u2026", headed=True
    )
    assert found is not None
    assert (found.event, found.fields["settings"]) == (
        "SettingsReported",
        (("client.id", "c-1"), ("group.id", "payments")),
    )


def test_the_beginning_of_a_truncated_id_is_reported_if_requested(catalog: Catalog) -> None:
    line = "[GroupCoordinator id=1] [Group payments] Member c-1-77 \u2026 GroupMetadataManager)"
    lines = [catalog.match_inside(line, headed=True, begun=begun) for begun in (True, False)]
    assert [each and each.event for each in lines] == ["MemberLeft"] * 2
    assert [each and each.fields.get("member") for each in lines] == ["c-1-77\u2026", None]


def test_a_word_of_a_few_is_known_by_its_beginning(catalog: Catalog) -> None:
    found = catalog.match_inside("stream-client [a] State transition from RUNNING to PENDING_SH \u2026 KafkaStreams)")
    assert found is not None
    assert (found.fields["before"], found.fields["after"]) == ("RUNNING", "PENDING_SHUTDOWN")


def test_a_newcomer_is_known_before_the_words_that_say_whether_it_is_in_yet(catalog: Catalog) -> None:
    found = catalog.match_inside(
        "[GroupCoordinator 1]: Dynamic member with unknown member id joins group pay \u2026 x)"
    )
    assert found is not None
    assert (found.event, found.group, found.fields) == ("MemberIdIssued", None, {})


@pytest.mark.parametrize(("logger", "event"), [("roupMetadataManager", "MemberFailed"), ("pCoordinator", None)])
def test_a_class_logs_few_messages_and_older_releases_logged_others(
    catalog: Catalog, logger: str, event: str | None
) -> None:
    line = f"[GroupCoordinator id=1 topic=__consumer_offsets partition=0] Member c-1-77aa \u2026 {logger})"
    found = catalog.match_inside(line, level="INFO", headed=True)
    assert (found and found.event) == event


@pytest.mark.parametrize(
    ("tail", "event"),
    [("th max.poll.records.", "PollTimeoutExpired"), ("timeout has expired.", "LeaveSent"), ("ing.", None)],
)
def test_a_message_whose_beginning_was_cut_with_its_logger_is_known_by_its_end(
    catalog: Catalog, tail: str, event: str | None
) -> None:
    logger = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinato"
    found = catalog.match_inside(f"\u2026 {tail}", logger=logger, level="WARN", headed=True)
    assert (found and found.event) == event


@pytest.mark.parametrize(
    ("head", "tail", "why"),
    [
        ("R", "equested by operator", "own-words"),
        ("Request joi", "ack b is drained", "unknown"),
        ("R", "dicated by the current assignment and re-join", "revoke-partitions"),
        ("R", "rs-3, orders-4]", None),
        ("Re", "payments", None),
    ],
)
def test_a_reason_that_ends_in_words_other_than_kafkas_is_the_applications(
    catalog: Catalog, head: str, tail: str, why: str | None
) -> None:
    logger = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
    found = catalog.match_inside(f"{PREFIX} {head} \u2026 {tail}", logger=logger, level="INFO", headed=True)
    assert (found and found.fields.get("why")) == why
    if found is not None and why == "enforced":
        assert found.fields["reason"] == f"\u2026{tail}"


@pytest.mark.parametrize(
    "line",
    [
        "[GroupCoordinator 1]: Member c-1-77aa \u2026 GroupCoordinator)",
        f"{PREFIX} \u2026 47483645 rack: null)",
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


EVICTED_OR_LEFT = "[GroupCoordinator 3]: Member c-1-b749f02b-154f \u2026 group.GroupCoordinator)"


def test_a_line_that_only_an_old_coordinator_logs_does_not_match_for_a_newer_one(catalog: Catalog) -> None:
    assert catalog.match_inside(EVICTED_OR_LEFT, level="INFO") is None
    found = catalog.match_inside(EVICTED_OR_LEFT, level="INFO", since=(2, 8))
    assert found is not None
    assert found.event == "MemberFailed"


def test_a_class_logs_what_the_one_that_it_extends_says(catalog: Catalog) -> None:
    cut = f"{PREFIX} Member c-1-46814d76-a368-447a \u2026 {{}})"
    sent = catalog.match_inside(cut.format("ConsumerCoordinator"), level="INFO")
    assert sent is not None
    assert sent.event == "LeaveSent"
    assert catalog.match_inside(cut.format("ConsumerMembershipManager"), level="INFO") is None


def test_the_end_of_a_thread_name_after_the_cut_belongs_to_no_message(catalog: Catalog) -> None:
    found = catalog.match_inside(
        "[GroupCoordinator 1]: Preparing to rebalance group payments in state Preparin \u2026 r-event-processor-1]"
    )
    assert found is not None
    assert (found.event, found.group) == ("RebalanceStarted", "payments")


@pytest.mark.parametrize(
    ("head", "event"), [("Member c-1 sen", "LeaveSent"), ("M", "LeaveSent"), ("", "PollTimeoutExpired")]
)
def test_the_advice_at_the_end_of_a_poll_timeout_tells_it(catalog: Catalog, head: str, event: str) -> None:
    found = catalog.match_inside(
        f"{PREFIX} {head} \u2026 in poll() with max.poll.records.", logger="o.a.k.c.c.internals.AbstractCoordinator"
    )
    assert found is not None
    assert (found.event, found.fields.get("why", "poll-timeout")) == (event, "poll-timeout")


@pytest.mark.parametrize(
    ("left", "why"),
    [
        ("group is already rebal", "already-rebalancing"),
        ("need to revoke partitions [orders-3, ord", "revoke-partitions"),
        ("triggered follow", "followup"),
        ("rebalance", "unknown"),
        ("rack b is drained", "own-words"),
        ("Shutdown requested by the night shift", "own-words"),
        ('Shutdown requested,"17","INFO"', "shutdown-requested"),
    ],
)
def test_a_reason_that_breaks_off_without_a_mark_is_not_the_applications_own(
    catalog: Catalog, left: str, why: str
) -> None:
    found = catalog.match(f"{PREFIX} Request joining group due to: {left}")
    assert found is not None
    assert (found.fields["why"], found.fields["reason"]) == (why, left)


@pytest.mark.parametrize(
    ("left", "why"),
    [("the consumer is be", "closed"), ("consumer poll timeout h", "poll-timeout"), ("the consumer", "unknown")],
)
def test_a_leave_whose_reason_breaks_off_is_not_an_administrators(catalog: Catalog, left: str, why: str) -> None:
    node = "b1.example.net:9092 (id: 2147483646 rack: null)"
    found = catalog.match(f"{PREFIX} Member c-1-77aa sending LeaveGroup request to coordinator {node} due to {left}")
    assert found is not None
    assert found.fields["why"] == why
