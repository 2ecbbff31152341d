from __future__ import annotations

import pytest

from tests.diagnosis import closings
from tests.diagnosis.closings import closes
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_slow_processing import EXPIRED, LEAVING, SHORT
from tests.kafka_words import Release
from tests.story import Side, Story, ms


@pytest.mark.parametrize("release", [(1, 1), (2, 4), (2, 8), (3, 9), (4, 1)])
def test_a_member_that_expires_and_is_never_heard_of_again_has_died(release: Release) -> None:
    story = evicted(release).goes_on("01:15:00.000")
    assert "process-crash" in story.causes()
    crash = next(i for i in story.incidents() if i.root_causes[0].cause == "process-crash")
    assert [c.name for c in crash.root_causes[0].culprits] == ["c-3"]
    assert crash.severity == "critical"
    assert 2 in crash.generations


@pytest.mark.parametrize("same_process", [True, False])
def test_a_member_that_leaves_under_its_id_had_not_died_before_by_the_clock_of_another_host(
    *, same_process: bool
) -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    story.rebalanced("01:10:00.000", "", ["c-1", "c-2"])
    story.events = [e for e in story.events if not e.origin.path.startswith(("c-2/", "c-3/"))]
    member = story.id_of("c-3") if same_process else story.reborn("c-3").id_of("c-3")
    story.client("c-3", "01:10:05.000", "Found no committed offset for partition orders-4")
    story.client("c-3", "01:14:00.000", closings.LEAVING.format(member, closings.CLOSED))
    assert ("process-crash" in story.causes()) is not same_process


def test_brokers_alone_are_less_sure_that_it_died() -> None:
    both, alone = (evicted((3, 9), seen).goes_on("01:15:00.000") for seen in ("both", "brokers"))
    assert alone.the_incident().root_causes[0].cause == "process-crash"
    assert alone.the_incident().root_causes[0].confidence < both.the_incident().root_causes[0].confidence


def test_logs_that_end_just_after_the_eviction_leave_open_whether_it_comes_back() -> None:
    ended, went_on = evicted().the_incident(), evicted().goes_on("01:15:00.000").the_incident()
    assert ended.root_causes[0].confidence < 0.9 <= went_on.root_causes[0].confidence


def test_a_coordinator_of_1_x_names_no_returning_member_so_a_later_rebalance_leaves_doubt() -> None:
    alone = evicted((1, 1), "brokers").goes_on("01:15:00.000")
    assert alone.the_incident().root_causes[0].confidence > 0.6
    story = evicted((1, 1), "brokers")
    story.rebalanced("01:10:20.000", "", ["c-1", "c-2", "c-3"])
    crash = next(i for i in story.incidents() if i.root_causes[0].cause == "process-crash")
    assert crash.root_causes[0].confidence < 0.6
    assert crash.severity == "warning"


