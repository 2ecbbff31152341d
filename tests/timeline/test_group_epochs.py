from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.epochs import HEARTBEAT, IDS, MEMBERSHIP, EpochStory, three_members
from tests.kafka_words import generation_of, member_id
from tests.story import Story, ms


def fenced() -> EpochStory:
    story = three_members()
    session = f"Member {IDS['c-3']} fenced from the group because the member session expired."
    return story.group_says("01:10:00.000", session).bumped("01:10:00.001")


def test_each_epoch_is_a_generation_of_the_consumer_protocol() -> None:
    history = three_members().history()
    assert (history.protocol, history.rebalance_mode) == ("consumer", "server-side")
    assert [g.generation for g in history.generations] == [1, 2, 3]


def test_the_generation_that_a_classic_member_reaches_in_a_consumer_group_is_the_epoch() -> None:
    reached = generation_of(3, member_id("c-9"))
    story = three_members()
    story.client("c-9", "01:00:02.500", f"Successfully joined group with generation {reached}")
    story.client("c-9", "01:00:02.510", f"Successfully synced group in generation {reached}")
    generations = story.history().generations
    assert [g.generation for g in generations] == [1, 2, 3]
    assert {m.client_id for m in generations[-1].members} == {"c-1", "c-2", "c-3", "c-9"}
    assert "unexplained" not in story.causes()


def test_there_is_no_leader() -> None:
    assert {g.leader for g in three_members().history().generations} == {None}


def test_members_are_known_by_their_client_ids_through_their_own_logs() -> None:
    assert {m.client_id for m in three_members().history().generations[-1].members} == {"c-1", "c-2", "c-3"}


def test_three_that_join_one_after_another_start_up() -> None:
    assert [i.root_causes[0].cause for i in three_members().case().incidents] == ["startup"]


def test_a_fenced_member_that_is_never_heard_of_again_has_died() -> None:
    story = fenced()
    assert story.causes() == ["process-crash"]
    assert story.blamed() == ["c-3"]


def test_a_fenced_member_that_returns_with_the_same_id_was_paused() -> None:
    story = fenced()
    unknown = f"is unknown. in 0ms: Member {IDS['c-3']} is not a member of group payments."
    story.client(
        "c-3",
        "01:10:20.000",
        f"ConsumerGroupHeartbeatRequest failed because member {IDS['c-3']} {unknown}",
        logger=HEARTBEAT,
    )
    story.moves("c-3", "01:10:20.001", "STABLE", "FENCED", 3).moves("c-3", "01:10:20.010", "FENCED", "JOINING", 0)
    story.group_says("01:10:20.020", f"Member {IDS['c-3']} joins the consumer group using the consumer protocol.")
    story.bumped("01:10:20.021").reconciles("c-3", "01:10:20.021")
    assert story.causes() == ["process-pause"]
    assert story.blamed() == ["c-3"]


def test_a_member_that_leaves_and_stays_away_is_scaled_in() -> None:
    story = three_members()
    story.moves("c-3", "01:10:00.000", "STABLE", "PREPARE_LEAVING").moves(
        "c-3", "01:10:00.001", "PREPARE_LEAVING", "LEAVING", -1
    )
    story.group_says("01:10:00.010", f"Member {IDS['c-3']} left the consumer group.").bumped("01:10:00.011")
    assert story.causes() == ["scale-in"]
    assert story.blamed() == ["c-3"]


def test_a_group_that_migrates_is_one_group_with_two_protocols() -> None:
    story = Story(release=(4, 1)).formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    story.says("01:10:30.000", "[GroupId payments] Converted the classic group to a consumer group.")
    story.says(
        "01:10:30.001",
        "[GroupId payments] Member aSm2rIdjTk6VlrTrO9vEqA joins the consumer group using the consumer protocol.",
    )
    story.says("01:10:30.002", "[GroupId payments] Bumped group epoch to 4 with metadata hash 77.")
    assert [term.protocol for term in story.history().protocols] == ["classic", "consumer"]


