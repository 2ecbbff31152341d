"""Two brokers that fail one after the other by themselves are two incidents; lines recorded from Kafka 0.11 and 1.1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.model import Incident

# Kafka 1.1: broker 3 is suspended for 20 s, its ZooKeeper session of 6 s ends, broker 1 takes over. Broker 3 resumes,
# unloads the group, and its timers still expire the session of a member. A minute later the disk of broker 1 is full.
FROZEN_THEN_FULL = {
    "broker-1": """\
[2026-11-28 04:26:24,100] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)
[2026-11-28 04:29:32,114] INFO [GroupCoordinator 1]: Loading group metadata for calm with generation 1 (kafka.GC)
[2026-11-28 04:30:26,432] ERROR Shutdown broker because all log dirs in /d1/data have failed (kafka.log.LogManager)
""",
    "broker-2": """\
[2026-11-28 04:26:25,100] INFO [KafkaServer id=2] started (kafka.server.KafkaServer)
[2026-11-28 04:29:30,383] INFO [Controller id=2] Broker failure callback for 3 (kafka.controller.KafkaController)
[2026-11-28 04:29:46,936] INFO [Controller id=2] New broker startup callback for 3 (kafka.controller.KafkaController)
[2026-11-28 04:30:32,119] INFO [Controller id=2] Broker failure callback for 1 (kafka.controller.KafkaController)
""",
    "broker-3": """\
[2026-11-28 04:26:24,000] INFO [KafkaServer id=3] started (kafka.server.KafkaServer)
[2026-11-28 04:26:43,353] INFO [GroupCoordinator 3]: Preparing to rebalance group calm with old generation 0 \
(__consumer_offsets-1) (kafka.GC)
[2026-11-28 04:26:46,354] INFO [GroupCoordinator 3]: Stabilized group calm generation 1 (__consumer_offsets-1) \
(kafka.GC)
[2026-11-28 04:29:44,675] WARN Client session timed out, have not heard from server in 21805ms for sessionid \
0x1a2206766350004 (org.apache.zookeeper.ClientCnxn)
[2026-11-28 04:29:47,135] INFO [GroupCoordinator 3]: Unloading group metadata for calm with generation 1 (kafka.GC)
[2026-11-28 04:29:54,687] INFO [GroupCoordinator 3]: Member calm-1-be268602-37de-49c2-b609-91251bec49a8 in group calm \
has failed, removing it from the group (kafka.GC)
[2026-11-28 04:30:32,567] INFO [GroupCoordinator 3]: Loading group metadata for calm with generation 1 (kafka.GC)
""",
}


def incidents_in(folder: Path, logs: Mapping[str, str]) -> list[Incident]:
    for host, lines in logs.items():
        (folder / host).mkdir()
        name = "server.log" if host.startswith("broker") else "app.log"
        (folder / host / name).write_text(lines.replace("(kafka.GC)", "(kafka.coordinator.group.GroupCoordinator)"))
    return list(rf.analyze(folder, engine="local").report.incidents)


def brokers_blamed(incidents: list[Incident]) -> list[list[str]]:
    verdicts = [incident.root_causes[0] for incident in incidents]
    return [[c.name for c in v.culprits] for v in verdicts if v.cause == "coordinator-failover"]


def test_a_paused_broker_and_a_full_disk_of_the_next_coordinator_are_two_incidents(tmp_path: Path) -> None:
    assert brokers_blamed(incidents_in(tmp_path, FROZEN_THEN_FULL)) == [["broker-3"], ["broker-1"]]


def test_what_a_broker_logs_of_a_group_after_it_unloaded_it_makes_it_no_coordinator(tmp_path: Path) -> None:
    incidents_in(tmp_path, FROZEN_THEN_FULL)
    (history,) = rf.analyze(tmp_path, engine="local").report.groups
    began = [(term.broker, (term.started_at or 0) // 1000 % 3600) for term in history.coordinators]
    took_over, again = 29 * 60 + 32, 30 * 60 + 32
    assert began == [("broker-3", 26 * 60 + 43), ("broker-1", took_over), ("broker-3", again)]


# Kafka 0.11: broker 2 is suspended for 20 s, broker 3 takes over; half a minute after broker 2 has resumed, the
# preferred replica leads again.
FROZEN_AND_BACK = {
    "broker-2": """\
