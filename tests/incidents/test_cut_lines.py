"""Lines that a viewer cut in the middle, and JSON that it cut at its end: what is left of them leads to the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident, RootCause
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.times import iso
from tests.incidents.sample import LOCAL

BROKER = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0]"
AT_THE_BROKER = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
POLL_TIMEOUT = """\
[2026-03-01 10:00:30,017] WARN [Consumer clientId=c-2, groupId=orders] Consumer poll timeout has expired. This means \
the time between s \u2026 tbeatRequestManager)
[2026-03-01 10:00:30,018] INFO [Consumer clientId=c-2, groupId=orders] Member woqDiIxwQne7mo1TkppoLQ with epoch 3 \
transitioned from STA \u2026 erMembershipManager)
[2026-03-01 10:00:30,023] INFO [GroupCoordinator id=3 topic=__consumer_offsets partition=1] [GroupId orders] Member \
woqDiIxwQne7mo1TkppoLQ left t \u2026 roupMetadataManager)
"""
TOO_LARGE = """\
[2026-03-01 10:00:30,017] ERROR [Consumer clientId=c-4, groupId=orders] JoinGroup failed due to fatal error: The \
consumer group h \u2026 ConsumerCoordinator)
"""
KILLED = f"""\
Hi all, our consumer restarts all the time:
```
[2026-03-01 10:00:00,877] INFO {BROKER} Member c-2-aa935207-ff0c-4c7a-ac08-d0d05ea52456 in group orders has failed, \
removing it from the group. {AT_THE_BROKER}
{{"@timestamp":"2026-03-01T10:00:02.634Z","message":"ConsumerConfig values: \\n\\tclient.id = c-2\\n\\tgroup.id = \
orders\\n\\theartbeat.interval.ms = 1500\\n\\tkey.deserial
[2026-03-01 10:00:06,841] INFO {BROKER} Dynamic member with unknown member id joins group orders in Stable state. \
Created a new member id c-2-74c0dfd0-cddc-4f21-8069-4fdc581d32f5 and requesting the member to rejoin with this id. \
{AT_THE_BROKER}
{{"@timestamp":"2026-03-01T10:00:06.860Z","message":"[Consumer clientId=c-2, groupId=orders] Request joining group due \
to: need to re-join with the given member-id: c-2-74c0dfd0-cddc-4f21-8069-4fdc581d32f5","level":"INFO"}}
```
"""


def found(text: str, directory: Path) -> Incident:
    """The one incident of a paste."""
    paste = directory / "paste.txt"
    paste.write_text(text)
    (incident,) = analyze([str(paste)], LOCAL).incidents
    return incident


def causes_in(text: str, directory: Path) -> list[RootCause]:
    """The first cause of each incident of a paste."""
    paste = directory / "paste.txt"
    paste.write_text(text)
    return [incident.root_causes[0] for incident in analyze([str(paste)], LOCAL).incidents]


def test_a_poll_timeout_is_known_by_the_first_half_of_its_line(tmp_path: Path) -> None:
    assert found(POLL_TIMEOUT, tmp_path).root_causes[0].cause == "slow-processing"


def test_an_error_is_known_by_the_beginning_of_its_text(tmp_path: Path) -> None:
    assert found(TOO_LARGE, tmp_path).root_causes[0].cause == "group-max-size"


def test_a_configuration_whose_end_was_cut_off_shows_that_a_new_process_started(tmp_path: Path) -> None:
    first = found(KILLED, tmp_path).root_causes[0]
    assert (first.cause, [culprit.name for culprit in first.culprits]) == ("process-crash", ["c-2"])


SCALED_IN = """\
[2026-03-01 10:00:44,872] INFO [Consumer clientId=c-4, groupId=ord \u2026 consumer is being closed
[2026-03-01 10:00:44,889] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state \
PreparingRebalance with old generation 1 \u2026 up.GroupCoordinator)
[2026-03-01 10:00:44,967] INFO App info kafka.consumer for c-4 unregistered \
(org.apache.kafka.common.utils.AppInfoParser)
[2026-03-01 10:00:45,126] INFO [GroupCoordinator 1]: Stabilized group orders generation 2 (__consumer_offsets-5) with \
4 members (kafka.coor \u2026 up.GroupCoordinator)
"""


def test_a_client_whose_group_was_cut_off_is_in_the_one_group_that_is_named(tmp_path: Path) -> None:
    incident = found(SCALED_IN, tmp_path)
    assert (incident.group, incident.root_causes[0].cause) == ("orders", "scale-in")


def test_no_group_is_given_where_what_is_left_of_it_is_another_one(tmp_path: Path) -> None:
    paste = tmp_path / "paste.txt"
    paste.write_text(SCALED_IN.replace("groupId=ord ", "groupId=pay "))
    incidents = analyze([str(paste)], LOCAL).incidents
    assert all("c-4" not in str(each.root_causes) for each in incidents if each.group == "orders")


def _restart(client: str, second: int) -> str:
    """A client that closes and is started again, its member ids cut."""
    at = f"2026-03-01 10:00:{second:02}"
    back = f"2026-03-01 10:00:{second + 6:02}"
    return f"""\
