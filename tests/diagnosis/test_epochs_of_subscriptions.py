"""What the coordinator of a KIP-848 group shows about subscriptions; lines recorded from Kafka 4.1 and 4.4."""

from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.model import RootCause

MANAGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
ORDERS, BOTH = -1182866688409536237, 7722246720937844175
FIRST, SECOND, THIRD = "uHVT3m-NQPCVDl1S0mPwvQ", "_GSTS0f4QIu_Dc0FgrF26A", "NWHNWj-gQJmKRTLz1d9YHw"


def says(time: str, message: str) -> str:
    prefix = "[GroupCoordinator id=1 topic=__consumer_offsets partition=1] [GroupId ship]"
    return f"[2026-11-28 {time}] INFO {prefix} {message} ({MANAGER})\n"


def joins(time: str, member: str) -> str:
    return says(time, f"Member {member} joins the consumer group using the consumer protocol.")


def bumped(time: str, epoch: int, topics: int = ORDERS) -> str:
    return says(time, f"Bumped group epoch to {epoch} with metadata hash {topics}.") + says(
        time, f"Computed a new target assignment for epoch {epoch} with 'uniform' assignor in 0ms."
    )


def scanned(time: str, *patterns: str) -> str:
    return says(time, f"Scanned 7 topics to refresh regular expressions [{', '.join(patterns)}] in 0ms.")


def created(time: str, topic: str) -> str:
    return (
        f"[2026-11-28 {time}] INFO Created log for partition {topic}-0 in /data/{topic}-0 with properties {{}} "
        "(kafka.log.LogManager)\n"
    )


FORMED = joins("05:16:38,983", FIRST) + bumped("05:16:38,983", 1) + joins("05:16:39,359", SECOND)
FORMED += bumped("05:16:39,359", 2)
ROLLED = "[UnifiedLog partition=bills-0, dir=/data] Rolled new log segment at offset 5 in 1 ms. (kafka.log.UnifiedLog)"
BEFORE, AFTER = (
    "".join(f"[2026-11-28 05:{minute}:{n:02},000] INFO {ROLLED}\n" for n in range(60)) for minute in (15, 40)
)


def verdicts(folder: Path, lines: str) -> list[RootCause]:
    """The causes after the start of the group, by the log of its coordinator alone."""
    (folder / "broker-1").mkdir()
    (folder / "broker-1" / "server.log").write_text(BEFORE + FORMED + lines + AFTER)
    found = rf.analyze(folder, engine="local").report.incidents
    return [i.root_causes[0] for i in found if i.root_causes[0].cause != "startup"]


def test_a_pattern_that_is_new_without_a_new_member_is_a_changed_subscription(tmp_path: Path) -> None:
    lines = scanned("05:16:39,400", "events-a.*")
    lines += scanned("05:17:00,812", "events-.*", "events-a.*") + bumped("05:17:00,814", 3, BOTH)
    (cause,) = verdicts(tmp_path, lines + bumped("05:17:06,724", 4, BOTH))
    assert (cause.cause, cause.confidence) == ("subscription-change", 0.9)
    assert cause.narrative == "Members subscribed to the pattern events-.*."


def test_a_pattern_that_a_new_member_may_have_brought_is_no_changed_subscription(tmp_path: Path) -> None:
    lines = scanned("05:16:39,400", "events-a.*") + joins("05:17:00,000", THIRD) + bumped("05:17:00,000", 3)
    lines += scanned("05:17:09,812", "events-.*", "events-a.*") + bumped("05:17:09,814", 4, BOTH)
    assert "subscription-change" not in [cause.cause for cause in verdicts(tmp_path, lines)]


def test_an_epoch_of_the_same_topics_and_members_is_a_changed_subscription(tmp_path: Path) -> None:
    (cause,) = verdicts(tmp_path, bumped("05:18:00,000", 3))
    assert (cause.cause, cause.confidence) == ("subscription-change", 0.75)


def test_an_epoch_of_the_same_topics_after_a_changed_topic_follows_up_on_it(tmp_path: Path) -> None:
    """Members that resolve a pattern themselves subscribe to a new topic one after another."""
    lines = created("05:18:00,000", "events-c") + bumped("05:18:02,000", 3, BOTH) + bumped("05:18:09,000", 4, BOTH)
    (cause,) = verdicts(tmp_path, lines)
    assert (cause.cause, [c.name for c in cause.culprits]) == ("topic-metadata-change", ["events-c"])


def test_an_epoch_of_other_topics_is_a_changed_subscription_or_a_topic_that_the_logs_do_not_show(
    tmp_path: Path,
) -> None:
    (cause,) = verdicts(tmp_path, bumped("05:24:30,000", 3, BOTH))
    assert (cause.cause, cause.confidence) == ("subscription-change", 0.4)
    assert "the group's topics or their partitions changed" in cause.narrative


@pytest.mark.parametrize(("topics", "verdict"), [(ORDERS, ("scale-out", 0.9)), (BOTH, ("shared-group-id", 0.55))])
def test_a_new_member_that_brings_topics_may_be_of_another_application(
    tmp_path: Path, topics: int, verdict: tuple[str, float]
) -> None:
    (cause,) = verdicts(tmp_path, joins("05:24:02,426", THIRD) + bumped("05:24:02,426", 3, topics))
    assert (cause.cause, cause.confidence) == verdict
    assert [c.name for c in cause.culprits] == [THIRD]


@pytest.mark.parametrize("of_others", [True, False])
def test_a_new_member_that_brings_a_pattern_of_other_topics_may_be_of_another_application(
    tmp_path: Path, *, of_others: bool
) -> None:
    before = ["events-a.*"] if of_others else []
    lines = scanned("05:16:39,400", *before) if before else ""
    lines += joins("05:24:02,426", THIRD) + bumped("05:24:02,426", 3)
    lines += scanned("05:24:02,500", "letters.*", *before) + bumped("05:24:02,502", 4, BOTH)
    (cause,) = verdicts(tmp_path, lines)
    assert (cause.cause, cause.confidence) == ("shared-group-id", 0.55)


def test_new_members_that_bring_topics_in_place_of_others_are_the_next_release(tmp_path: Path) -> None:
    lines = ""
    for minute, old, new, topics in ((24, FIRST, THIRD, BOTH), (26, SECOND, "I9C_ZRU9QMSmUNNMcsEUvg", BOTH)):
        epoch = minute - 21 if minute == 24 else 5
        lines += says(f"05:{minute}:00,000", f"Member {old} left the consumer group.")
        lines += bumped(f"05:{minute}:00,001", epoch, ORDERS if minute == 24 else BOTH)
        lines += joins(f"05:{minute}:12,000", new) + bumped(f"05:{minute}:12,001", epoch + 1, topics)
    assert [cause.cause for cause in verdicts(tmp_path, lines)] == ["rolling-restart"]


def test_a_topic_created_just_before_a_new_member_is_not_brought_by_it(tmp_path: Path) -> None:
    lines = created("05:24:00,000", "events-c") + joins("05:24:02,426", THIRD) + bumped("05:24:02,426", 3, BOTH)
    assert "shared-group-id" not in [cause.cause for cause in verdicts(tmp_path, lines)]
