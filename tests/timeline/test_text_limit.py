"""Texts that are cut say how much is missing, also where they are cut more than once."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_forensics.timeline.evidence import abridged, shortened, without_middle


def test_a_text_within_the_limit_stays_as_it_is() -> None:
    assert shortened("a" * 100, 100) == "a" * 100


def test_a_cut_text_says_how_many_characters_are_missing() -> None:
    assert shortened("a" * 5_000, 2_000) == "a" * 2_000 + " … (+3000 characters)"


def test_no_mark_takes_the_place_of_the_few_characters_that_would_be_missing() -> None:
    assert shortened("a" * 102, 100) == "a" * 102


@given(st.integers(0, 9_000), st.integers(1, 3_000), st.integers(1, 3_000))
def test_what_is_cut_twice_counts_what_is_missing_of_the_whole(length: int, first: int, second: int) -> None:
    text = shortened(shortened("a" * length, max(first, second)), min(first, second))
    kept, _, missing = text.partition(" … (+")
    assert len(kept) + int(missing.partition(" ")[0] or 0) == length


@example(162, 166, 225, "\n\tat a.B.run(B.java:7)")
@given(
    st.integers(150, 9_000),
    st.integers(120, 3_000),
    st.integers(120, 3_000),
    st.sampled_from(("", "\n\tat a.B.run(B.java:7)")),
)
def test_a_line_keeps_the_reason_at_its_end_however_long_and_however_often_it_is_cut(
    length: int, first: int, second: int, trace: str
) -> None:
    reason = "(reason: the consumer is being closed)"
    line = f"[2026-11-20 10:15:30,123] INFO Preparing {'a' * length} {reason}"
    text = line + trace
    cut = without_middle(without_middle(text, max(first, second)), min(first, second))
    assert cut.startswith("[2026-11-20 10:15:30,123")
    if len(line) > min(first, second) + 20:
        assert cut.endswith(reason)
        assert len(cut) <= min(first, second) + 20
        head, missing, end = re.split(r" … \(\+(\d+) characters\) … ", cut)
        assert len(head) + int(missing) + len(end) in range(len(text) - 4, len(text) + 1)


MEMBER = "orders-eu-12-a6c481e9-477e-4bd8-b562-ba1fa2480898"
LOST = (
    "[2026-11-26 02:38:02,975] INFO [Consumer clientId=orders-eu-2, groupId=orders-eu] Group coordinator "
    "kafka-2.example.net:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: session timed out "
    "without receiving a heartbeat response. isDisconnected: false. Rediscovery will be attempted. "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
)
REMOVED = (
    "[2026-11-26 02:15:59,053] INFO [GroupCoordinator 2]: Preparing to rebalance group orders-eu in state "
    f"PreparingRebalance with old generation 1 (__consumer_offsets-4) (reason: Removing member {MEMBER} on "
    "LeaveGroup; client reason: consumer poll timeout has expired.) (kafka.coordinator.group.GroupCoordinator)"
)
EXPIRED = (
    "2026-11-21T01:56:11.851Z WARN  [kafka-coordinator-heartbeat-thread | orders-eu] "
    "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator - [Consumer clientId=orders-eu-2, "
    "groupId=orders-eu] consumer poll timeout has expired. This means the time between subsequent calls to poll() was "
    "longer than the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much "
    "time processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
    "maximum size of batches returned in poll() with max.poll.records."
)
PROOFS = (
    (LOST, "session timed out without receiving a heartbeat response. isDisconnected: false."),
    (REMOVED, "on LeaveGroup; client reason: consumer poll timeout has expired."),
)


@pytest.mark.parametrize(("line", "reason"), PROOFS)
def test_what_names_a_line_is_shortened_before_what_it_says(line: str, reason: str) -> None:
    shown = abridged(line, 320)
    assert len(shown) <= 340
    assert reason in shown
    assert "characters)" not in shown
    assert abridged(line, len(line)) == line


@pytest.mark.parametrize("limit", [240, 400, 520])
def test_a_line_whose_message_begins_with_its_reason_keeps_it_and_whose_line_it_is(limit: int) -> None:
    shown = abridged(EXPIRED, limit)
    assert len(shown) <= limit + 20
    assert "consumer poll timeout has expired." in shown
    assert ("clientId=orders-eu-2" in shown) == (limit >= 400)
    head, *rest = re.split(r" … \(\+(\d+) characters\) … ", shown)
    kept = len(head) + sum(map(len, rest[1::2])) + sum(map(int, rest[::2]))
    assert kept in range(len(EXPIRED) - 2 * len(rest), len(EXPIRED) + 1)


@pytest.mark.parametrize("line", [line for line, _ in PROOFS])
def test_no_word_of_a_proof_is_cut_in_two(line: str) -> None:
    shown = abridged(line, 220)
    head, _, end = re.split(r" … \(\+(\d+) characters\) … ", shown)
    assert set(head.split()) | set(end.split()) <= set(abridged(line, 320).split())


def test_of_a_client_that_leaves_the_reason_is_kept_before_what_java_advises() -> None:
    # As Java 2.8 logs it.
    line = (
        "2026-11-21 01:55:24.345  INFO 6 --- [-thread | email] o.a.k.c.c.internals.AbstractCoordinator : [Consumer "
        "clientId=email-sender.eu-4, groupId=email-sender.eu] Member email-sender.eu-4-53833684-f868-46e2-a5dd-"
        "07a792706049 sending LeaveGroup request to coordinator 127.0.0.1:19002 (id: 2147483645 rack: null) due to "
        "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
        "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
        "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
        "maximum size of batches returned in poll() with max.poll.records."
    )
    short = abridged(line, 400)
    assert len(short) <= 400
    assert "email-sender.eu-4, groupId" in short
    assert "sending LeaveGroup" in short
    assert "due to consumer poll timeout has expired." in short
    assert short.endswith(" characters)")
