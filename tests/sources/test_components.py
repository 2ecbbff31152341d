"""Who wrote a log is told by who speaks in it, and not by the clients that a broker's lines name."""

from __future__ import annotations

import pytest

from rebalance_forensics.sources.profiles.components import component_of

ID = "808a151c-06dd-4df8-83fc-8b1b15a53a4d"


@pytest.mark.parametrize("client", ["sarama", "rdkafka", "kafkajs", "aiokafka-0.8.0", "kgo"])
@pytest.mark.parametrize(
    "line",
    [
        "ERROR [KafkaApi-3] Error when handling request: clientId={client}, api=JOIN_GROUP, member_id={client}-{id}",
        "INFO [GroupCoordinator 3]: Member {client}-{id} in group payments has failed, removing it from the group",
        "INFO [GroupCoordinator 3]: Assignment received from leader {client}-1-{id} for group payments",
    ],
)
def test_a_brokers_line_with_a_clients_name_in_it_is_a_brokers(client: str, line: str) -> None:
    broker = "INFO [GroupCoordinator 3]: Stabilized group payments generation 4 (__consumer_offsets-3) with 2 members"
    assert component_of(f"{line.format(client=client, id=ID)}\n{broker}") == "broker"


@pytest.mark.parametrize(
    ("component", "line"),
    [
        ("sarama", "[Sarama] 2026/11/20 10:15:30 client/coordinator coordinator for consumergroup payments is #1"),
        ("librdkafka", "%4|1795169730.678|SESSTMOUT|rdkafka#consumer-1| [thrd:main]: Consumer group session timed out"),
        ("kafkajs", '{"level":"INFO","logger":"kafkajs","message":"[ConsumerGroup] Consumer has joined the group"}'),
        ("aiokafka", "2026-11-20 10:15:30 INFO aiokafka.consumer.group_coordinator: (Re-)joining group payments"),
        ("brod", "group coordinator (groupId=payments,memberId=m,generation=7,pid=#PID<0.2.0>):\nelected=true"),
    ],
)
def test_a_client_is_known_by_its_own_lines(component: str, line: str) -> None:
    assert component_of(line) == component
