from __future__ import annotations

import pytest

from rebalance_forensics import events as ev
from tests.diagnosis.logs import Logs
from tests.story import Story

OWN, OTHER = "MkU3OEVBNTcwNTJENDM2Qk", "5L6g3nShT-eMCtK--X86sw"


@pytest.mark.parametrize(
    "start",
    [
        "Cluster ID = {}",
        "[QuorumController id=9] Creating new QuorumController with clusterId {}.",
        "[BrokerLifecycleManager id=9] Incarnation 0IDFaxjkRfqaqgstv1yELg of broker 9 in cluster {} is now STARTING.",
    ],
)
def test_a_broker_of_another_cluster_than_that_of_the_groups_clients_disturbs_nobody(start: str) -> None:
    for cluster in (OWN, OTHER):
        logs = Logs().consumer(0, f"Cluster ID: {OWN}").consumer(1, "(Re-)joining group")
        logs.broker(10, start.format(cluster), "broker-9").broker(11, "[KafkaServer id=9] started", "broker-9")
        assert logs.timeline().shows_any((ev.BrokerStarted,)) == (cluster == OWN)


def test_the_broker_that_speaks_for_the_group_coordinates_it() -> None:
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