def test_a_client_is_not_a_member_before_the_coordinator_gets_its_request() -> None:
    """It says that it is joining as soon as it subscribes; its first heartbeat waits for the coordinator."""
    story = EpochStory(release=(4, 1)).joins("c-1", "01:00:00.000")
    for client, asks in (("c-2", "01:10:00.000"), ("c-3", "01:10:00.200")):
        story.started(client, asks)
        story.moves(client, asks, "UNSUBSCRIBED", "JOINING", 0)
    for client, heard in (("c-2", "01:10:09.000"), ("c-3", "01:10:14.000")):
        joins = f"Member {story.member(client)} joins the consumer group using the consumer protocol."
        story.group_says(heard, joins).bumped(heard).reconciles(client, heard)
    members = [[m.client_id for m in g.members] for g in story.history().generations]
    assert members == [["c-1"], ["c-1", "c-2"], ["c-1", "c-2", "c-3"]]
    assert story.causes() == ["scale-out"]
    assert story.the_incident().generations == (2, 3)


def test_a_client_counts_its_assignments_which_says_nothing_of_the_group() -> None:
    """Of the group's epochs these logs begin with the fourth."""
    story = EpochStory(release=(4, 1), generation=3).joins("c-1", "01:00:00.000")
    picture = (
        f"Reconciling assignment with local epoch 1\n\tMember:                                    {story.member('c-1')}"
        "\n\tAssigned partitions:                       [orders-1]\n\tCurrent owned partitions:                  []"
        "\n\tAdded partitions (assigned - owned):       [orders-1]\n\tRevoked partitions (owned - assigned):     []"
    )
    story.client("c-1", "01:00:00.120", picture, logger=MEMBERSHIP)
    assert [g.generation for g in story.history().generations] == [4]


def test_a_client_that_has_not_joined_yet_leaves_nothing_when_it_polls_late() -> None:
    """On a busy host the first poll may come after max.poll.interval.ms; the client says so and keeps joining."""
    story = EpochStory(release=(4, 1)).joins("c-1", "01:00:00.000")
    story.started("c-2", "01:00:01.000")
    story.moves("c-2", "01:00:02.000", "UNSUBSCRIBED", "JOINING", 0)
    late = (
        "Time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, exceeded "
        f"approximately by 5238 ms. Member {story.member('c-2')} will rejoin the group now."
    )
    story.client("c-2", "01:00:12.000", late, level="WARN", logger=HEARTBEAT)
    joins = f"Member {story.member('c-2')} joins the consumer group using the consumer protocol."
    story.group_says("01:00:13.000", joins).bumped("01:00:13.000").reconciles("c-2", "01:00:13.000")
    assert list(story.timeline().departures) == []
    assert "slow-processing" not in story.causes()


def test_a_newcomer_that_is_given_an_older_assignment_first_neither_left_nor_came_twice() -> None:
    """From 4.3 on a group starts with epoch 2, and targets are computed less often than epochs are bumped."""
    story = EpochStory(release=(4, 3))
    story.generation = 1
    story.joins("c-1", "01:00:00.000")
    story.moves("c-2", "01:00:00.300", "UNSUBSCRIBED", "JOINING", 0)
    story.group_says("01:00:00.300", f"Member {IDS['c-2']} joins the consumer group using the consumer protocol.")
    story.group_says("01:00:00.300", "Bumped group epoch to 3 with metadata hash 8761535610101143541.")
    story.moves("c-2", "01:00:00.320", "JOINING", "RECONCILING", 2).moves(
        "c-2", "01:00:00.340", "RECONCILING", "STABLE", 2
    )
    second, third = story.history().generations
    assert {m.client_id for m in second.members} == {"c-1", "c-2"}
    assert (second.joined, third.joined) == ((IDS["c-1"],), (IDS["c-2"],))