[2026-11-28 03:56:00,100] INFO [Kafka Server 2], started (kafka.server.KafkaServer)
[2026-11-28 03:57:07,679] INFO [GroupCoordinator 2]: Preparing to rebalance group led with old generation 0 \
(__consumer_offsets-1) (kafka.GC)
[2026-11-28 03:57:10,700] INFO [GroupCoordinator 2]: Stabilized group led generation 1 (__consumer_offsets-1) (kafka.GC)
[2026-11-28 04:00:36,245] INFO [GroupCoordinator 2]: Unloading group metadata for led with generation 1 (kafka.GC)
[2026-11-28 04:00:44,243] INFO [GroupCoordinator 2]: Member led-1-eb951549-c045-4165-aa9c-57e005f85ce0 in group led \
has failed, removing it from the group (kafka.GC)
[2026-11-28 04:01:08,628] INFO [GroupCoordinator 2]: Loading group metadata for led with generation 1 (kafka.GC)
""",
    "broker-3": """\
[2026-11-28 03:55:59,100] INFO [Kafka Server 3], started (kafka.server.KafkaServer)
[2026-11-28 04:00:20,268] INFO [Controller 3]: Broker failure callback for 2 (kafka.controller.KafkaController)
[2026-11-28 04:00:34,342] INFO [GroupCoordinator 3]: Loading group metadata for led with generation 1 (kafka.GC)
[2026-11-28 04:00:36,100] INFO [Controller 3]: New broker startup callback for 2 (kafka.controller.KafkaController)
[2026-11-28 04:01:08,600] INFO [GroupCoordinator 3]: Unloading group metadata for led with generation 1 (kafka.GC)
""",
}


def test_a_broker_that_takes_its_groups_back_after_a_pause_ends_the_same_incident(tmp_path: Path) -> None:
    ((first, *_),) = brokers_blamed(incidents_in(tmp_path, FROZEN_AND_BACK))
    assert first == "broker-2"


def test_a_group_whose_members_no_coordinator_names_is_disturbed_by_a_move_all_the_same(tmp_path: Path) -> None:
    # Before 2.0 the only member that a coordinator names is one that it removes.
    removed = """\
