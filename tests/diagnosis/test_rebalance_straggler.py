from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rebalance_forensics.events.rebalances import JoinStarted
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.closings import CLOSED, LEAVING, closes, comes
from tests.kafka_words import Release, member_id
from tests.story import Side, Story, clock, ms


def late(seconds: int, release: Release = (3, 9), seen: Side = "both") -> Story:
    story = Story(release=release, seen=seen).formed("c-1", "c-2")
    story.started("c-3", "01:09:58.000")
    words, joiner = story.words, story.id_of("c-3")
    if release >= (3, 0):
        story.broker("01:09:59.980", words.introduced(joiner))
    story.broker("01:10:00.000", words.preparing(1, words.adding(joiner)))
    for client, second in (("c-1", 1), ("c-2", seconds - 1), ("c-3", 0)):
        at = f"01:10:{second:02}.100"
        if client != "c-3":
            if release >= (3, 0):
                story.client(client, at, "Request joining group due to: group is already rebalancing")
            story.line(f"{client}/app.log", at, story.of(client).revoking(story.holds[client]))
        story.client(client, at, "(Re-)joining group")
    story.generation = 2
    return story.assigned(ms(f"01:10:{seconds:02}.000"), ["c-1", "c-2", "c-3"])


def test_the_last_to_rejoin_is_blamed_not_the_newcomer_that_triggered_it() -> None:
    story = late(30)
    assert story.causes() == ["rebalance-straggler"]
    assert story.blamed() == ["c-2"]
    assert story.the_incident().generations == (2,)


@pytest.mark.parametrize("release", [(1, 0), (2, 2), (2, 5), (2, 8)])
@pytest.mark.parametrize("seen", ["both", "clients"])
def test_clients_of_old_show_the_barrier_by_their_own_joins(release: Release, seen: Side) -> None:
    story = late(30, release, seen)
    assert story.causes() == ["rebalance-straggler"]
    assert story.blamed() == ["c-2"]


def test_a_member_removed_at_the_rebalance_timeout_is_a_straggler() -> None:
    story = Story(release=(3, 9), seen="brokers").formed("c-1", "c-2", "c-3")
    words = story.words
    story.broker(
        "01:10:00.000",
        words.preparing(
            1, f"Updating metadata for member {member_id('c-1')} during Stable; client reason: subscription has changed"
        ),
    )
    story.says("01:11:00.000", f"Group payments removed dynamic members who haven't joined: Set({member_id('c-3')})")
    story.broker("01:11:00.001", words.stabilized(2, 2))
    story.broker("01:11:00.020", words.assigned(2, 2, member_id("c-1")))
    assert "rebalance-straggler" in story.causes()
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "rebalance-straggler")
    assert [c.name for c in found.root_causes[0].culprits] == ["c-3"]


def test_a_barrier_that_the_heartbeat_interval_explains_is_no_straggler() -> None:
    assert "rebalance-straggler" not in late(4).causes()


def test_members_with_infrequent_heartbeats_read_until_they_learn_of_a_rebalance() -> None:
    """With 6.7 s between heartbeats (session.timeout.ms=20000) one member joins 7 s after the rebalance began."""
    for interval, stuck in ((3_000, True), (6_666, False)):
        story = late(8)
        for client in ("c-1", "c-2"):
            story.started(client, "00:59:50.000", heartbeat_interval_ms=interval)
        unread = story.history().unread
        assert any(span.why == "stuck" for span in unread) is stuck, interval


def test_a_quick_join_has_no_straggler() -> None:
    assert "rebalance-straggler" not in comes(Story().formed("c-1"), "c-2", "01:10:00.000", ["c-1", "c-2"]).causes()


def unended(release: Release, seen: Side, until: int) -> Story:
    """c-3 has come and c-1 has rejoined; c-2 hears of it at every heartbeat, and the logs end."""
    story = Story(release=release, seen=seen).formed("c-1", "c-2")
    story.started("c-3", "01:09:58.000")
    story.broker("01:10:00.000", story.words.preparing(1, story.words.adding(story.id_of("c-3"))))
    story.client("c-3", "01:10:00.010", "(Re-)joining group")
    after = story.of("c-2").interrupted()
    story.line("c-1/app.log", "01:10:01.000", story.of("c-1").interrupted())
    story.line("c-1/app.log", "01:10:01.010", story.of("c-1").revoking(story.holds["c-1"]))
    story.client("c-1", "01:10:01.020", "(Re-)joining group")
    for second in range(2, until, 3):
        story.line("c-2/app.log", f"01:10:{second:02}.000", after)
    return story


