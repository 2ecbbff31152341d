"""Logs that begin in the middle of something do not show what it began with, and nothing is told as if they did."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.diagnosis.closings import CLOSED, LEAVING, closes, comes
from tests.diagnosis.statics import said_by_static
from tests.diagnosis.test_half_of_the_logs import as_seen_by
from tests.epochs import EpochStory
from tests.kafka_words import generation_of
from tests.story import Side, Story, clock, ms

FORGOTTEN = "encountered UNKNOWN_MEMBER_ID from {} response"
ALREADY = "Request joining group due to: group is already rebalancing"
NOT_ACTIVE = "since the consumer is not part of an active group"


def begun(story: Story, at: str) -> Story:
    """What is left of a story in logs that begin then."""
    story.events = [e for e in story.events if (e.at or 0) >= ms(at)]
    return story


def sure(story: Story) -> dict[str, float]:
    """How sure each cause is, starts and shutdowns of the group included."""
    return {i.root_causes[0].cause: i.root_causes[0].confidence for i in story.case().incidents}


def heartbeat_refused(story: Story, client: str, at: int) -> None:
    """Its heartbeat thread hears that it is no member while the assignor still runs."""
    generation = generation_of(story.generation, story.id_of(client))
    failed = f"Attempt to heartbeat with {generation} and group instance id Optional.empty failed due to"
    story.client(client, clock(at), f"{failed} UNKNOWN_MEMBER_ID, resetting generation")


def sync_refused(story: Story, client: str, at: int) -> None:
    """Its SyncGroup comes after the coordinator gave it up."""
    generation = generation_of(story.generation, story.id_of(client))
    failed = "SyncGroup failed: The coordinator is not aware of this member. Need to re-join the group."
    story.client(client, clock(at), f"{failed} Sent generation was {generation}")


def syncs_expire(refused: Callable[[Story, str, int], None], api: str, slow: tuple[str, ...]) -> Story:
    """Again and again some members do not send SyncGroup within the rebalance timeout, and are removed."""
    story, members = Story().formed("c-1", "c-2", "c-3"), ("c-1", "c-2", "c-3")
    at = ms("01:10:00.000")
    reason = story.words.leaving(story.id_of("c-4"))
    for _ in range(4):
        story.broker(clock(at), story.words.preparing(story.generation, reason))
        for client in members:
            story.client(client, clock(at + 5_000), "(Re-)joining group")
        story.generation += 1
        story.broker(clock(at + 6_000), story.words.stabilized(story.generation, 3))
        for client in members:
            story.line(
                f"{client}/app.log",
                clock(at + 6_002),
                story.of(client).joined(story.generation, story.id_of(client)),
            )
        at += 306_000
        reason = f"Removing Set({', '.join(map(story.id_of, slow))}) on pending sync request expiration"
        for client in slow:
            refused(story, client, at + 500)
            forgotten = FORGOTTEN.format(api)
            story.client(client, clock(at + 501), f"Resetting generation and member id due to: {forgotten}")
            story.client(client, clock(at + 502), f"Request joining group due to: {forgotten}")
            story.reborn(client)
    return story


@pytest.mark.parametrize(("refused", "api"), [(heartbeat_refused, "HEARTBEAT"), (sync_refused, "SYNC_GROUP")])
@pytest.mark.parametrize("slow", [("c-1",), ("c-1", "c-2")])
@pytest.mark.parametrize("since", ["00:00:00.000", "01:10:05.500", "01:15:20.000"])
def test_a_member_removed_without_its_assignment_was_neither_paused_nor_removed_by_an_administrator(
    refused: Callable[[Story, str, int], None], api: str, slow: tuple[str, ...], since: str
) -> None:
    verdicts = sure(begun(as_seen_by(syncs_expire(refused, api, slow), *slow), since))
    assert max(verdicts.get("process-pause", 0.0), verdicts.get("member-removed", 0.0)) < 0.6


@pytest.mark.parametrize("since", ["00:00:00.000", "01:10:03.000", "01:10:05.500"])
def test_generations_whose_syncs_expire_never_got_an_assignment_though_the_logs_never_show_one(since: str) -> None:
    story = begun(syncs_expire(heartbeat_refused, "HEARTBEAT", ("c-1",)), since)
    assert "assignment-failure" in story.causes()


def late_commit(seen: Side = "clients") -> Story:
    """c-2 left as its poll timeout expired, and learns of it by its next commit; then it joins again."""
    story = Story(seen=seen).formed("c-1", "c-2")
    story.client("c-2", "01:09:00.000", "Failing OffsetCommit request " + NOT_ACTIVE)
    failed = f"Asynchronous auto-commit of offsets {{}} failed: Offset commit cannot be completed {NOT_ACTIVE}"
    story.client("c-2", "01:09:00.002", failed + " for auto partition assignment; it is likely that the consumer was "
                 "kicked out of the group.", level="WARN")  # fmt: skip
    story.client("c-2", "01:09:00.003", "Lost previously assigned partitions orders-2, orders-3")
    story.reborn("c-2")
    return story.rebalanced("01:09:00.100", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])


@pytest.mark.parametrize("seen", ["clients", "both"])
def test_a_log_that_begins_with_a_refused_commit_is_that_of_a_slow_loop_rather_than_of_a_pause(seen: Side) -> None:
    (incident,) = begun(late_commit(seen), "01:08:59.000").incidents()
    assert incident.root_causes[0].cause == "slow-processing"
    assert incident.root_causes[0].confidence < 0.75
    assert "process-pause" in [cause.cause for cause in incident.root_causes]


def test_a_log_of_warnings_does_not_tell_a_slow_loop_from_a_pause() -> None:
    story = late_commit("clients")
    story.client("c-1", "01:10:30.000", "Offset commit failed on partition orders-0 at offset 5: x", level="WARN")
    story.client("c-2", "01:10:30.000", "Offset commit failed on partition orders-2 at offset 5: x", level="WARN")
    story.events = [event for event in story.events if event.level == "WARN"]
    assert sure(story).get("slow-processing", 0.0) < 0.5


def test_no_pause_is_likely_of_members_whose_logs_begin_as_they_learn_that_all_of_them_are_out() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    reset = "since generation has been reset,indicating that consumer is no longer part of the group"
    for client in ("c-1", "c-2", "c-3"):
        story.client(client, "01:09:00.000", "Failing OffsetCommit request " + NOT_ACTIVE)
        story.client(client, "01:09:00.003", f"Giving away all assigned partitions as lost {reset}")
        story.client(client, "01:09:00.003", "Lost previously assigned partitions orders-2, orders-3")
        story.client(client, "01:09:00.004", "(Re-)joining group")
        story.reborn(client)
    story.rebalanced("01:09:00.100", story.words.adding(story.id_of("c-2")), ["c-1", "c-2", "c-3"])
    causes = [cause for incident in begun(story, "01:08:59.000").incidents() for cause in incident.root_causes]
    assert all(cause.confidence < 0.75 for cause in causes if cause.cause == "process-pause")


@pytest.mark.parametrize("seen", ["brokers", "clients", "both"])
def test_who_joins_as_the_logs_begin_may_have_been_a_member_before(seen: Side) -> None:
    story = closes(Story(seen=seen).formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    comes(story, "c-3", "01:10:30.000", ["c-3", "c-1", "c-2"])
    story.events = [e for e in story.events if e.pattern != "consumer/assignment-computed"]
    assert sure(begun(story, "01:10:20.000"))["scale-out"] < 0.6


def test_who_joins_long_after_the_logs_begin_was_no_member_before() -> None:
    story = comes(Story(seen="brokers").formed("c-1", "c-2"), "c-3", "01:10:30.000", ["c-1", "c-2", "c-3"])
    assert sure(begun(story, "01:00:02.000"))["scale-out"] >= 0.9


def test_one_that_is_back_before_the_first_generation_of_the_logs_did_not_start_the_group() -> None:
    story = begun(syncs_expire(heartbeat_refused, "HEARTBEAT", ("c-1",)), "01:20:30.000")
    story.events = [e for e in story.events if e.origin.path.startswith("broker")]
    story.generation = 4
    story.broker("01:25:19.900", story.words.introduced(story.id_of("c-1")))
    story.broker("01:25:20.000", story.words.stabilized(5, 3))
    assert "startup" not in sure(story)


def test_who_gives_partitions_back_was_in_the_group_before_the_logs_began() -> None:
    story = Story(generation=2, holds={"c-1": ("orders-0",), "c-2": ("orders-1",)})
    story.client("c-1", "01:00:00.000", LEAVING.format(story.id_of("c-1"), CLOSED))
    story.broker("01:00:00.010", story.words.preparing(2, story.words.leaving(story.id_of("c-1"))))
    story.client("c-2", "01:00:00.100", ALREADY)
    story.client("c-2", "01:00:00.110", "Revoke previously assigned partitions orders-1")
    story.client("c-2", "01:00:00.120", "(Re-)joining group")
    story.generation = 3
    story.assigned(ms("01:00:00.200"), ["c-2"])
    assert "startup" not in sure(story)


def test_a_static_member_that_joins_generation_one_may_have_come_back_into_it() -> None:
    story = Story(seen="clients").started("c-9", "02:00:00.000", group_instance_id="pod-2")
    member = story.id_of("pod-2")
    lines = ("(Re-)joining group", story.of("c-9").joined(1, member).split("] ", 1)[1],
             (story.of("c-9").synced(1, member) or "").split("] ", 1)[1])  # fmt: skip
    for second, line in enumerate(lines, 1):
        said_by_static(story, "c-9", "pod-2", f"02:00:0{second}.000", line)
    assert sure(story).get("startup", 0.0) < 0.6


def test_a_group_whose_epoch_is_not_its_first_may_have_had_members_before() -> None:
    """KIP-848: `Bumped group epoch to 3`."""
    story = EpochStory(release=(4, 1), seen="brokers")
    story.generation = 2
    story.joins("c-2", "01:10:00.000")
    assert sure(story).get("startup", 0.0) < 0.6
    first = EpochStory(release=(4, 1), seen="brokers")
    first.joins("c-2", "01:10:00.000")
    assert sure(first)["startup"] >= 0.9


def alone_in_generation_eight(story: Story) -> Story:
    """c-1 subscribes, joins, and is the only member of the generation."""
    story.client("c-1", "01:09:59.000", "Subscribed to topic(s): orders, refunds")
    story.client("c-1", "01:10:00.000", "(Re-)joining group")
    story.generation = 8
    return story.assigned(ms("01:10:00.500"), ["c-1"])


def test_a_member_that_subscribes_as_its_log_begins_may_have_been_in_generation_seven() -> None:
    assert sure(alone_in_generation_eight(Story(seen="clients"))).get("startup", 0.0) < 0.6
    started = Story(seen="clients").started("c-1", "01:09:58.000")
    assert sure(alone_in_generation_eight(started))["startup"] >= 0.9


@pytest.mark.parametrize("since", ["00:59:00.000", "01:09:50.000"])
def test_the_log_of_one_broker_does_not_tell_a_pattern_from_a_new_subscription(since: str) -> None:
    """A broker logs the partitions that it hosts: a new topic may be in the log of another."""
    story = Story(seen="brokers").formed("c-1", "c-2")
    changed = "subscription has changed from [orders] at the beginning of the rebalance to [orders, orders-eu]"
    updating = f"Updating metadata for member {story.id_of('c-2')} during Stable; client reason: {changed}"
    story.rebalanced("01:10:00.000", updating, ["c-1", "c-2"])
    cause = begun(story, since).the_incident().root_causes[0]
    assert cause.cause == "subscription-change"
    assert cause.confidence < 0.9
    assert "or reads a pattern" in cause.narrative


@pytest.mark.parametrize("began_before", [True, False])
def test_a_member_that_is_evicted_in_a_rebalance_that_began_before_the_log_may_be_back_under_another_id(
    *, began_before: bool
) -> None:
    story = Story(seen="brokers").formed("c-1", "c-2", "c-3")
    former = story.id_of("c-3")
    begun(story, "01:10:00.000").broker("01:10:06.000", story.words.failed(former))
    if began_before:
        story.broker("01:10:06.003", story.words.stabilized(2, 3))
    else:
        story.rebalanced("01:10:06.001", f"removing member {former} on heartbeat expiration", ["c-1", "c-2"])
    (incident,) = story.goes_on("01:14:00.000").incidents()
    assert incident.root_causes[0].cause == "process-crash"
    assert (incident.root_causes[0].confidence < 0.75) == began_before
    assert ("process-pause" in {row.cause for row in incident.ruled_out}) != began_before