@pytest.mark.parametrize(("begun_with", "begins_late"), [(2, False), (3, True)])
def test_logs_that_show_epoch_2_of_a_group_that_starts_show_its_beginning(
    begun_with: int, *, begins_late: bool
) -> None:
    story = EpochStory(release=(4, 3))
    story.generation = begun_with - 1
    story.joins("c-1", "01:00:00.000").joins("c-2", "01:00:01.000")
    assert any("in the middle" in gap.what for gap in story.case().gaps) is begins_late


@pytest.mark.parametrize(("logs", "spans"), [(("c-1", "c-2"), 1), (("c-1",), 0)])
def test_what_a_coordinator_hands_on_to_a_member_without_a_log_may_be_read(logs: tuple[str, ...], spans: int) -> None:
    """Nothing but the log of its next owner shows when a revoked partition is assigned anew (KIP-848)."""
    story = EpochStory(release=(4, 1))
    story.joins("c-1", "01:00:00.000")
    story.client("c-1", "01:00:00.120", "Adding newly assigned partitions: [orders-5]")
    story.joins("c-2", "01:10:00.000")
    story.client("c-1", "01:10:00.300", "Revoke previously assigned partitions orders-5")
    story.client("c-2", "01:10:03.300", "Adding newly assigned partitions: [orders-5]")
    story.goes_on("01:20:00.000")
    story.events = [e for e in story.events if e.speaker.role == "broker" or e.speaker.file.partition("/")[0] in logs]
    assert len([s for s in story.history().unread if s.started_at >= ms("01:10:00.000")]) == spans


def targets(*members: str) -> str:
    given = ", ".join(
        f"{member}=MemberAssignmentImpl(partitions={{TnjdwvbFRvCvWA5NQ1mtzg=[0, 1]}})" for member in members
    )
    return f"Computed a new target assignment for epoch 4 with 'uniform' assignor in 1ms: {{{given}}}."


def test_a_member_that_the_next_target_assignment_lacks_has_gone() -> None:
    story = three_members()
    story.group_says("01:10:00.000", targets(IDS["c-1"], IDS["c-2"]))
    gone = [d for d in story.timeline().departures if d.why == "vanished"]
    assert [d.member for d in gone] == [IDS["c-3"]]
    assert story.history().generations[-1].left == (IDS["c-3"],)


def test_a_target_assignment_without_its_list_says_nothing_of_who_went() -> None:
    story = three_members()
    story.group_says("01:10:00.000", targets().replace(": {}", ""))
    assert not story.timeline().departures


def test_a_target_assignment_for_everybody_ends_no_membership() -> None:
    story = three_members()
    story.group_says("01:10:00.000", targets(*IDS.values()))
    assert not story.timeline().departures


def test_a_static_member_that_left_for_a_while_is_a_member_until_it_is_back() -> None:
    static, new = "with instance id i-1", IDS["c-2"]
    story = EpochStory()
    story.group_says("01:00:00.000", f"Static member {IDS['c-1']} {static} joins the consumer group.").bumped(
        "01:00:00.001"
    )
    story.group_says("01:10:00.000", f"Static member {IDS['c-1']} {static} temporarily left the consumer group.")
    story.group_says(
        "01:10:09.000",
        f"Static member {static} re-joins the consumer group using the consumer protocol. Created a new member {new} "
        f"to replace the existing member {IDS['c-1']}.",
    )
    timeline = story.timeline()
    assert not timeline.departures
    assert [returned.member for returned in timeline.returns] == [new]


def test_partitions_that_a_member_gives_up_for_the_next_epoch_do_not_prolong_the_last_one() -> None:
    story = three_members().group_says("01:10:00.000", "Bumped group epoch to 4 with metadata hash 1.")
    story.moves("c-1", "01:10:25.000", "RECONCILING", "ACKNOWLEDGING", 3)
    story.moves("c-1", "01:10:25.100", "ACKNOWLEDGING", "STABLE", 3)
    assert story.timeline().rebalances[2].ended_at() < ms("01:01:00.000")
