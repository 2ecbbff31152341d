"""librdkafka and its like say what happened to a member without saying of which group: it is reported all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.conclusions import conclusion
from rebalance_forensics.report.model import Report

MAXPOLL = (
    "%4|1795169730.678|MAXPOLL|{name}#consumer-1| [thrd:main]: Application maximum poll interval (180000ms) exceeded by"
    " 88ms (adjust max.poll.interval.ms for long-running message processing): leaving group"
)
SESSTMOUT = (
    "%4|1795169730.678|SESSTMOUT|rdkafka#consumer-1| [thrd:main]: Consumer group session timed out (in join-state"
    " steady) after 45031 ms without a successful response from the group coordinator (broker 2, last error was"
    " {error}): revoking assignment and rejoining group"
)
BROKER = "[2026-11-20 10:{time},000] INFO [GroupCoordinator 2]: {text} (kafka.coordinator.group.GroupCoordinator)"
JAVA = "2026-11-20 10:15:30,678 INFO  o.a.k.c.c.i.AbstractCoordinator - "
GO = "2026/11/20 10:15:30 "
FORGOTTEN = "The provided member is not known in the current generation"
FRANZ = "2026-11-20T10:15:30.123Z ERROR default commit failed; group: payments, err: "
BROD = "2026-11-20 10:15:30.678 [info] Group member (payments,coor=<0.4032.0>,cb=<0.4021.0>,generation=5): "


def report_on(directory: Path, **logs: str) -> Report:
    """What is found in logs of these names."""
    for name, text in logs.items():
        (directory / f"{name}.log").write_text(text + "\n", encoding="utf-8")
    return analyze([str(directory)], AnalyzeOptions(engine="local"))


def causes(report: Report) -> list[str]:
    """The likeliest cause of each incident."""
    return [incident.root_causes[0].cause for incident in report.incidents]


def test_a_lone_maxpoll_line_is_slow_processing_of_that_client(tmp_path: Path) -> None:
    report = report_on(tmp_path, app=MAXPOLL.format(name="rdkafka"))
    (group,) = report.groups
    assert (group.group, group.named) == ("group not named, client rdkafka#consumer-1", False)
    (cause,) = report.incidents[0].root_causes
    assert cause.cause == "slow-processing"
    assert [(line.path, line.line) for line in cause.evidence] == [("app.log", 1)]
    assert "180000 ms" in cause.narrative


def test_that_no_line_names_the_group_is_a_gap(tmp_path: Path) -> None:
    gaps = [gap.what for gap in report_on(tmp_path, app=MAXPOLL.format(name="rdkafka")).gaps]
    assert "No line names the group of client rdkafka#consumer-1." in gaps
    assert not any("group group" in gap for gap in gaps)


def test_a_lone_session_timeout_has_rivals_and_its_process_did_not_crash(tmp_path: Path) -> None:
    (incident,) = report_on(tmp_path, app=SESSTMOUT.format(error="Success")).incidents
    found = {cause.cause for cause in incident.root_causes}
    assert {"process-pause", "network-partition"} <= found
    assert "process-crash" not in found
    assert sum(cause.confidence for cause in incident.root_causes) <= 1


def test_a_client_that_gave_its_session_up_and_logs_on_may_have_been_cut_off_as_well_as_paused(tmp_path: Path) -> None:
    """Librdkafka logs the same in both cases: a request to a broker out of reach takes 60 s to time out."""
    lost, later = SESSTMOUT.format(error="Success"), "%6|1795169750.678|APP|rdkafka#consumer-1| [thrd:x]: x/0: sent"
    (incident,) = report_on(tmp_path, app=f"{lost}\n{later}").incidents
    confidences = {cause.cause: cause.confidence for cause in incident.root_causes}
    assert {"process-pause", "network-partition"} <= confidences.keys()
    assert max(confidences.values()) < 0.5


def test_a_session_that_ended_in_transport_failures_was_cut_off(tmp_path: Path) -> None:
    assert causes(report_on(tmp_path, app=SESSTMOUT.format(error="Local: Broker transport failure"))) == [
        "network-partition"
    ]


def test_two_clients_of_one_process_are_two_groups_until_a_line_says_otherwise(tmp_path: Path) -> None:
    one = MAXPOLL.format(name="rdkafka")
    report = report_on(tmp_path, app=f"{one}\n{one.replace('consumer-1', 'consumer-2')}")
    assert [group.group for group in report.groups] == [
        "group not named, client rdkafka#consumer-1",
        "group not named, client rdkafka#consumer-2",
    ]


def test_a_consumer_is_not_blamed_for_the_poll_timeout_of_another_in_its_process(tmp_path: Path) -> None:
    lost = SESSTMOUT.replace("rdkafka#consumer-1", "orders-1#consumer-1").format(error="Success")
    report = report_on(tmp_path, app="\n".join([lost, MAXPOLL.format(name="orders-2")]))
    late = [i.root_causes[0].culprits for i in report.incidents if i.root_causes[0].cause == "slow-processing"]
    assert [[culprit.name for culprit in culprits] for culprits in late] == [["orders-2"]]


def test_clients_with_the_same_name_are_distinguished_by_their_logs(tmp_path: Path) -> None:
    line = MAXPOLL.format(name="rdkafka")
    report = report_on(tmp_path, one=line, two=line.replace("1795169730.678", "1795169731.112"))
    assert [group.group for group in report.groups] == [
        "group not named, client rdkafka#consumer-1 on one",
        "group not named, client rdkafka#consumer-1 on two",
    ]


def test_a_producer_that_lost_its_brokers_is_no_member_of_a_group(tmp_path: Path) -> None:
    line = (
        "%3|1795169710.680|FAIL|rdkafka#producer-1| [thrd:b2:9092/2]: b2:9092/2: Disconnected (after 12ms in state UP)"
    )
    report = report_on(tmp_path, app=line)
    assert not report.groups
    assert "no line names a consumer group or shows what a member of one did" in str(conclusion(report))


def test_a_java_consumer_without_a_group_is_not_reported_as_a_group(tmp_path: Path) -> None:
    line = (
        "[2026-11-20 10:15:30,678] INFO [Consumer clientId=restore-1, groupId=null] Node -1 disconnected. "
        "(org.apache.kafka.clients.NetworkClient)"
    )
    assert not report_on(tmp_path, app=line).groups


@pytest.mark.parametrize("client", ["rdkafka", "billing"])
def test_the_coordinator_that_lost_the_client_at_that_moment_names_its_group(tmp_path: Path, client: str) -> None:
    member = f"{client}-0000c1b2-1111-4c22-9d3a-aabbccddeeff"
    left = f"Member {member} in group payments has left, removing it from the group"
    report = report_on(tmp_path, app=MAXPOLL.format(name=client), server=BROKER.format(time="15:30", text=left))
    assert [group.group for group in report.groups] == ["payments"]
    assert causes(report) == ["slow-processing"]


@pytest.mark.parametrize(("rejoined", "away"), [("15:30,700", None), ("15:41,500", "out of the group for 10.8 s")])
def test_lines_that_a_client_gets_from_its_next_poll_do_not_show_for_how_long_it_was_out(
    tmp_path: Path, rejoined: str, away: str | None
) -> None:
    joined = (
        "JoinGroup response: GenerationId 3, Protocol range, LeaderId x-1, my MemberId "
        "orders-1-0000c1b2-1111-4c22-9d3a-aabbccddeeff, member metadata count 0: (no error)"
    )
    line = "2026-11-20 10:{} {} rdkafka: {} [orders-1#consumer-1] [thrd:main]: {}".format
    late = (
        line("15:30,678", "WARNING", "MAXPOLL", MAXPOLL.partition("[thrd:main]: ")[2]),
        line("15:30,679", "DEBUG", "LEAVE", 'Group "payments": leave (in state up)'),
        line(rejoined, "DEBUG", "JOINGROUP", joined),
    )
    (incident,) = report_on(tmp_path, app="\n".join(late)).incidents
    assert "(180000 ms)" in incident.summary
    assert ("out of the group" in incident.summary) is (away is not None)
    assert (away or "") in incident.summary


KIP_848 = (
    "[2026-11-20 10:{time}] INFO [GroupCoordinator id=2 topic=__consumer_offsets partition=0] [GroupId payments] "
    "Member YQmpCjEuRwuR+A8JuwlMMw {text} the consumer group{rest}. (o.a.k.coordinator.group.GroupMetadataManager)"
)


@pytest.mark.parametrize(("others", "names"), [((), ["orders-2"]), (("orders-1",), ["YQmpCjEuRwuR+A8JuwlMMw"])])
def test_a_member_whose_id_was_drawn_by_lot_is_the_one_client_whose_poll_timeout_ran_out_as_it_left(
    tmp_path: Path, others: tuple[str, ...], names: list[str]
) -> None:
    joined = KIP_848.format(time="10:00,100", text="joins", rest=" using the consumer protocol")
    left = KIP_848.format(time="15:30,680", text="left", rest="")
    logs = {name: MAXPOLL.format(name=name) for name in ("orders-2", *others)}
    report = report_on(tmp_path, server=f"{joined}\n{left}", **logs)
    slow = [i.root_causes[0] for i in report.incidents if i.group == "payments" and i.root_causes[0].culprits]
    assert [culprit.name for culprit in slow[-1].culprits] == names


def test_a_default_client_id_alone_connects_no_client_to_a_group(tmp_path: Path) -> None:
    member = "rdkafka-0000c1b2-1111-4c22-9d3a-aabbccddeeff"
    left = f"Member {member} in group payments has left, removing it from the group"
    report = report_on(tmp_path, app=MAXPOLL.format(name="rdkafka"), server=BROKER.format(time="05:30", text=left))
    assert [group.group for group in report.groups] == ["group not named, client rdkafka#consumer-1", "payments"]


def test_another_line_of_the_same_client_that_names_the_group_ties_it(tmp_path: Path) -> None:
    asked = (
        '%7|1795169000.678|JOIN|rdkafka#consumer-1| [thrd:main]: Joining group "payments" with 1 subscribed topic(s)'
        ' and member id ""'
    )
    report = report_on(tmp_path, app=f"{asked}\n{MAXPOLL.format(name='rdkafka')}")
    assert [group.group for group in report.groups] == ["payments"]
    assert causes(report) == ["slow-processing"]


def test_a_line_without_a_name_belongs_to_the_one_client_of_its_log(tmp_path: Path) -> None:
    error = "KafkaError{code=_MAX_POLL_EXCEEDED,val=-147,"
    error += 'str="Application maximum poll interval (180000ms) exceeded by 88ms"}'
    report = report_on(tmp_path, app=f"{MAXPOLL.format(name='rdkafka')}\n2026-11-20 10:15:31,000 ERROR app {error}")
    assert [group.group for group in report.groups] == ["group not named, client rdkafka#consumer-1"]


def test_a_streams_thread_names_its_application(tmp_path: Path) -> None:
    line = (
        "[2026-11-20 10:15:30,678] INFO stream-thread [orders-app-0000c1b2-1111-4c22-9d3a-aabbccddeeff-StreamThread-1] "
        "State transition from RUNNING to PENDING_SHUTDOWN (org.apache.kafka.streams.processor.internals.StreamThread)"
    )
    (group,) = report_on(tmp_path, app=line).groups
    assert (group.group, group.named, group.kind) == ("orders-app", True, "streams")


def advice_in(report: Report) -> str:
    """Everything that is advised."""
    return " ".join(
        sentence
        for incident in report.incidents
        for cause in incident.root_causes
        for advice in cause.advice
        for sentence in (advice.action, advice.why, advice.cost or "")
    )


def test_a_poll_timeout_without_a_figure_is_given_none(tmp_path: Path) -> None:
    line = "2026-11-20 10:15:30,678 WARNING kafka.coordinator Heartbeat poll expired, leaving group"
    report = report_on(tmp_path, app=line)
    assert causes(report) == ["slow-processing"]
    assert "300" not in advice_in(report)
    assert "5 min" not in advice_in(report)
    assert "the logs do not show its value" in advice_in(report)


def test_a_session_timeout_that_no_log_shows_is_no_default_of_another_client(tmp_path: Path) -> None:
    advice = advice_in(report_on(tmp_path, app=SESSTMOUT.format(error="Success")))
    assert "the session timeout is not in the logs (default of librdkafka: 10 or 45 s, by release)" in advice
    assert "The coordinator received no heartbeat" not in advice


def test_a_member_whose_heartbeat_was_answered_with_unknown_member_id_did_not_crash(tmp_path: Path) -> None:
    line = (
        '{"level":"ERROR","timestamp":"2026-11-20T10:15:30.678Z","logger":"kafkajs","message":"[Connection] Response '
        'Heartbeat(key: 12, version: 3)","broker":"b2:9092","clientId":"shop","error":"The coordinator is not aware of '
        'this member","correlationId":10,"size":10}'
    )
    report = report_on(tmp_path, app=line)
    assert [group.group for group in report.groups] == ["group not named, client shop"]
    assert "process-crash" not in {cause.cause for one in report.incidents for cause in one.root_causes}


def test_a_java_client_before_1_0_names_its_group_in_another_line_of_its_log(tmp_path: Path) -> None:
    where = "(org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"
    report = report_on(
        tmp_path,
        app=f"[2026-11-20 10:15:30,678] INFO Marking the coordinator 2147483645 dead. {where}\n"
        "[2026-11-20 10:15:31,678] INFO Attempt to join group payments failed due to unknown member id, "
        f"resetting and retrying. {where}",
    )
    assert [group.group for group in report.groups] == ["payments"]


@pytest.mark.parametrize(
    "line",
    [
        f"{GO}consumergroup/payments: lost ownership of map[orders:[0 1]] due to kafka server: {FORGOTTEN}",
        f"{GO}Failed to join group payments: [25] Unknown Member ID: the member id is not in the current generation",
        f"{BROD}re-joining group, reason:unknown_member_id",
        f"{JAVA}Attempt to join group payments failed due to unknown member id, resetting and retrying.",
        f"{JAVA}Attempt to heartbeat failed for group payments since member id is not valid.",
    ],
    ids=["Sarama", "segmentio", "brod", "Java 0.10, joining", "Java 0.10, heartbeat"],
)
def test_one_line_of_a_client_that_is_no_longer_known_is_a_lost_membership(tmp_path: Path, line: str) -> None:
    (incident,) = report_on(tmp_path, app=line).incidents
    found = {cause.cause for cause in incident.root_causes}
    assert {"process-pause", "network-partition", "slow-processing"} <= found
    assert "process-crash" not in found
    assert all([one.line for one in cause.evidence] == [1] for cause in incident.root_causes)
    assert incident.root_causes[0].confidence < 0.5


@pytest.mark.parametrize(
    "line",
    [
        f"{FRANZ}UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.",
        f"{JAVA}Error UNKNOWN_MEMBER_ID occurred while committing offsets for group payments",
    ],
    ids=["franz-go", "Java 0.9"],
)
def test_a_commit_that_is_the_first_to_be_refused_was_likely_late(tmp_path: Path, line: str) -> None:
    (incident,) = report_on(tmp_path, app=line).incidents
    assert incident.root_causes[0].cause == "slow-processing"
    assert incident.root_causes[0].confidence < 0.5
    assert {"process-pause", "network-partition"} <= {cause.cause for cause in incident.root_causes[1:]}


def test_a_commit_that_fails_amid_a_rebalance_loses_no_membership(tmp_path: Path) -> None:
    line = f"{FRANZ}REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed."
    report = report_on(tmp_path, app=line)
    assert [group.group for group in report.groups] == ["payments"]
    (incident,) = report.incidents
    assert (incident.severity, incident.root_causes[0].cause) == ("info", "unexplained")
    assert not incident.root_causes[0].culprits


HEARTBEAT = "2026-11-20 10:15:30,678 DEBUG kafka.coordinator Heartbeat: payments[7] orders-1-0000c1b2-1111-4c22"
CONFIGURED = (
    "2026-11-20 10:15:30,678 INFO  o.a.k.c.consumer.ConsumerConfig - ConsumerConfig values:\n\tgroup.id = payments"
)
REJOINS = "2026-11-20 10:15:40,678 INFO kafka.coordinator (Re-)joining group payments"


@pytest.mark.parametrize("line", [HEARTBEAT, CONFIGURED])
def test_a_group_of_which_a_log_shows_nothing_but_the_name_is_named_all_the_same(tmp_path: Path, line: str) -> None:
    report = report_on(tmp_path, app=line)
    assert [group.group for group in report.groups] == ["payments"]
    assert any(gap.what.startswith("Too little to judge group payments") for gap in report.gaps)


def test_a_group_whose_members_log_lines_is_not_listed_again_as_mentioned(tmp_path: Path) -> None:
    quiet = report_on(tmp_path, app=HEARTBEAT, other=REJOINS)
    sentences = next(gap.what for gap in quiet.gaps if "Too little to judge" in gap.what)
    assert "1 line mentions it" in sentences


def test_a_topic_that_grew_in_librdkafkas_metadata_is_what_its_group_rebalanced_for(tmp_path: Path) -> None:
    head = "%{}|17951697{}|{}|c1#consumer-1| [thrd:main]: {}"
    group, changed = 'Group "payments"', "Metadata for subscribed topic(s) has changed"
    steady = f"{group} initiating rebalance (EAGER) in state up (join-state steady) with 4 assigned partition(s): "
    lines = (
        head.format(
            7, "03.200", "JOIN", 'b1:9092/1: Joining group "payments" with 1 subscribed topic(s) and member id ""'
        ),
        head.format(5, "30.678", "PARTCNT", "Topic orders partition count changed from 4 to 6"),
        head.format(7, "30.700", "REBALANCE", steady + changed),
    )
    cause = report_on(tmp_path, app="\n".join(lines)).incidents[-1].root_causes[0]
    assert cause.cause == "topic-metadata-change"
    assert [culprit.name for culprit in cause.culprits] == ["orders"]


def test_a_topic_without_partitions_in_a_members_metadata_may_be_deleted_without_debug_lines(tmp_path: Path) -> None:
    changed = "%5|1795169730.678|PARTCNT|rdkafka#{}-1| [thrd:main]: Topic orders partition count changed from 4 to 0"
    (incident,) = report_on(tmp_path, app=changed.format("consumer")).incidents
    cause = incident.root_causes[0]
    assert (cause.cause, incident.severity, cause.confidence < 0.75) == ("topic-metadata-change", "warning", True)
    assert [culprit.name for culprit in cause.culprits] == ["orders"]
    assert not report_on(tmp_path, app=changed.format("producer")).incidents


def test_an_error_that_a_program_prints_is_of_the_client_that_logged_the_same_at_that_moment(tmp_path: Path) -> None:
    first = MAXPOLL.format(name="orders")
    second = MAXPOLL.format(name="returns").replace("1795169730", "1795169990")
    printed = (
        "2026-11-20 10:15:30,679 ERROR shop: Consumer error: KafkaError{code=_MAX_POLL_EXCEEDED,val=-147,"
        'str="Application maximum poll interval (180000ms) exceeded by 88ms"}'
    )
    report = report_on(tmp_path, app=f"{first}\n{printed}\n{second}")
    assert sorted(i.root_causes[0].culprits[0].name for i in report.incidents) == ["orders", "returns"]


def test_a_poll_timeout_whose_prefix_lost_its_group_is_still_that_of_a_member(tmp_path: Path) -> None:
    timeout = (
        "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
        "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
        "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
        "maximum size of batches returned in poll() with max.poll.records."
    )
    report = report_on(tmp_path, app=f"{JAVA}[Consumer clientId=orders-1] {timeout}")
    assert (report.groups[0].group, causes(report)) == ("group not named, client orders-1", ["slow-processing"])


def test_a_member_that_only_its_id_names_is_called_by_the_client_id_in_it(tmp_path: Path) -> None:
    left = (
        "Member orders-1-05ba4dd6-3a98-4ea8-91eb-003ee4fc7aca sending LeaveGroup request to coordinator kafka-2:9092 "
        "(id: 2147483645 rack: null) due to consumer poll timeout has expired."
    )
    (cause,) = report_on(tmp_path, app=f"{JAVA}{left}").incidents[0].root_causes
    assert [culprit.name for culprit in cause.culprits] == ["orders-1"]