[{at},100] INFO [Consumer clientId={client}, groupId=orders] Member {client}-aa935207-ff0c-4c7a-ac08-d0d05ea52456 \
sending LeaveGroup re \u2026 ConsumerCoordinator)
[{at},104] INFO {BROKER} [Group orders] Member {client}-aa935207-ff0c-4c7a-ac \u2026 roupMetadataManager)
[{at},105] INFO {BROKER} Preparing to rebalance group orders in state PreparingReba \u2026 roupMetadataManager)
[{at},300] INFO App info kafka.consumer for {client} unregistered (org.apache.kafka.common.utils.AppInfoParser)
[{back},100] INFO {BROKER} Dynamic member with unknown member id joins group ord \u2026 roupMetadataManager)
"""


def test_newcomers_whose_ids_were_cut_off_are_those_that_were_just_away(tmp_path: Path) -> None:
    paste = tmp_path / "paste.txt"
    paste.write_text("".join(_restart(f"c-{number}", 12 * number) for number in (1, 2, 3)))
    causes = [each.root_causes[0].cause for each in analyze([str(paste)], LOCAL).incidents]
    assert "rolling-restart" in causes


MOVED = """\
[2026-03-01 10:00:25,095] INFO [Consumer clientId=c-1, groupId=orders] Group c \u2026 y will be attempted.
[2026-03-01 10:00:25,111] INFO [Consumer clientId=c-2, groupId=orders] Group c \u2026 y will be attempted.
[2026-03-01 10:00:25,328] INFO [Consumer clientId=c-3, groupId=orders] Group c \u2026 y will be attempted.
[2026-03-01 10:00:33,070] INFO [QuorumController id=3] Fencing broker 1 because its session has timed out. \
(org.apache.kafka.controller.ReplicationControlManager)
"""


def test_the_coordinator_that_all_lost_is_the_broker_that_stopped_then(tmp_path: Path) -> None:
    first = found(MOVED, tmp_path).root_causes[0]
    assert (first.cause, [culprit.name for culprit in first.culprits]) == ("coordinator-failover", ["broker-1"])


CAME_BACK = f"""\
[2026-03-01 10:00:33,846] INFO {BROKER} [Group orders] Member c-1-46814d76-a368-447 \u2026 roupMetadataManager)
[2026-03-01 10:00:33,979] INFO {BROKER} Preparing to rebalance group orders in state Pr \u2026 roupMetadataManager)
[2026-03-01 10:00:35,903] INFO {BROKER} Dynamic member with unknown member id joins group ord \u2026 dataManager)
"""


def test_no_cause_is_likely_where_the_reason_for_leaving_was_cut_off(tmp_path: Path) -> None:
    assert found(CAME_BACK, tmp_path).root_causes[0].confidence < 0.5


CLIENT = "orders-9e42b5ba-c664-4a81-ab3a-be662aef5c55"
OTHER_CLIENT = "orders-37e9e207-974d-4bf2-aafc-8d813ef8c0e4"
STREAMS_SCALED_IN = f"""\
[2026-03-01 10:00:02,804] INFO [GroupCoordinator 2]: Stabilized group orders generation 1 (__consumer_offsets-0) with \
6 members (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:00:40,341] INFO stream-client [{CLIENT}] State transition from RUNNING to PENDING_SHUTDOWN (org.apac \
\u2026 treams.KafkaStreams)
[2026-03-01 10:00:40,513] INFO stream-client [{CLIENT}] Streams client stopped completely \
(org.apache.kafka.streams.KafkaStreams)
[2026-03-01 10:00:50,421] INFO [GroupCoordinator 2]: Member {CLIENT}-StreamThread-2-consumer-3ea83921-ec58-4b15-a96 \
\u2026 up.GroupCoordinator)
[2026-03-01 10:00:50,423] INFO [GroupCoordinator 2]: Preparing to rebalance group orders in state PreparingRebalance \
with old generation 1 (__consumer \u2026 up.GroupCoordinator)
[2026-03-01 10:00:51,111] INFO [GroupCoordinator 2]: Stabilized group orders generation 2 (__consumer_offsets-0) with \
4 members (kafka.coordinator.group.GroupCoordinator)
"""


def test_a_streams_instance_that_stopped_is_whose_members_expire(tmp_path: Path) -> None:
    first = found(STREAMS_SCALED_IN, tmp_path).root_causes[0]
    assert (first.cause, [culprit.name for culprit in first.culprits]) == ("scale-in", [CLIENT])
    assert first.narrative.startswith("1 instance shut down cleanly")


PREPARING = f"""\
[2026-03-01 10:00:45,616] INFO {BROKER} Preparing to rebalance group orders in state Pre \u2026 dataManager)
"""


def _streams_restart(client: str, second: int) -> str:
    """An instance that stops, starts and has its old members evicted, whose ids are cut within its own name."""
    return f"""\
