from __future__ import annotations

import pytest

from rebalance_forensics import events as ev
from rebalance_forensics.timeline.coverage import covering
from tests.diagnosis.logs import Logs
from tests.story import Story, ms

OWN, OTHER = "MkU3OEVBNTcwNTJENDM2Qk", "5L6g3nShT-eMCtK--X86sw"


@pytest.mark.parametrize(
    "start",
    [
        "Cluster ID = {}",
        "[QuorumController id=9] Creating new QuorumController with clusterId {}.",
        "[BrokerLifecycleManager id=9] Incarnation 0IDFaxjkRfqaqgstv1yELg of broker 9 in cluster {} is now STARTING.",
    ],
)
def test_a_broker_of_another_cluster_than_the_groups_clients_affects_no_group(start: str) -> None:
    for cluster in (OWN, OTHER):
        logs = Logs().consumer(0, f"Cluster ID: {OWN}").consumer(1, "(Re-)joining group")
        logs.broker(10, start.format(cluster), "broker-9").broker(11, "[KafkaServer id=9] started", "broker-9")
        assert logs.timeline().shows_any((ev.BrokerStarted,)) == (cluster == OWN)


def test_the_broker_that_logs_about_the_group_coordinates_it() -> None:
    (term,) = Story(seen="brokers").formed("c-1", "c-2").history().coordinators
    assert term.broker == "broker-2"


def test_clients_alone_name_it_by_the_node_they_discovered() -> None:
    story = Story(seen="clients")
    story.client("c-1", "00:59:59.000", "Discovered group coordinator kafka-b:9092 (id: 2147483640 rack: null)")
    (term,) = story.formed("c-1", "c-2").history().coordinators
    assert term.broker == "broker-7"


def test_a_group_that_moves_has_one_term_after_the_other() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    story.coordinator = 3
    story.rebalanced("01:30:00.000", story.words.leaving("c-9-0"), ["c-1", "c-2"])
    first, second = story.history().coordinators
    assert (first.broker, second.broker) == ("broker-2", "broker-3")
    assert (first.started_at or 0) < (second.started_at or 0)


def unloaded(at: str) -> Story:
    """A group whose coordinator, the only broker with a log, unloads it."""
    story = Story(seen="brokers").formed("c-1", "c-2")
    story.says(at, f"Unloading group metadata for {story.group} with generation 1")
    return story.broker("01:30:00.000", "Created log for partition unread-0 in /var/kafka with properties {}.")


def test_a_term_ends_when_the_group_is_unloaded_and_begins_again_when_it_is_loaded() -> None:
    story = unloaded("01:10:00.000")
    story.says("01:20:00.000", f"Loading group metadata for {story.group} with generation 4")
    terms = [(term.started_at, term.ended_at) for term in story.history().coordinators]
    assert terms == [(ms("00:59:59.980"), ms("01:10:00.000")), (ms("01:20:00.000"), None)]


def test_a_broker_that_starts_again_coordinates_a_group_only_once_it_loads_it() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    story.broker("01:10:00.000", "Connecting to zookeeper on zk1:2181", logger="kafka.server.KafkaServer")
    story.broker("01:10:02.000", "[KafkaServer id=2] started", logger="kafka.server.KafkaServer")
    story.broker("01:30:00.000", "Created log for partition unread-0 in /var/kafka with properties {}.")
    (term,) = story.history().coordinators
    assert term.ended_at == ms("01:10:00.000")


def test_a_broker_that_loads_a_group_before_it_logs_that_it_started_keeps_it() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    story.says("01:10:01.000", f"Loading group metadata for {story.group} with generation 1")
    story.broker("01:10:02.000", "[KafkaServer id=2] started", logger="kafka.server.KafkaServer")
    (term,) = story.history().coordinators
    assert term.ended_at is None


def test_the_silence_of_a_broker_that_unloaded_the_group_proves_nothing() -> None:
    brokers = unloaded("01:10:00.000").timeline().coverage.brokers
    assert covering(brokers, ms("01:05:00.000"), ms("01:09:00.000"))
    assert not covering(brokers, ms("01:11:00.000"), ms("01:12:00.000"))


def test_the_log_of_a_broker_that_gave_the_group_away_and_got_it_back_does_not_cover_the_time_between() -> None:
    story = unloaded("01:10:00.000")
    story.says("01:12:00.000", f"Loading group metadata for {story.group} with generation 4")
    brokers = story.timeline().coverage.brokers
    assert not covering(brokers, ms("01:09:00.000"), ms("01:13:00.000"))
    assert covering(brokers, ms("01:12:00.000"), ms("01:13:00.000"))
