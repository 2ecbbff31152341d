from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.diagnosis.windows import begun_at
from tests.kafka_words import Release
from tests.story import Story


def gaps_of(story: Story) -> list[str]:
    return [gap.what for gap in story.case().gaps]


def test_clients_without_a_log_are_named_also_where_the_verdict_is_sure() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2").goes_on("02:00:00.000")
    (gap,) = [what for what in gaps_of(story) if what.startswith("No log of")]
    assert "c-1" in gap
    assert "c-2" in gap


def test_a_log_of_warnings_is_asked_for_at_info() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2").goes_on("02:00:00.000")
    story.seen = "both"
    story.client("c-1", "01:20:00.000", "Offset commit failed on partition orders-0 at offset 5: x", level="WARN")
    assert any(w.startswith("The log of c-1") and "the group in warnings and errors only" in w for w in gaps_of(story))


def test_logs_that_begin_after_the_group_formed_ask_for_those_before() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"]).goes_on("02:00:00.000")
    assert not any("begin in the middle" in w for w in gaps_of(story))
    assert any("begin in the middle" in w for w in gaps_of(begun_at(story, "01:05:00.000")))


def test_logs_that_end_just_after_a_member_left_ask_for_those_after() -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert any("after c-3 left" in w for w in gaps_of(story))
    assert not any("after c-3 left" in w for w in gaps_of(story.goes_on("02:00:00.000")))


def test_logs_that_end_just_after_a_lost_member_was_restarted_say_so() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    lost = f"removing member {story.id_of('c-3')} on heartbeat expiration"
    story.broker("01:10:00.000", story.words.failed(story.id_of("c-3")))
    story.rebalanced("01:10:00.000", lost, ["c-1", "c-2"])
    (before,) = [what for what in gaps_of(story) if "after c-3 dropped out" in what]
    assert "restarted" not in before
    (gap,) = [what for what in gaps_of(story.started("c-3", "01:10:05.000")) if "after c-3 dropped out" in what]
    assert gap.endswith("after c-3 dropped out; it was restarted meanwhile.")


def test_a_group_that_is_only_named_is_too_little_to_judge() -> None:
    story = Story(seen="clients")
    story.client("c-1", "01:00:00.000", "Discovered group coordinator b-2:9092 (id: 2147483645 rack: null)")
    assert gaps_of(story)[0].startswith(f"Too little to judge group {story.group}:")
    assert not story.incidents()


def test_a_stable_group_is_not_too_little_to_judge() -> None:
    assert not any("Too little" in w for w in gaps_of(Story().formed("c-1", "c-2").goes_on("01:01:00.000")))


def test_members_in_two_clusters_are_in_two_groups_of_one_name() -> None:
    story = Story().formed("c-1", "c-2").goes_on("01:01:00.000")
    story.client("c-1", "01:00:00.000", "Cluster ID: 5L6g3nShT-eMCtK--X86sw")
    assert not any("Kafka clusters" in w for w in gaps_of(story))
    story.client("c-2", "01:00:00.000", "Cluster ID: MkU3OEVBNTcwNTJENDM2Qk")
    (gap,) = [gap for gap in story.case().gaps if "2 Kafka clusters" in gap.what]
    assert "--cluster-per-directory" in gap.consequence


def test_a_broker_that_clients_call_the_coordinator_is_asked_for_by_its_name() -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    story.client("c-1", "01:00:00.000", "Discovered group coordinator b-2:9092 (id: 2147483645 rack: null)")
    (gap,) = [gap for gap in story.case().gaps if gap.what.startswith("No broker log")]
    assert "server.log of the group's coordinator (broker-2)" in gap.consequence


def test_an_open_verdict_for_which_no_sign_asks_for_a_log_asks_for_what_comes_after_it() -> None:
    story = Story().formed("c-1", "c-2")
    comes(story, "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    closes(story, "c-3", "01:14:00.000", ["c-1", "c-2"])
    comes(story, "c-3", "01:15:00.000", ["c-1", "c-2", "c-3"])
    (left,) = [i for i in story.incidents() if i.root_causes[0].cause == "member-left"]
    assert left.root_causes[0].confidence < 0.9
    assert [wanted.needs for wanted in left.would_decide] == ["later logs of the brokers and clients"]


@pytest.mark.parametrize(("release", "is_newer"), [((4, 4), False), ((4, 9), True), ((5, 0), True)])
def test_a_release_with_unknown_messages_is_read_as_the_nearest_one_and_a_gap_reports_it(
    release: Release,
    is_newer: bool,  # noqa: FBT001
) -> None:
    story = Story(release=release).formed("c-1", "c-2")
    story.started("c-3", "01:10:00.000")
    story.rebalanced("01:10:02.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert any("newer than 4.4, the last release" in what for what in gaps_of(story)) is is_newer
    assert "scale-out" in story.causes()