[2026-11-28 03:58:29,100] INFO [GroupCoordinator 2]: Member led-3-8a215241-a938-4f5d-9a2b-565539665559 in group led \
has failed, removing it from the group (kafka.GC)
[2026-11-28 03:58:29,101] INFO [GroupCoordinator 2]: Preparing to rebalance group led with old generation 1 \
(__consumer_offsets-1) (kafka.GC)
[2026-11-28 03:58:32,017] INFO [GroupCoordinator 2]: Stabilized group led generation 2 (__consumer_offsets-1) (kafka.GC)
[2026-11-28 04:00:36"""
    lines = FROZEN_AND_BACK["broker-2"].replace("[2026-11-28 04:00:36", removed)
    ((first, *_),) = brokers_blamed(incidents_in(tmp_path, {**FROZEN_AND_BACK, "broker-2": lines}))
    assert first == "broker-2"


# Java clients 1.1: broker 3 stops answering; a minute later connections to broker 1, the next coordinator, are refused.
ONLY_CLIENTS = """\
[2026-11-28 04:26:46,900] INFO [Consumer clientId=calm-1, groupId=calm] Discovered group coordinator a:9093 \
(id: 2147483644 rack: null) (kafka.AC)
[2026-11-28 04:26:46,910] INFO [Consumer clientId=calm-1, groupId=calm] Successfully joined group with generation 1 \
(kafka.AC)
[2026-11-28 04:29:31,861] INFO [Consumer clientId=calm-1, groupId=calm] Group coordinator a:9093 (id: 2147483644 rack: \
null) is unavailable or invalid, will attempt rediscovery (kafka.AC)
[2026-11-28 04:29:34,861] INFO [Consumer clientId=calm-1, groupId=calm] Discovered group coordinator a:9091 \
(id: 2147483646 rack: null) (kafka.AC)
[2026-11-28 04:30:27,216] INFO [Consumer clientId=calm-1, groupId=calm] Group coordinator a:9091 (id: 2147483646 rack: \
null) is unavailable or invalid, will attempt rediscovery (kafka.AC)
[2026-11-28 04:30:27,297] WARN [Consumer clientId=calm-1, groupId=calm] Connection to node 1 could not be established. \
Broker may not be available. (org.apache.kafka.clients.NetworkClient)
[2026-11-28 04:30:31,818] WARN [Consumer clientId=calm-1, groupId=calm] Connection to node 1 could not be established. \
Broker may not be available. (org.apache.kafka.clients.NetworkClient)
[2026-11-28 04:30:32,382] INFO [Consumer clientId=calm-1, groupId=calm] Discovered group coordinator a:{port} \
(id: {node} rack: null) (kafka.AC)
"""


def test_the_first_of_two_brokers_that_lost_a_group_is_named_though_only_the_second_refuses_connections(
    tmp_path: Path,
) -> None:
    logs = ONLY_CLIENTS.format(port=9092, node=2147483645).replace(
        "kafka.AC", "org.apache.kafka.clients.consumer.internals.AbstractCoordinator"
    )
    ((*blamed,),) = brokers_blamed(
        incidents_in(tmp_path, {f"{group}-1": logs.replace("calm", group) for group in ("calm", "roll")})
    )
    assert blamed == ["broker-1", "broker-3"]


# A 2.4 client of Kafka 0.11: its coordinator cannot write the commit while broker 2, a replica, stands still.
NOT_WRITTEN = {
    "broker-3": """\
[2026-11-28 03:55:59,100] INFO [Kafka Server 3], started (kafka.server.KafkaServer)
[2026-11-28 03:57:27,200] INFO [GroupCoordinator 3]: Preparing to rebalance group inv with old generation 0 \
(__consumer_offsets-3) (kafka.GC)
[2026-11-28 03:57:30,100] INFO [GroupCoordinator 3]: Stabilized group inv generation 1 (__consumer_offsets-3) (kafka.GC)
[2026-11-28 04:00:20,268] INFO [Controller 3]: Broker failure callback for 2 (kafka.controller.KafkaController)
[2026-11-28 04:00:32,162] INFO [GroupCoordinator 3]: Member inv-2-18ebf23e-3bed-43c8-b020-d34996ee4e92 in group inv \
has failed, removing it from the group (kafka.GC)
[2026-11-28 04:00:32,163] INFO [GroupCoordinator 3]: Preparing to rebalance group inv with old generation 1 \
(__consumer_offsets-3) (kafka.GC)
[2026-11-28 04:00:34,324] INFO [GroupCoordinator 3]: Stabilized group inv generation 2 (__consumer_offsets-3) (kafka.GC)
[2026-11-28 04:00:34,797] INFO [GroupCoordinator 3]: Preparing to rebalance group inv with old generation 2 \
(__consumer_offsets-3) (kafka.GC)
[2026-11-28 04:00:36,100] INFO [Controller 3]: New broker startup callback for 2 (kafka.controller.KafkaController)
[2026-11-28 04:00:37,695] INFO [GroupCoordinator 3]: Stabilized group inv generation 3 (__consumer_offsets-3) (kafka.GC)
""",
    "broker-2": """\
[2026-11-28 03:56:00,100] INFO [Kafka Server 2], started (kafka.server.KafkaServer)
[2026-11-28 04:00:34,285] WARN Client session timed out, have not heard from server in 20927ms for sessionid \
0x1a2204b93f80002 (org.apache.zookeeper.ClientCnxn)
""",
    "inv-1": """\
[2026-11-28 03:57:27,100] INFO [Consumer clientId=inv-1, groupId=inv] Discovered group coordinator a:56079 \
(id: 2147483644 rack: null) (kafka.AC)
[2026-11-28 03:57:30,110] INFO [Consumer clientId=inv-1, groupId=inv] Successfully joined group with generation 1 \
(kafka.AC)
[2026-11-28 04:00:22,154] WARN [Consumer clientId=inv-1, groupId=inv] Offset commit failed on partition invs-0 at \
offset 1129: The request timed out. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
[2026-11-28 04:00:22,154] INFO [Consumer clientId=inv-1, groupId=inv] Group coordinator a:56079 (id: 2147483644 rack: \
null) is unavailable or invalid, will attempt rediscovery (kafka.AC)
[2026-11-28 04:00:22,164] INFO [Consumer clientId=inv-1, groupId=inv] Discovered group coordinator a:56079 \
(id: 2147483644 rack: null) (kafka.AC)
[2026-11-28 04:00:34,300] INFO [Consumer clientId=inv-1, groupId=inv] Successfully joined group with generation 2 \
(kafka.AC)
[2026-11-28 04:00:37,700] INFO [Consumer clientId=inv-1, groupId=inv] Successfully joined group with generation 3 \
(kafka.AC)
""",
    "inv-2": """\
[2026-11-28 03:57:20,100] INFO Kafka version: 2.4.1 (org.apache.kafka.common.utils.AppInfoParser)
[2026-11-28 03:57:27,100] INFO [Consumer clientId=inv-2, groupId=inv] Discovered group coordinator a:56079 \
(id: 2147483644 rack: null) (kafka.AC)
[2026-11-28 03:57:30,110] INFO [Consumer clientId=inv-2, groupId=inv] Successfully joined group with generation 1 \
(kafka.AC)
[2026-11-28 04:00:22,154] WARN [Consumer clientId=inv-2, groupId=inv] Offset commit failed on partition invs-3 at \
offset 1129: The request timed out. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
[2026-11-28 04:00:22,154] INFO [Consumer clientId=inv-2, groupId=inv] Group coordinator a:56079 (id: 2147483644 rack: \
null) is unavailable or invalid, will attempt rediscovery (kafka.AC)
[2026-11-28 04:00:34,786] INFO [Consumer clientId=inv-2, groupId=inv] Discovered group coordinator a:56079 \
(id: 2147483644 rack: null) (kafka.AC)
[2026-11-28 04:00:34,795] INFO [Consumer clientId=inv-2, groupId=inv] Attempt to heartbeat failed for since member id \
inv-2-18ebf23e-3bed-43c8-b020-d34996ee4e92 is not valid. (kafka.AC)
[2026-11-28 04:00:34,795] INFO [Consumer clientId=inv-2, groupId=inv] (Re-)joining group (kafka.AC)
[2026-11-28 04:00:37,716] INFO [Consumer clientId=inv-2, groupId=inv] Successfully joined group with generation 3 \
(kafka.AC)
""",
}


def test_a_member_that_gives_up_a_coordinator_that_could_not_write_its_commit_was_not_cut_off(tmp_path: Path) -> None:
    logs = {
        host: lines.replace("kafka.AC", "org.apache.kafka.clients.consumer.internals.AbstractCoordinator")
        for host, lines in NOT_WRITTEN.items()
    }
    incidents = incidents_in(tmp_path, logs)
    assert brokers_blamed(incidents) == [["broker-2"]]
    assert not {i.root_causes[0].cause for i in incidents} & {"network-partition", "process-pause"}