[2026-03-01 10:00:{second:02},591] INFO stream-client [{client}] State transition from RUNNING to PENDING_SHUTDOW \
\u2026 ms.KafkaStreams:366)
[2026-03-01 10:00:{second + 5:02},687] INFO StreamsConfig values:\x20
[2026-03-01 10:00:{second + 10:02},615] INFO {BROKER} Member {client[:-3]} \u2026 roupMetadataManager)
"""


def test_members_whose_ids_are_cut_within_the_name_of_their_streams_client_are_its_threads(tmp_path: Path) -> None:
    restarts = _streams_restart(CLIENT, 2) + _streams_restart(OTHER_CLIENT, 35)
    first = found(f"{restarts}{PREPARING}", tmp_path).root_causes[0]
    assert first.cause == "rolling-restart"
    assert {CLIENT, OTHER_CLIENT} <= {name for culprit in first.culprits for name in culprit.names}


def _counts(first: int, *, seconds: int) -> str:
    """A group that grows from two members to three, starting at generation `first`; no line says who joined."""
    return f"""\
[2026-03-01 10:00:01,497] INFO [GroupCoordinator 3]: Stabilized group orders generation {first} \
(__consumer_offsets-5) with 2 members (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:00:{seconds:02},360] INFO [GroupCoordinator 3]: Preparing to rebalance group orders in state \
PreparingRebalance with old generation {first} (__ \u2026 up.GroupCoordinator)
[2026-03-01 10:00:{seconds + 1:02},749] INFO [GroupCoordinator 3]: Stabilized group orders generation {first + 1} \
(__consumer_offsets-5) with 3 members (kafka.coordinator.group.GroupCoordinator)
"""


@pytest.mark.parametrize("first", [1, 4])
def test_a_coordinator_that_counts_more_members_hints_at_a_scale_out(first: int, tmp_path: Path) -> None:
    (cause,) = (c for c in causes_in(_counts(first, seconds=30), tmp_path) if c.cause == "scale-out")
    assert cause.confidence == 0.55
    assert cause.narrative == "The group grew from 2 to 3 members; no line names who joined."


def test_a_group_that_has_just_formed_is_not_scaled_out(tmp_path: Path) -> None:
    assert "scale-out" not in [each.cause for each in causes_in(_counts(1, seconds=10), tmp_path)]


HEARTBEATS = (
    "[kafka-coordinator-heartbeat-thread | orders] org.apache.kafka.clients.consumer.internals.ConsumerCoordinato"
)
POLL_TIMEOUT_WITHOUT_A_NAME = f"""\
2026-03-01T10:00:11.851Z WARN  {HEARTBEATS} \u2026 th max.poll.records.
2026-03-01T10:00:11.852Z INFO  {HEARTBEATS} \u2026 timeout has expired.
[2026-03-01 10:00:11,859] INFO {BROKER} [Group orders] Member c-2-43e1b \u2026 roupMetadataManager)
[2026-03-01 10:00:11,861] INFO {BROKER} Preparing to rebalance group orders in state Pr \u2026 roupMetadataManager)
2026-03-01T10:00:23.930Z INFO  [main] org.apache.kafka.clients.consumer.internals.ConsumerCoordinator - [Consumer \
clientId=c-2, groupI \u2026 30-a4c9-2717dd1e5493
"""


def test_the_client_of_a_heartbeat_thread_is_the_one_that_leaves_at_that_time(tmp_path: Path) -> None:
    first = found(POLL_TIMEOUT_WITHOUT_A_NAME, tmp_path).root_causes[0]
    assert (first.cause, [culprit.name for culprit in first.culprits]) == ("slow-processing", ["c-2"])


WORKER = "connect-10.0.0.7:8083"
WORKER_KILLED = f"""\
[2026-03-01 10:00:10,602] INFO [GroupCoordinator 3]: Member {WORKER}-e82fd2af-87ae-4a7c-b04c-c22c0aa3873c in group cdc \
has failed, remo \u2026 up.GroupCoordinator)
[2026-03-01 10:00:22,613] INFO DistributedConfig values:\x20
[2026-03-01 10:00:24,266] INFO [GroupCoordinator 3]: Dynamic member with unknown member id joins group cdc in Stable \
state. Created a new member id co \u2026 up.GroupCoordinator)
"""


def test_a_process_that_starts_before_a_newcomer_without_a_name_is_the_one_that_was_lost(tmp_path: Path) -> None:
    first = found(WORKER_KILLED, tmp_path).root_causes[0]
    assert (first.cause, [culprit.name for culprit in first.culprits]) == ("process-crash", [WORKER])


TWO_ZONES = """\
2026-03-01 12:00:06.161 ERROR 6 --- [           main] org.media.clicks.Pipeline  : Fatal error, stopping
2026-03-01 12:00:06.250  INFO 6 --- [           main] o.a.k.c.c.internals.ConsumerCoordinator  : [Consumer \
clientId=c-3, groupId=ord \u2026 umer is being closed
[2026-03-01 10:00:06,255] INFO [GroupCoordinator 3]: Preparing to rebalance group orders in state PreparingRebalance \
with old generation 1  \u2026 up.GroupCoordinator)
[2026-03-01 10:00:06,257] INFO [GroupCoordinator 3]: Member MemberMetadata(memberId=\
c-3-27413e05-e1b9-48b1-949c-913075bb5372, groupIns \u2026 up.GroupCoordinator)
2026-03-01 12:00:06.609  INFO 6 --- [           main] o.a.kafka.common.utils.AppInfoParser     : App info \
kafka.consumer for c-3 unregistered
"""


def test_an_application_in_another_zone_than_its_broker_closes_when_the_coordinator_says_so(tmp_path: Path) -> None:
    first = found(TWO_ZONES, tmp_path).root_causes[0]
    assert (first.cause, first.culprits[0].name) == ("member-left", "c-3")
    assert {(iso(line.timestamp) or "")[:13] for line in first.evidence} == {"2026-03-01T10"}


UNSUBSCRIBED = f"""\
[2026-03-01 10:00:33,864] INFO [Consumer clientId=c-1, groupId=orders] Unsubscribed all topics or patterns and \
assigned par \u2026 lassicKafkaConsumer)
{CAME_BACK}"""


def test_a_member_that_unsubscribed_just_before_left_for_that(tmp_path: Path) -> None:
    first = found(UNSUBSCRIBED, tmp_path).root_causes[0]
    assert (first.cause, [culprit.name for culprit in first.culprits]) == ("unsubscribe", ["c-1"])


def test_cut_lines_are_reported_together_with_what_they_hide(tmp_path: Path) -> None:
    paste = tmp_path / "paste.txt"
    paste.write_text(SCALED_IN)
    (gap,) = (gap for gap in analyze([str(paste)], LOCAL).gaps if "cut" in gap.what)
    assert gap.what == "All lines about group orders are cut."
    assert "member ids, generations and reasons" in gap.consequence


def test_no_line_is_called_cut_where_none_is(tmp_path: Path) -> None:
    paste = tmp_path / "paste.txt"
    paste.write_text(SCALED_IN.replace(" \u2026 ", ""))
    assert not any("cut" in gap.what for gap in analyze([str(paste)], LOCAL).gaps)


CLOSED = """\
[2026-03-01 10:00:15,697] INFO [Consumer clientId=c-4, groupId=orders] Member hMmUd \u2026  to PREPARE_LEAVING.
[2026-03-01 10:00:15,700] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=4] [GroupId orders] Member \
hMmUdS4vQBGG8HqmNhbuGg left the consu \u2026 roupMetadataManager)
[2026-03-01 10:00:15,709] INFO [Consumer clientId=c-4, groupId=orders] Completed leaving the group
"""
WITHOUT_ITS_REASON = """\
[2026-03-01 10:00:30,017] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state \
PreparingRebalance with old generation 3 (__cons \u2026 up.GroupCoordinator)
[2026-03-01 10:00:32,126] INFO [GroupCoordinator 1]: Stabilized group orders generation 4 (__consumer_offsets-5) with \
4 members (kafka.coor \u2026 up.GroupCoordinator)
"""


def test_a_member_id_of_the_consumer_protocol_that_was_cut_is_the_one_that_begins_so(tmp_path: Path) -> None:
    first = found(CLOSED, tmp_path).root_causes[0]
    assert (first.cause, [culprit.name for culprit in first.culprits]) == ("scale-in", ["c-4"])


def test_a_truncated_reason_is_not_reported_as_missing_from_the_log(tmp_path: Path) -> None:
    first = found(WITHOUT_ITS_REASON, tmp_path).root_causes[0]
    assert first.cause == "unexplained"
    assert "left out" in first.narrative
    assert "release" not in first.narrative