def test_a_new_process_under_the_same_name_proves_the_crash() -> None:
    story = evicted()
    story.reborn("c-3").started("c-3", "01:10:05.000")
    story.rebalanced("01:10:06.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert story.causes() == ["process-crash"]
    assert story.the_incident().generations == (2, 3)


def test_the_expiry_that_comes_after_the_new_process_is_that_of_the_former_life() -> None:
    story = Story(release=(1, 1)).formed("c-1", "c-2", "c-3")
    old = story.id_of("c-3")
    story.reborn("c-3").started("c-3", "01:10:01.000")
    story.client("c-3", "01:10:01.300", "(Re-)joining group")
    story.broker("01:10:01.310", story.words.preparing(1, ""))
    story.says("01:10:07.400", f"Member {old} in group payments has failed, removing it from the group")
    story.rebalanced("01:10:07.410", "", ["c-1", "c-2", "c-3"])
    assert story.causes() == ["process-crash"]


def test_the_return_of_a_crashed_member_is_no_scale_out() -> None:
    story = evicted()
    story.reborn("c-3").started("c-3", "01:10:05.000")
    story.rebalanced("01:10:06.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert "scale-out" not in story.causes()


def test_a_member_that_says_goodbye_has_not_crashed() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    story.broker("01:10:00.000", story.words.left(story.id_of("c-3")))
    story.rebalanced("01:10:00.001", story.words.leaving(story.id_of("c-3")), ["c-1", "c-2"])
    assert "process-crash" not in story.causes()


def test_a_client_of_1_x_logs_no_leave_so_its_silence_alone_is_a_guess() -> None:
    story = closes(
        Story(release=(1, 1), seen="clients").formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"]
    )
    assert story.the_incident().root_causes[0].confidence < 0.6
    assert story.the_incident().severity != "critical"


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_client_of_1_x_that_restarts_may_also_have_been_stopped(seen: Side) -> None:
    story = Story(release=(1, 1), seen=seen).formed("c-1", "c-2", "c-3")
    story.reborn("c-3").started("c-3", "01:10:00.000")
    story.rebalanced("01:10:02.000", "", ["c-1", "c-2", "c-3"]).goes_on("01:15:00.000")
    assert all(c.confidence < 0.6 for i in story.incidents() for c in i.root_causes)


def blackout(*, restarted: bool) -> Story:
    """Three of four members lose their sessions within three seconds; their processes may start again together."""
    story = Story().formed("c-1", "c-2", "c-3", "c-4")
    gone = ["c-2", "c-3", "c-4"]
    for second, client in enumerate(gone):
        story.broker(f"01:10:0{second}.000", story.words.failed(story.id_of(client)))
    story.rebalanced("01:10:02.001", f"removing member {story.id_of('c-2')} on heartbeat expiration", ["c-1"])
    for client in gone if restarted else ():
        story.reborn(client).started(client, "01:10:30.000")
    if restarted:
        story.rebalanced("01:10:32.000", story.words.adding(story.id_of("c-2")), ["c-1", *gone])
    return story


@pytest.mark.parametrize("restarted", [True, False])
def test_processes_that_die_within_seconds_die_of_one_cause(*, restarted: bool) -> None:
    story = blackout(restarted=restarted)
    assert story.causes() == ["process-crash"]
    assert story.blamed() == ["c-2", "c-3", "c-4"]
    assert story.the_incident().root_causes[0].affected == ("c-3", "c-4")
    assert story.the_incident().summary.endswith(" 2 other members were affected as well.")


def test_the_incident_begins_with_the_silence_not_with_the_last_word_hours_before() -> None:
    assert evicted().the_incident().started_at >= ms("01:09:15.000")


def test_a_member_that_rejoins_before_its_old_session_expires_did_not_rejoin_later() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    old = story.id_of("c-2")
    story.reborn("c-2").rebalanced("01:10:00.000", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    story.broker("01:10:30.000", story.words.failed(old))
    story.rebalanced("01:10:30.001", f"removing member {old} on heartbeat expiration", ["c-1", "c-2"])
    sentences = [cause.narrative for incident in story.incidents() for cause in incident.root_causes]
    assert not any("joined again later" in one for one in sentences), sentences
    assert any("it had already joined anew" in one for one in sentences), sentences


def test_the_only_member_that_dies_and_comes_back_to_an_empty_group_has_crashed_and_not_just_started() -> None:
    story = Story(release=(4, 0)).formed("c-1")
    story.says("01:10:10.000", f"Member {story.id_of('c-1')} in group payments has failed, removing it from the group.")
    reason = f"removing member {story.id_of('c-1')} on heartbeat expiration."
    story.broker("01:10:10.001", story.words.preparing(1, reason))
    story.broker("01:10:10.002", story.words.empty(2))
    story.generation = 2
    story.reborn("c-1").formed("c-1", at="01:10:20.000").goes_on("01:20:00.000")
    assert story.causes() == ["process-crash"]
    assert [c.cause for c in story.the_incident().root_causes] == ["process-crash"]


def test_a_log_whose_last_word_is_out_of_memory_tells_of_the_crash_alone() -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    died = "Terminating due to java.lang.OutOfMemoryError: Java heap space"
    story.line("c-3/app.log", "01:10:00.000", died, logger="")
    crash = story.the_incident().root_causes[0]
    assert (crash.cause, [c.name for c in crash.culprits]) == ("process-crash", ["c-3"])
    assert "OutOfMemoryError" in crash.narrative
    assert any(died in line.text for line in crash.evidence)
    assert story.the_incident().impact.unread_partition_ms is None


def test_a_coordinator_dates_the_crash_of_which_the_process_names_the_reason() -> None:
    story = evicted().goes_on("01:15:00.000")
    story.line("c-3/app.log", "01:09:52.000", "Aborting due to java.lang.OutOfMemoryError: Metaspace", logger="")
    crash = story.the_incident().root_causes[0]
    assert (crash.cause, story.blamed()) == ("process-crash", ["c-3"])
    assert "OutOfMemoryError: Metaspace" in crash.narrative
    assert any("-XX:+HeapDumpOnOutOfMemoryError" in advice.action for advice in crash.advice)


def test_a_thread_that_dies_is_no_process_that_dies() -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    story.line(
        "c-3/app.log", "01:10:00.000", 'Exception in thread "main" java.lang.IllegalStateException: x', logger=""
    )
    assert "process-crash" not in story.causes()


def collected_early(*, others: str) -> Story:
    """c-3 is evicted; its own log ends minutes before, and that of c-2 at `others`."""
    story = evicted(seen="clients")
    message = "Discovered group coordinator b-2:9092 (id: 2147483645 rack: null)"
    story.client("c-1", "01:15:00.000", message)
    until = {"c-2": ms(others), "c-3": ms("01:05:00.000")}
    story.events = [e for e in story.events if (e.at or 0) <= until.get(e.origin.path.partition("/")[0], 2**60)]
    return story


def test_a_log_that_ends_before_its_member_was_lost_shows_a_death_only_if_other_logs_continue() -> None:
    ended = collected_early(others="01:15:00.000").the_incident().root_causes[0]
    cut = collected_early(others="01:05:00.000").the_incident().root_causes[0]
    assert ended.cause == "process-crash"
    assert cut.confidence < ended.confidence


def test_without_the_coordinator_a_log_that_just_ends_may_be_one_whose_last_lines_were_lost() -> None:
    """Log4j 2 may stop before the consumer closes."""
    incident = collected_early(others="01:15:00.000").the_incident()
    assert [cause.cause for cause in incident.root_causes][:2] == ["process-crash", "scale-in"]
    assert incident.root_causes[0].confidence < 0.6


@pytest.mark.parametrize(("seen", "surely"), [("both", True), ("clients", False)])
def test_without_the_coordinator_a_new_process_after_no_closing_lines_may_be_a_clean_restart(
    *, seen: Side, surely: bool
) -> None:
    """Log4j 2 may stop before the consumer closes, so the log of a clean restart looks like that of a crash."""
    story = evicted((4, 1), seen)
    story.reborn("c-3").started("c-3", "01:10:05.000")
    story.rebalanced("01:10:06.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    crash = story.goes_on("01:15:00.000").the_incident().root_causes[0]
    assert crash.cause == "process-crash"
    assert (crash.confidence >= 0.9) is surely
    assert (crash.confidence < 0.6) is not surely


def test_a_rebalance_that_a_poll_timeout_began_is_a_cost_of_the_crash_whose_member_it_removed() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2", "c-3", "c-4")
    slow, dead = story.id_of("c-4"), story.id_of("c-3")
    story.client("c-4", "01:10:00.000", EXPIRED, level="WARN")
    story.client("c-4", "01:10:00.001", LEAVING.format(slow, SHORT))
    story.broker("01:10:00.010", story.words.left(slow, SHORT))
    story.broker("01:10:00.011", story.words.preparing(1, story.words.leaving(slow, SHORT)))
    story.says("01:10:00.200", f"Member {dead} in group payments has failed, removing it from the group")
    story.rebalanced("01:10:00.300", story.words.leaving(slow, SHORT), ["c-1", "c-2"]).goes_on("01:15:00.000")
    costs = {i.root_causes[0].cause: i.impact.rebalances for i in story.incidents()}
    assert costs == {"slow-processing": 1, "process-crash": 1}