@pytest.mark.parametrize("release", [(2, 8), (3, 9)])
@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_member_that_only_heartbeats_while_the_others_wait_is_blamed_though_the_logs_end(
    release: Release, seen: Side
) -> None:
    assert unended(release, seen, 20).causes() == ["rebalance-straggler"]
    assert unended(release, seen, 20).blamed() == ["c-2"]


def test_a_rebalance_that_has_just_started_when_the_logs_end_waits_for_no_member_yet() -> None:
    assert "rebalance-straggler" not in unended((3, 9), "both", 8).causes()


def alone(release: Release, told_for: int, *, rejoins: bool) -> Story:
    """Only the log of c-1: a newcomer has come that it does not see, and it hears so at every heartbeat."""
    story = Story(release=release, seen="clients").formed("c-1")
    for second in range(0, told_for, 3):
        story.line("c-1/app.log", clock(ms("01:10:00.000") + second * 1000), story.of("c-1").interrupted())
    if not rejoins:
        return story
    until = clock(ms("01:10:01.000") + told_for * 1000)
    story.line("c-1/app.log", until, story.of("c-1").revoking(story.holds["c-1"]))
    story.client("c-1", until, "(Re-)joining group")
    story.generation += 1
    return story.assigned(ms(until) + 50, ["c-1"])


@pytest.mark.parametrize("release", [(2, 8), (3, 9)])
def test_a_clients_own_log_alone_shows_that_the_group_waited_for_it(release: Release) -> None:
    story = alone(release, 120, rejoins=True)
    assert story.causes() == ["rebalance-straggler"]
    assert story.blamed() == ["c-1"]
    assert "knew of the rebalance for 2 min 01 s before it rejoined" in story.the_incident().summary
    assert not story.the_incident().ongoing


@pytest.mark.parametrize("release", [(2, 8), (3, 9)])
def test_a_clients_own_log_alone_shows_that_the_group_still_waits_for_it(release: Release) -> None:
    story = alone(release, 120, rejoins=False)
    assert story.blamed() == ["c-1"]
    assert story.the_incident().ongoing


def test_a_client_that_rejoins_at_its_next_poll_is_no_straggler() -> None:
    assert "rebalance-straggler" not in alone((3, 9), 6, rejoins=True).causes()
    assert "rebalance-straggler" not in alone((3, 9), 6, rejoins=False).causes()


def test_a_client_that_joined_and_waits_for_the_others_is_no_straggler() -> None:
    story = Story(release=(3, 9), seen="clients").formed("c-1")
    story.line("c-1/app.log", "01:10:00.000", story.of("c-1").interrupted())
    story.client("c-1", "01:10:00.100", "(Re-)joining group")
    story.client("c-1", "01:10:00.200", "Request joining group due to: group is already rebalancing")
    story.client("c-1", "01:12:00.000", "Request joining group due to: group is already rebalancing")
    assert "rebalance-straggler" not in story.causes()


LOST = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: coordinator "
    "unavailable. isDisconnected: true. Rediscovery will be attempted."
)


def test_members_that_ask_for_their_coordinator_in_vain_hold_nothing_up() -> None:
    story = late(30)
    for second in range(2, 28, 2):
        story.client("c-2", f"01:10:{second:02}.500", LOST)
    assert "rebalance-straggler" not in story.causes()


def test_a_client_that_loses_its_coordinator_meanwhile_is_not_blamed_by_its_own_log_alone() -> None:
    story = Story(release=(3, 9), seen="clients").formed("c-1")
    for second in range(0, 40, 3):
        story.line("c-1/app.log", f"01:10:{second:02}.000", story.of("c-1").interrupted())
        story.client("c-1", f"01:10:{second:02}.500", LOST)
    story.client("c-1", "01:10:45.000", "(Re-)joining group")
    assert "rebalance-straggler" not in story.causes()


def test_a_lost_coordinator_that_was_found_at_once_excuses_no_straggler() -> None:
    story = late(30)
    story.client("c-2", "01:10:02.500", LOST)
    story.client("c-2", "01:10:02.700", "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)")
    assert story.causes() == ["rebalance-straggler"]


def test_a_rebalance_that_has_not_completed_when_the_logs_end_is_ongoing() -> None:
    assert unended((3, 9), "both", 20).the_incident().ongoing


