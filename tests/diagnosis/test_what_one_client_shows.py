"""What a few lines of one client or one broker show of a group, and no more than that."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

SARAMA = "[sarama] 2026/03/01 01:10:{:02} {}"
LOST = "client/coordinator coordinator for consumer group payments is not available"
GROWN = (
    "consumergroup/payments loop check partition number goroutine find partitions in topics [{}] changed from 12 to 16"
)
FORGOTTEN = (
    "[2026-03-01 01:10:{:02},112: WARNING]: Heartbeat failed: local member_id was not recognized; resetting and "
)
DEAD = "[2026-03-01 01:10:{:02},119: WARNING]: Marking the coordinator dead (node 107)for group payments."
PYTHON = "2026-03-01 01:{},112 - kafka.coordinator - {}"
NEST = (
    '[Nest] 31  - 03/01/2026, 1:10:00 AM    WARN [ServerKafka] WARN [Runner] {} {{"timestamp":"2026-03-01T01:10:00.9Z",'
    '"logger":"kafkajs","groupId":"payments","memberId":"shop-server-7b42eeed-3258-4a90-9e29-14627a954ecc","error":"{}"}}'
)


def the_incident(directory: Path, *lines: str) -> Incident:
    """The only incident that these lines show of the group `payments`."""
    (directory / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (incident,) = analyze([str(directory)], AnalyzeOptions(engine="local")).incidents
    assert incident.group == "payments"
    return incident


def narrative_of(incident: Incident) -> str:
    """The narrative of the most likely cause."""
    return incident.root_causes[0].narrative


@pytest.mark.parametrize(
    ("listed", "which"),
    [
        ("orders", "Topic orders was created, deleted or given partitions."),
        ("orders refunds", "Subscribed topics were created, deleted or given partitions; the logs do not name them."),
    ],
)
def test_sarama_lists_all_topics_a_member_reads_so_only_a_single_one_is_the_one_that_grew(
    tmp_path: Path, listed: str, which: str
) -> None:
    incident = the_incident(tmp_path, SARAMA.format(0, GROWN.format(listed)))
    assert incident.root_causes[0].cause == "topic-metadata-change"
    assert narrative_of(incident) == which


def test_sarama_names_a_group_in_one_word_or_in_two(tmp_path: Path) -> None:
    the_incident(tmp_path, *(SARAMA.format(second, LOST) for second in (0, 2)))


def test_a_log_that_begins_when_the_member_is_unknown_does_not_show_that_it_was_silent_before(tmp_path: Path) -> None:
    incident = the_incident(tmp_path, FORGOTTEN.format(1) + "re-joining group", DEAD.format(1), DEAD.format(2))
    assert "was no longer a member" in narrative_of(incident)
    assert "silent" not in narrative_of(incident)


def test_a_log_that_ends_after_the_eviction_does_not_show_whether_the_member_was_paused(tmp_path: Path) -> None:
    """People send the last 200 lines of each log: a member that was cut off reads like one that stood still."""
    member = "app-1-f616c4f3-438a-449d-b43b-49428c4bbe21"
    server = "[2026-03-01 {},000] INFO [GroupCoordinator 2]: {} (kafka.coordinator.group.GroupCoordinator)\n"
    client = "[2026-03-01 {},000] INFO [Consumer clientId=app-1, groupId=payments] {} (o.a.k.ConsumerCoordinator)\n"
    evicted = f"Member {member} in group payments has failed, removing it from the group"
    (tmp_path / "server.log").write_text(
        server.format("01:08:00", "Stabilized group payments generation 4 (__consumer_offsets-3) with 2 members")
        + server.format("01:10:00", evicted),
        encoding="utf-8",
    )
    refused = (
        f"Attempt to heartbeat with Generation{{generationId=4, memberId='{member}', protocol='range'}} and group "
    )
    refused += "instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation"
    behind = client.format("01:10:30", refused) + client.format("01:10:30", "(Re-)joining group")
    joined = (
        f"Successfully joined group with generation Generation{{generationId=6, memberId='{member}', protocol='r'}}"
    )
    behind += client.format("01:10:31", joined)
    (tmp_path / "app-1").mkdir()
    (tmp_path / "app-1" / "app.log").write_text(behind, encoding="utf-8")
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert [cause.cause for cause in found[-1].root_causes] == ["process-pause", "network-partition"]
    assert found[-1].root_causes[0].confidence < PROBABLE


def test_a_client_that_counts_its_own_session_does_not_know_whether_the_coordinator_evicted_it(tmp_path: Path) -> None:
    joined = PYTHON.format("10:00", "INFO - Successfully joined group payments with generation 220")
    expired = PYTHON.format("14:00", "WARNING - Heartbeat session expired, marking coordinator dead")
    (tmp_path / "app.log").write_text(f"{joined}\n{expired}\n", encoding="utf-8")
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert "considered its session expired" in narrative_of(found[-1])
    assert "evicted" not in narrative_of(found[-1])


def test_a_broker_that_denies_to_be_the_coordinator_does_not_say_where_the_group_is(tmp_path: Path) -> None:
    found = SARAMA.format(0, "client/coordinator coordinator for consumergroup payments is #146 (10.0.0.1:9092)")
    denied = SARAMA.format(
        1, "rebalance error: kafka server: Request was for a consumer group that is not coordinated by this broker."
    )
    incident = the_incident(tmp_path, found, denied)
    assert incident.root_causes[0].cause == "coordinator-failover"
    assert "answered that it did not coordinate the group" in narrative_of(incident)
    assert "moved" not in narrative_of(incident)
    assert "without a rebalance" not in narrative_of(incident)


def test_sarama_that_finds_another_coordinator_after_it_was_denied_shows_that_the_group_moved(tmp_path: Path) -> None:
    found = "client/coordinator coordinator for consumergroup payments is #{0} (b{0}.example.net:9092)"
    denied = "kafka server: Request was for a consumer group that is not coordinated by this broker."
    later = SARAMA.replace("01:10", "01:20")
    incident = the_incident(
        tmp_path, SARAMA.format(0, found.format(2)), later.format(0, denied), later.format(1, found.format(3))
    )
    (cause,) = [c for c in incident.root_causes if c.cause == "coordinator-failover"]
    assert [culprit.name for culprit in cause.culprits] == ["broker-2"]


@pytest.mark.parametrize(
    ("said", "error", "cause"),
    [
        ("The group is rebalancing, re-joining", "The group is rebalancing, so a rejoin is needed", "unexplained"),
        (
            "The coordinator is not aware of this member, re-joining the group",
            "The coordinator is not aware of this member",
            "slow-processing",
        ),
    ],
)
def test_nestjs_prints_kafkajs_messages_as_text_followed_by_the_group_as_json(
    tmp_path: Path, said: str, error: str, cause: str
) -> None:
    incident = the_incident(tmp_path, NEST.format(said, error))
    assert incident.root_causes[0].cause == cause


def test_a_coordinator_with_a_line_in_the_logs_is_not_reported_without_a_log(tmp_path: Path) -> None:
    line = "[2026-03-01 01:10:{},041] INFO [GroupCoordinator 7]: {} (kafka.coordinator.group.GroupCoordinator)"
    incident = the_incident(
        tmp_path,
        line.format(44, "Stabilized group payments generation 67 (__consumer_offsets-31) with 1 members"),
        line.format(
            45,
            "Assignment received from leader c-1-df3071c8-23e1-4384-ad69-7770362dd7f0 for group payments for "
            "generation 67. The group has 1 members, 0 of which are static.",
        ),
    )
    assert "the coordinator's lines at hand do not show who joined or left" in narrative_of(incident)
    assert "without the coordinator's log" not in narrative_of(incident)


def test_evidence_of_a_refused_commit_shows_the_exception_and_not_only_that_something_failed(tmp_path: Path) -> None:
    refused = "org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed"
    incident = the_incident(
        tmp_path,
        "2026-03-01 01:10:00,112 INFO [Consumer clientId=c-1, groupId=payments] (Re-)joining group "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)",
        "2026-03-01 01:20:00,112 ERROR Consumer exception (com.example.Listener)",
        "java.lang.IllegalStateException: the container cannot go on",
        "\tat com.example.Listener.run(Listener.java:64)",
        f"Caused by: {refused}",
    )
    narrative_of = [line.text for cause in incident.root_causes for line in cause.evidence]
    assert (
        f"2026-03-01 01:20:00,112 ERROR Consumer exception (com.example.Listener)\nCaused by: {refused}" in narrative_of
    )


def test_a_java_client_that_learns_of_a_rebalance_repeatedly_shows_one_rebalance(tmp_path: Path) -> None:
    text = "[Consumer clientId=orders-1, groupId=payments] Request joining group due to: group is already rebalancing"
    line = (
        "2026-03-01 01:10:{:02},112 INFO [kafka-coordinator-heartbeat-thread | payments] o.a.k.c.ConsumerCoordinator - "
    )
    incident = the_incident(tmp_path, *(line.format(second) + text for second in (2, 5)))
    assert incident.root_causes[0].cause == "unexplained"
    assert "no reason was logged" in narrative_of(incident)
    assert "times" not in narrative_of(incident)


def test_the_name_of_a_library_and_its_facilities_are_no_hosts(tmp_path: Path) -> None:
    exceeded = "Application maximum poll interval (300000ms) exceeded by 346ms (adjust max.poll.interval.ms for long-"
    line = f"librdkafka: MAXPOLL [thrd:main]: {exceeded}running message processing): leaving group"
    (tmp_path / "paste.md").write_text(f"It logs this:\n\n```\n{line}\n```\n", encoding="utf-8")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert incident.root_causes[0].cause == "slow-processing"
    assert not {"librdkafka", "MAXPOLL"} & {n for c in incident.root_causes[0].culprits for n in (c.name, *c.names)}


def test_a_session_that_only_the_client_takes_for_over_is_no_eviction(tmp_path: Path) -> None:
    message = (
        "Consumer group session timed out (in join-state steady) after 30089 ms without a successful response from "
    )
    last = "the group coordinator (broker 0, last error was Local: Broker transport failure): revoking assignment and "
    line = f"%4|1612579319.971|SESSTMOUT|orders#consumer-1| [thrd:main]: {message}{last}rejoining group"
    (tmp_path / "app.log").write_text(line + "\n", encoding="utf-8")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert incident.root_causes[0].cause == "network-partition"
    assert "considered its session expired; its log shows lost connections to the brokers" in narrative_of(incident)


CLOSED = (
    "[2026-03-01 01:10:{:02},041] INFO [GroupCoordinator 7]: Preparing to rebalance group payments in state "
    "PreparingRebalance with old generation 1 (__consumer_offsets-31) (reason: Removing member c-1-df3071c8-23e1-4384-"
    "ad69-7770362dd7f0 on LeaveGroup; client reason: the consumer is being closed) "
    "(kafka.coordinator.group.GroupCoordinator)"
)


def test_of_a_close_that_is_all_there_is_the_coordinators_line_tells_who_left(tmp_path: Path) -> None:
    (tmp_path / "paste.md").write_text(f"```\n{CLOSED.format(1)}\n```\n", encoding="utf-8")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert narrative_of(incident).startswith("A rebalance began when c-1 left")


def test_a_coordinator_that_does_not_say_that_the_group_is_empty_does_not_show_who_was_the_last(tmp_path: Path) -> None:
    incident = the_incident(tmp_path, CLOSED.format(1))
    assert incident.root_causes[0].confidence < 0.5
    assert 'c-1 left the group ("the consumer is being closed")' in narrative_of(incident)
    assert "who stayed" in narrative_of(incident)


RDKAFKA = "rdkafka-{}-53c2-4a7b-b2f3-fd2a18f5c57d"
LEFT = (
    f"Member MemberMetadata(memberId={RDKAFKA.format('63fefc81')}, groupInstanceId=None, clientId=rdkafka, "
    "clientHost=/172.18.0.1, sessionTimeoutMs=30000, rebalanceTimeoutMs=30000, supportedProtocols=List(range)) has "
    "left group payments through explicit `LeaveGroup`; client reason: not provided"
)
LED = (
    f"Assignment received from leader {RDKAFKA.format('7e893d3f')} for group payments for generation 234. The group "
    "has 1 members, 0 of which are static."
)
GIVEN = (
    f"Dynamic member with unknown member id joins group payments in Stable state. Created a new member id "
    f"{RDKAFKA.format('dcfd93e6')} and request the member to rejoin with this id."
)
ADDING = (
    "Preparing to rebalance group payments in state PreparingRebalance with old generation 234 (__consumer_offsets-0) "
    "(reason: Adding new member rdk"
)


def test_a_newcomer_whose_id_is_cut_off_is_the_one_that_was_just_given_an_id(tmp_path: Path) -> None:
    line = "[2026-11-20 19:08:{}] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
    lines = [line.format("22,974", LEFT), line.format("23,100", LED), line.format("24,989", GIVEN)]
    lines.append(line.partition("{}")[0] + f"24,989] INFO [GroupCoordinator 1]: {ADDING}")
    (tmp_path / "paste.md").write_text("```\n" + "\n".join(lines) + "\n```\n", encoding="utf-8")
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    came = [i.root_causes[0] for i in found if i.root_causes[0].cause == "scale-out"]
    assert [culprit.name for cause in came for culprit in cause.culprits] == [RDKAFKA.format("dcfd93e6")]
    assert "slow-processing" not in {cause.cause for i in found for cause in i.root_causes}
