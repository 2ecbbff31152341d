from __future__ import annotations

import pytest
from msgspec.structs import replace

from rebalance_forensics import events as ev
from tests.diagnosis.statics import replaced, said_by_static, static_group
from tests.diagnosis.test_process_pause import UNKNOWN
from tests.epochs import three_members
from tests.kafka_words import Release, generation_of
from tests.story import Side, Story, clock

EXPIRED = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
)
EXPIRED += (
    "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing "
)
EXPIRED += (
    "messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of "
)
EXPIRED += "batches returned in poll() with max.poll.records."
LEAVING = "Member {} sending LeaveGroup request to coordinator broker-2:9092 (id: 2147483645 rack: null) due to {}"
SHORT = "consumer poll timeout has expired."


def slow_member(release: Release, seen: Side = "both") -> Story:
    return timed_out(Story(release=release, seen=seen).formed("c-1", "c-2", "c-3"), "01:10", back="01:10:12.000")


def timed_out(story: Story, minute: str, back: str) -> Story:
    release, old = story.release, story.id_of("c-3")
    if release >= (3, 0):
        story.client("c-3", f"{minute}:00.000", EXPIRED, level="WARN")
    if release >= (2, 4):
        why = SHORT if release >= (3, 0) else EXPIRED
        story.client("c-3", f"{minute}:00.001", LEAVING.format(old, why))
    story.broker(f"{minute}:00.010", story.words.left(old, SHORT))
    story.rebalanced(f"{minute}:00.011", story.words.leaving(old, SHORT), ["c-1", "c-2"])
    story.reborn("c-3")
    return story.rebalanced(back, story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
@pytest.mark.parametrize("release", [(3, 9), (4, 1)])
def test_either_side_tells_of_the_poll_timeout(release: Release, seen: Side) -> None:
    story = slow_member(release, seen)
    assert story.causes() == ["slow-processing"]
    assert story.blamed() == ["c-3"]


def test_of_loops_of_several_lengths_the_advice_gives_the_figure_for_the_longest_once() -> None:
    story = slow_member((3, 9))
    timed_out(story, "01:14", back="01:17:00.000")
    (cause,) = story.the_incident().root_causes
    assert (cause.cause, cause.occurrences) == ("slow-processing", 2)
    assert [(advice.figure, advice.action) for advice in cause.advice] == [
        (None, "Lower max.poll.records, or move slow work out of the poll loop."),
        (720_000, "Raise max.poll.interval.ms to about 720000 if such loops are normal."),
    ]


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_clients_of_2_8_say_it_inside_the_leave(seen: Side) -> None:
    story = slow_member((2, 8), seen)
    assert story.causes() == ["slow-processing"]
    assert story.the_incident().root_causes[0].confidence >= 0.9


def test_brokers_before_3_2_show_a_leave_and_a_return_of_the_same_client_and_are_less_sure() -> None:
    incident = slow_member((2, 8), "brokers").the_incident()
    assert incident.root_causes[0].cause == "slow-processing"
    assert incident.root_causes[0].confidence < 0.9
    assert "most likely a poll loop took longer than max.poll.interval.ms" in incident.summary


def test_a_poll_timeout_is_a_fact_only_where_a_line_names_it() -> None:
    assert "c-3 did not call poll() for max.poll.interval.ms" in slow_member((3, 9), "both").the_incident().summary


def times_out_by_name(at: str) -> Story:
    """A librdkafka client without debug names itself alone; the coordinator of 3.9 is told no reason."""
    story = Story().formed("c-1", "c-2")
    old = story.id_of("c-2")
    story.line(
        "node-2/app.log",
        at,
        "MAXPOLL [c-2#consumer-1] [thrd:main]: Application maximum poll interval (9000ms) exceeded by 295ms (adjust "
        "max.poll.interval.ms for long-running message processing): leaving group",
        level="WARN",
        logger="rdkafka",
    )
    left = story.words.left(old, "not provided").replace("rebalanceTimeoutMs=300000", "rebalanceTimeoutMs=9000")
    story.broker("01:10:00.010", left)
    story.rebalanced("01:10:00.011", story.words.leaving(old, "not provided"), ["c-1"])
    story.reborn("c-2").rebalanced("01:10:12.000", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    story.events = [e for e in story.events if not e.origin.path.startswith("c-2")]
    return story


def test_the_limit_that_a_members_own_line_names_dates_its_last_poll_whatever_another_client_is_set_to() -> None:
    story = times_out_by_name("01:09:59.990")
    config = "ConsumerConfig values: \n\tclient.id = c-1\n\tgroup.id = payments\n\tmax.poll.interval.ms = 300000\n"
    story.line("c-1/app.log", "00:59:58.000", config, logger="org.apache.kafka.clients.consumer.ConsumerConfig")
    story.events = [
        replace(e, session_timeout_ms=None, rebalance_timeout_ms=None) if isinstance(e, ev.MemberLeft) else e
        for e in story.events
    ]
    impact = story.the_incident().impact
    assert (impact.longest_unread_ms, impact.unread_at_least) == (21_810, False)


def test_a_client_that_names_no_group_timed_out_in_the_one_that_lost_it_then() -> None:
    incident = times_out_by_name("01:10:00.000").the_incident()
    assert (incident.root_causes[0].cause, incident.severity) == ("slow-processing", "warning")
    assert incident.root_causes[0].confidence >= 0.9
    assert "(9000 ms)" in incident.summary
    assert "node-2/app.log" in {line.path for line in incident.root_causes[0].evidence}


def test_a_client_that_names_no_group_and_timed_out_at_another_time_did_so_in_another() -> None:
    incident = times_out_by_name("01:09:00.000").the_incident()
    assert "node-2/app.log" not in {line.path for line in incident.root_causes[0].evidence}


def returns_soon(allowed_ms: int) -> Story:
    """A member whose log is missing leaves 20 s after it joined, and comes back; another tells the settings."""
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    story.started("c-1", "01:00:00.000", max_poll_interval_ms=allowed_ms)
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    old = story.id_of("c-3")
    story.broker("01:10:20.000", story.words.left(old))
    story.rebalanced("01:10:20.001", story.words.leaving(old), ["c-1", "c-2"])
    story.reborn("c-3").rebalanced("01:10:30.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    story.events = [e for e in story.events if not e.origin.path.startswith("c-3")]
    return story


def test_a_member_that_leaves_before_the_poll_interval_can_have_passed_was_not_slow() -> None:
    assert "slow-processing" in returns_soon(15_000).causes()
    assert "slow-processing" not in returns_soon(60_000).causes()


def test_the_eviction_and_the_rejoin_are_one_incident() -> None:
    assert slow_member((3, 9)).the_incident().generations == (2, 3)


def test_a_rebalance_that_a_slow_member_missed_between_two_poll_timeouts_is_no_pause_of_its_process() -> None:
    story = slow_member((3, 9))
    story.client("c-3", "01:10:20.000", UNKNOWN.format(generation_of(3, story.id_of("c-3"))))
    story.reborn("c-3").rebalanced("01:10:21.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    story.client("c-3", "01:10:40.000", EXPIRED, level="WARN")
    story.client("c-3", "01:10:40.001", LEAVING.format(story.id_of("c-3"), SHORT))
    story.broker("01:10:40.010", story.words.left(story.id_of("c-3"), SHORT))
    story.rebalanced("01:10:40.011", story.words.leaving(story.id_of("c-3"), SHORT), ["c-1", "c-2"])
    assert story.causes() == ["slow-processing"]


def test_a_member_that_never_polls_again_stops_work() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    story.client("c-3", "01:10:00.000", EXPIRED, level="WARN")
    story.broker("01:10:00.010", story.words.left(story.id_of("c-3"), SHORT))
    story.rebalanced("01:10:00.011", story.words.leaving(story.id_of("c-3"), SHORT), ["c-1", "c-2"])
    assert story.the_incident().severity == "warning", "it may come back a moment later, when the logs have ended"
    story.goes_on("01:20:00.000")
    assert story.the_incident().severity == "critical"


def test_a_kip_848_member_says_it_with_its_epoch() -> None:
    story = Story(release=(4, 1))
    story.broker(
        "01:00:00.000",
        "[GroupCoordinator id=2 topic=__consumer_offsets partition=13] [GroupId payments] "
        "Member aSm2rIdjTk6VlrTrO9vEqA joins the consumer group using the consumer protocol.",
    )
    story.broker(
        "01:00:00.001",
        "[GroupCoordinator id=2 topic=__consumer_offsets partition=13] [GroupId payments] "
        "Bumped group epoch to 1 with metadata hash 77.",
    )
    manager = "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager"
    for time, epoch, old, new in (
        ("01:00:00.100", 1, "JOINING", "RECONCILING"),
        ("01:00:00.200", 1, "ACKNOWLEDGING", "STABLE"),
    ):
        story.client(
            "c-1",
            time,
            f"Member aSm2rIdjTk6VlrTrO9vEqA with epoch {epoch} transitioned from {old} to {new}.",
            logger=manager,
        )
    heartbeat = "org.apache.kafka.clients.consumer.internals.ConsumerHeartbeatRequestManager"
    story.client(
        "c-1",
        "01:05:00.200",
        "Consumer poll timeout has expired. This means the time between subsequent calls "
        "to poll() was longer than the configured max.poll.interval.ms, which typically implies that the poll "
        "loop is spending too much time processing messages. You can address this either by increasing "
        "max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with "
        "max.poll.records.",
        level="WARN",
        logger=heartbeat,
    )
    story.client(
        "c-1",
        "01:05:00.210",
        "Member aSm2rIdjTk6VlrTrO9vEqA with epoch 1 transitioned from STABLE to PREPARE_LEAVING.",
        logger=manager,
    )
    assert story.causes() == ["slow-processing"]
    assert story.blamed() == ["c-1"]


def test_a_close_in_good_order_is_no_poll_timeout() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    story.broker("01:10:00.010", story.words.left(story.id_of("c-3")))
    story.rebalanced("01:10:00.011", story.words.leaving(story.id_of("c-3")), ["c-1", "c-2"])
    assert "slow-processing" not in story.causes()


@pytest.mark.parametrize("release", [(1, 0), (1, 1), (2, 0)])
def test_clients_of_1_x_say_nothing_and_are_guessed_slow_while_they_keep_their_coordinator(release: Release) -> None:
    story = slow_member(release, "clients")
    assert story.causes() == ["slow-processing"]
    assert story.the_incident().root_causes[0].confidence < 0.6


def test_two_slow_members_of_four_are_no_deployment() -> None:
    story = Story(release=(2, 8), seen="brokers").formed("c-1", "c-2", "c-3", "c-4")
    for minute, client in ((10, "c-1"), (11, "c-2")):
        stay = [c for c in ("c-1", "c-2", "c-3", "c-4") if c != client]
        old = story.id_of(client)
        story.broker(f"01:{minute}:00.000", story.words.left(old))
        story.rebalanced(f"01:{minute}:00.001", story.words.leaving(old), stay)
        story.reborn(client).rebalanced(f"01:{minute}:12.000", story.words.adding(story.id_of(client)), [*stay, client])
    assert set(story.causes()) == {"slow-processing"}


def test_members_that_leave_and_return_under_the_ids_of_their_processes_were_not_restarted() -> None:
    story = three_members("brokers")
    for second, client in ((0, "c-1"), (3, "c-2"), (6, "c-3")):
        story.group_says(f"01:10:0{second}.000", f"Member {story.member(client)} left the consumer group.")
        story.bumped(f"01:10:0{second}.001")
    for second, client in ((10, "c-1"), (13, "c-2"), (16, "c-3")):
        joined = f"Member {story.member(client)} joins the consumer group using the consumer protocol."
        story.group_says(f"01:10:{second}.000", joined).bumped(f"01:10:{second}.001")
    assert story.causes() == ["slow-processing"]


def test_a_static_member_that_does_not_poll_costs_the_rebalance_that_evicts_it_a_session_later() -> None:
    story = static_group("pod-1", "pod-2")
    story.started("c-2", "00:59:58.000", group_instance_id="pod-2", session_timeout_ms=45_000)
    replaced(story, "pod-1", "01:10:00.000")
    said_by_static(story, "c-2", "pod-2", "02:10:00.000", EXPIRED)
    old = story.id_of("pod-2")
    story.broker("02:10:45.000", story.words.failed(old))
    story.broker("02:10:45.001", story.words.preparing(1, f"removing member {old} on heartbeat expiration"))
    story.broker("02:10:45.500", story.words.stabilized(2, 1))
    restarted, slow = story.incidents()
    assert (restarted.root_causes[0].cause, restarted.generations) == ("static-member-restart", ())
    assert (slow.root_causes[0].cause, slow.generations) == ("slow-processing", (2,))


def test_a_member_id_that_is_used_again_hours_later_is_of_another_absence() -> None:
    story = slow_member((3, 9))
    story.lives["c-3"] = 1
    old = story.id_of("c-3")
    story.holds.pop("c-3")
    story.rebalanced("05:00:00.000", story.words.adding(old), ["c-1", "c-2", "c-3"])
    story.client("c-3", "05:01:00.000", EXPIRED, level="WARN")
    story.client("c-3", "05:01:00.001", LEAVING.format(old, SHORT))
    story.broker("05:01:00.010", story.words.left(old, SHORT))
    story.rebalanced("05:01:00.011", story.words.leaving(old, SHORT), ["c-1", "c-2"])
    slow = [i for i in story.incidents() if i.root_causes[0].cause == "slow-processing"]
    assert [(i.occurrences, clock(i.started_at)[:5]) for i in slow] == [(1, "01:10"), (1, "05:01")]


def test_a_member_that_left_by_itself_and_lost_its_partitions_did_not_poll_and_was_not_paused() -> None:
    story = Story(release=(3, 9), seen="clients")
    leaves = "Resetting generation and member id due to: consumer pro-actively leaving the group"
    story.client("c-1", "01:10:00.000", leaves)
    story.client(
        "c-1", "01:10:20.000", "Failing OffsetCommit request since the consumer is not part of an active group"
    )
    story.client(
        "c-1",
        "01:10:20.010",
        "Giving away all assigned partitions as lost since generation/memberID has been reset,indicating that consumer "
        "is in old state or no longer part of the group",
    )
    assert story.causes() == ["slow-processing"]