def test_a_member_that_dies_again_and_again_is_no_straggler_of_the_barriers_that_wait_for_it() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    for minute in (10, 13, 16):
        dead, now = story.id_of("c-3"), f"01:{minute}"
        reason = "Updating metadata for member {} during Stable; client reason: subscription has changed"
        story.broker(f"{now}:00.000", story.words.preparing(story.generation, reason.format(story.id_of("c-1"))))
        for client in ("c-1", "c-2"):
            story.client(client, f"{now}:00.100", "(Re-)joining group")
        story.broker(f"{now}:40.000", story.words.failed(dead))
        story.generation += 1
        story.assigned(ms(f"{now}:40.010"), ["c-1", "c-2"])
        story.reborn("c-3").started("c-3", f"{now}:58.000")
        story.rebalanced(f"01:{minute + 1}:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert "process-crash" in story.causes()
    assert "rebalance-straggler" not in story.causes()


def test_a_member_of_whom_only_its_removal_is_pasted_held_up_the_others(tmp_path: Path) -> None:
    said = "[GroupCoordinator 1]: Group payments remove dynamic members who haven't joined: Set(c-1-77aa, c-2-88bb)"
    line = f"[2026-03-01 01:10:00,123] INFO {said} (kafka.coordinator.group.GroupCoordinator)"
    (tmp_path / "paste.txt").write_text(f"and then the broker says:\n\n{line}\n", encoding="utf-8")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert incident.root_causes[0].cause == "rebalance-straggler"
    assert incident.root_causes[0].confidence < 0.9
    assert "for not rejoining before the rebalance timeout expired" in incident.summary


def held_up_restart(seen: Side, waits: int = 30) -> Story:
    """Three members are restarted one after another; when the second goes, the first rejoins late."""
    everybody = ["c-1", "c-2", "c-3"]
    story = Story(seen=seen).formed(*everybody)
    for minute, client in enumerate(everybody, 10):
        stay = [c for c in everybody if c != client]
        if client == "c-2":
            old = story.id_of(client)
            story.client(client, f"01:{minute}:00.000", LEAVING.format(old, CLOSED))
            story.broker(f"01:{minute}:00.000", story.words.left(old, CLOSED))
            story.broker(
                f"01:{minute}:00.001", story.words.preparing(story.generation, story.words.leaving(old, CLOSED))
            )
            story.client("c-3", f"01:{minute}:01.000", "(Re-)joining group")
            story.client("c-1", f"01:{minute}:{waits - 1:02}.900", "(Re-)joining group")
            story.reborn(client)
            story.generation += 1
            story.assigned(ms(f"01:{minute}:{waits:02}.000"), stay)
        else:
            closes(story, client, f"01:{minute}:00.000", stay)
        comes(story, client, f"01:{minute}:40.000", [*stay, client])
    return story


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_restart_that_began_a_rebalance_does_not_explain_how_long_one_member_held_it_up(seen: Side) -> None:
    found = {i.root_causes[0].cause: i for i in held_up_restart(seen).incidents()}
    assert found.keys() == {"rolling-restart", "rebalance-straggler"}
    assert found["rolling-restart"].severity == "info"
    assert found["rolling-restart"].root_causes[0].confidence >= 0.75
    straggler = found["rebalance-straggler"]
    assert straggler.severity == "warning"
    assert straggler.generations == (4,)
    assert [c.name for c in straggler.root_causes[0].culprits] == (["c-1"] if seen != "brokers" else [])


def test_if_no_log_shows_the_heartbeat_interval_members_may_have_learned_of_it_late() -> None:
    """A third of the session timeout of 45 s is the longest heartbeat.interval.ms that Kafka recommends."""
    assert held_up_restart("brokers", 17).causes() == ["rolling-restart"]
    assert "rebalance-straggler" in held_up_restart("both", 17).causes()


def test_consumers_that_come_and_go_for_every_job_do_not_explain_who_holds_a_rebalance_up() -> None:
    story = Story().formed("c-1", "c-2")
    for number in (1, 2, 3):
        job, minute = f"consumer-payments-{number}", 10 + number
        if number == 2:
            story.started(job, f"01:{minute}:00.000")
            story.broker(f"01:{minute}:01.980", story.words.introduced(story.id_of(job)))
            reason = story.words.adding(story.id_of(job))
            story.broker(f"01:{minute}:02.000", story.words.preparing(story.generation, reason))
            for client, second in ((job, 2), ("c-1", 3), ("c-2", 31)):
                story.client(client, f"01:{minute}:{second:02}.900", "(Re-)joining group")
            story.generation += 1
            story.assigned(ms(f"01:{minute}:32.000"), ["c-1", "c-2", job])
        else:
            comes(story, job, f"01:{minute}:02.000", ["c-1", "c-2", job])
        closes(story, job, f"01:{minute}:50.000", ["c-1", "c-2"])
    found = {i.root_causes[0].cause: i.root_causes[0] for i in story.goes_on("01:30:00.000").incidents()}
    assert found.keys() == {"scaling-flap", "rebalance-straggler"}
    assert [c.name for c in found["rebalance-straggler"].culprits] == ["c-2"]
    assert found["rebalance-straggler"].confidence >= 0.9


def newcomer_let_in_after(seconds: int) -> Story:
    """A newcomer joins a group of two; only its own log is at hand."""
    story = Story(seen="clients").formed("c-1", "c-2")
    comes(story, "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    alone = [e for e in story.events if e.origin.path == "c-3/app.log"]
    asked = next(e for e in alone if isinstance(e, JoinStarted))
    story.events = [e if (e.at or 0) <= (asked.at or 0) else replace(e, at=(e.at or 0) + 1000 * seconds) for e in alone]
    return story


def test_a_new_member_that_was_admitted_late_waited_for_a_member_that_its_log_does_not_name() -> None:
    cause = newcomer_let_in_after(20).the_incident().root_causes[0]
    assert (cause.cause, cause.culprits, cause.confidence) == ("rebalance-straggler", (), 0.55)


def test_a_new_member_that_was_admitted_at_the_next_heartbeat_waited_for_no_member() -> None:
    assert "rebalance-straggler" not in newcomer_let_in_after(3).causes()


@pytest.mark.parametrize(("heard", "sure"), [(13, False), (2, True)])
def test_a_member_that_learns_of_a_rebalance_late_and_then_joins_may_send_infrequent_heartbeats(
    heard: int, *, sure: bool
) -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    old = story.id_of("c-3")
    story.broker("01:10:00.000", story.words.left(old))
    story.broker("01:10:00.001", story.words.preparing(1, story.words.leaving(old)))
    for client, told, joins in (("c-1", 1, 1), ("c-2", heard, 14)):
        story.client(client, f"01:10:{told:02}.100", "Request joining group due to: group is already rebalancing")
        story.client(client, f"01:10:{joins:02}.900", "(Re-)joining group")
    story.generation = 2
    story.assigned(ms("01:10:15.000"), ["c-1", "c-2"])
    found = [c for i in story.incidents() for c in i.root_causes if c.cause == "rebalance-straggler"]
    assert any(c.confidence >= 0.75 for c in found) is sure


def removed_again_and_again(rounds: int) -> Story:
    """Every 10 s a new member of c-1 makes the group rebalance, and 5 s later those before it are removed."""
    story = Story(seen="brokers").formed("c-1", "c-2")
    for number in range(rounds):
        former = story.id_of("c-1")
        story.reborn("c-1")
        at = ms("01:10:00.000") + number * 10_000
        story.broker(clock(at), story.words.preparing(story.generation, story.words.adding(story.id_of("c-1"))))
        story.says(clock(at + 5_000), f"Group payments removed dynamic members who haven't joined: Set({former})")
        story.generation += 1
        story.broker(clock(at + 5_001), story.words.stabilized(story.generation, 2))
        story.broker(clock(at + 5_020), story.words.assigned(story.generation, 2, story.id_of("c-2")))
    return story


def test_a_rebalance_timeout_shorter_than_the_members_need_is_one_warning_however_often_it_strikes() -> None:
    incident = removed_again_and_again(40).the_incident()
    assert incident.root_causes[0].cause == "rebalance-straggler"
    assert incident.severity == "warning"
    assert len(incident.generations) == 40
    assert "before the rebalance timeout (5 s) expired, 40 times" in incident.summary
    assert any("Raise the rebalance timeout" in advice.action for advice in incident.root_causes[0].advice)


def test_a_member_removed_once_after_a_short_timeout_is_a_straggler_but_less_surely() -> None:
    incident = removed_again_and_again(1).the_incident()
    assert incident.root_causes[0].cause == "rebalance-straggler"
    assert incident.root_causes[0].confidence < 0.9


@pytest.mark.parametrize(
    ("sentence", "late"),
    [
        ("it failed to transition from epoch 7 within 300000ms.", "giving up partitions"),
        ("it failed to revoke partitions within 300000ms.", "giving up partitions"),
        ("the classic member failed to join within the rebalance timeout.", "rejoining"),
    ],
)
def test_a_member_of_a_consumer_group_fenced_at_the_rebalance_timeout_is_a_straggler(sentence: str, late: str) -> None:
    story = Story(release=(4, 1), seen="brokers")
    line = f"[GroupId payments] Member JiW-hibaTJK2E-R66rvwXA fenced from the group because {sentence}"
    logger = "org.apache.kafka.coordinator.group.GroupMetadataManager"
    story.broker("01:10:00.000", f"[GroupCoordinator id=2 topic=__consumer_offsets partition=13] {line}", logger=logger)
    incident = story.the_incident()
    assert incident.root_causes[0].cause == "rebalance-straggler"
    assert f"for not {late} before the rebalance timeout" in incident.summary
