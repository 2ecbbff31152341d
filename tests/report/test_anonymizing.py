from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from rebalance_forensics.pipeline.tables.rows import history_rows, incident_rows
from rebalance_forensics.report import terminal
from rebalance_forensics.report.anonymizing import anonymized
from rebalance_forensics.report.exports import formats
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from rebalance_forensics.timeline.model import Lane, Mark, Span
from tests.report.building import a_lane, a_line, at, crash_report, payments
from tests.report.extremes import many_groups
from tests.report.weighed import an_open_case

SECRETS = ("payments", "5b1c0000", "10.0.0", "orders", "on prod", '"prod"', "app.log", "server.log")

LINES = (
    (
        "[Consumer instanceId=till-7, clientId=acme-checkout-1, groupId=acme-checkout] Discovered group coordinator "
        "kafka-3.acme.internal:9092 (id: 2147483644 rack: eu-west-1b)"
    ),
    (
        "Dynamic member with unknown member id joins group acme-audit in Empty state. Created a new member id "
        "acme-checkout-1-1b4e28ba-2fa1-41d2-883f-0016d3cca427 for this member"
    ),
    "[GroupCoordinator 3]: Preparing to rebalance group acme-audit in state PreparingRebalance with old generation 3",
    (
        "Setting offset for partition invoices-7 to the committed offset FetchPosition{offset=1, "
        "currentLeader=LeaderAndEpoch{leader=Optional[kafka-3.acme.internal:9092 (id: 3 rack: null)], epoch=0}}"
    ),
    "Connection to node 3 (kafka-3.acme.internal/10.77.1.9:9092) could not be established",
    "Request joining group due to: subscription has changed from [clicks] at the beginning of the rebalance to [carts]",
    "cached metadata has changed from (version48: {visits=[NO_RACKS]}) at the beginning of the rebalance to (version51",
    "Subscribed to topic(s): sales.eu, sales.us",
    "Adding newly assigned partitions: returns-0, __consumer_offsets-13",
    "Connection from /2001:db8:85a3::8a2e:370:7334 for User:alice was refused",
    "stream-thread [acme-billing-1b4e28ba-2fa1-41d2-883f-0016d3cca427-StreamThread-2] State transition",
    "Topic authorization failed for topics [refunds, chargebacks]",
    "Cluster ID: MkU3OEVBNTcwNTJENDM2Qk, c.acme.billing.Charger and com.acme.billing.Main failed",
    "group.id = acme-checkout, client.id = acme-checkout-1, bootstrap.servers = [kafka-3.acme.internal:9092]",
)
TOPICS = ("refunds", "chargebacks", "clicks", "carts", "visits", "sales", "returns")
IN_LINES = (
    "acme",
    "till-7",
    "10.77",
    "2001:db8",
    "alice",
    "1b4e28ba",
    "eu-west",
    "internal",
    "MkU3",
    "Charger",
    "invoices-7",
    *TOPICS,
)


def told_in_lines() -> Report:
    """The crash, with names that stand nowhere but in log lines, and a topic that pauses know."""
    pause = replace(payments().pauses[0], partitions=("invoices-7",))
    marks = tuple(
        Mark(at=at(number), kind="line", label=text, severity="plain", evidence=a_line("b.log", number, number, text))
        for number, text in enumerate(LINES, 1)
    )
    lane = replace(a_lane(1), marks=marks)
    return replace(crash_report(), groups=(replace(payments(), pauses=(pause,), lanes=(lane,)),))


def everything(report: Report) -> str:
    """Every output of `analyze`, and the report as the other commands would show it."""
    exports = [one(report) for one in formats().values()]
    shown = [terminal.render(report, verbosity=1), terminal.render(report, why=True)]
    shown += [terminal.render_coverage(report.inputs), *map(terminal.render_timeline, report.groups)]
    shown += [terminal.render_whois(report, member.name) for group in report.groups for member in group.identities]
    rows = [row for incident in report.incidents for _, row in incident_rows(incident)]
    rows += [row for group in report.groups for _, row in history_rows(group)]
    tables = [str({**row, "id": "a hash, which may spell anything"}) for row in rows]
    return "\n".join([to_json(report), to_html(report), *shown, *tables, *exports])


@pytest.mark.parametrize("report", [crash_report(), many_groups(12)])
def test_no_name_is_left_in_any_output(report: Report) -> None:
    text = everything(anonymized(report))
    assert [secret for secret in SECRETS if secret in text] == []


def test_requested_and_searched_logs_contain_no_names() -> None:
    """Names that stand nowhere else: a member whose log is missing, a file that only a sign was looked for in."""
    case = an_open_case()
    needed = replace(case.would_decide[0], needs="the log of client zapf-42 of acme", who="zapf-42 of acme")
    looked_in = tuple(replace(one, path="acme/zapf.log") for one in case.ruled_out[0].looked_in)
    signs = tuple(replace(row, looked_in=looked_in) for row in case.signs)
    affected = tuple(replace(one, affected=("zapf-43",)) for one in case.root_causes)
    case = replace(
        case, root_causes=affected, would_decide=(needed,), signs=signs,
        ruled_out=(replace(case.ruled_out[0], looked_in=looked_in),),
    )  # fmt: skip
    report = anonymized(replace(crash_report(), incidents=(case,)))
    text = everything(report) + terminal.render_incident(report.incidents[0])
    assert [secret for secret in (*SECRETS, "acme", "zapf") if secret in text] == []
    (open_case,) = report.incidents
    assert open_case.would_decide[0].between == case.would_decide[0].between
    assert [row.weighs for row in open_case.signs] == [row.weighs for row in case.signs]


def test_a_group_that_is_called_like_a_cause_changes_no_cause() -> None:
    case = replace(an_open_case(), group="process-crash")
    report = anonymized(replace(crash_report(), incidents=(case,)))
    assert report.incidents[0].would_decide[0].between == ("process-crash", "network-partition")
    assert report.incidents[0].signs[1].weighs == case.signs[1].weighs


def test_names_that_appear_only_in_log_text_are_found() -> None:
    text = everything(anonymized(told_in_lines()))
    assert [secret for secret in IN_LINES if secret in text] == []


KINDS = (
    (
        "a host before its address",
        "Connection to node 3 (kafka-3.acme.internal/10.77.1.9) failed",
        ("kafka-3", "10.77"),
    ),
    ("a host without a port", "java.net.UnknownHostException: kafka-7.acme.lan: unknown", ("kafka-7", "acme")),
    ("a host without a domain", "Cannot resolve zebra-9, host zebra-9 is down", ("zebra",)),
    ("an internal domain", "Lookup of zebra.payments.svc.cluster.local failed", ("zebra", "cluster.local")),
    (
        "a mail address",
        "Alert sent to oncall@zebra.example, bob.jones+kafka@mail.zebra.co.uk",
        ("oncall", "bob", "zebra"),
    ),
    ("a Kerberos principal", "GSS principal kafka/broker7.zebra.lan@ZEBRA.LAN denied", ("broker7", "zebra", "ZEBRA")),
    (
        "a distinguished name",
        "Handshake with CN=pay.zebra.com, OU=Tills, O=Zebra Ltd, L=Ulm, C=DE failed",
        ("pay.", "zebra", "Tills", "Zebra", "Ulm", "=DE"),
    ),
    (
        "a principal from a certificate",
        "Authenticated User:CN=alice.smith,OU=Tills,O=Zebra",
        ("alice", "Tills", "Zebra"),
    ),
    ("IPv6", "Connection from 2001:db8:85a3:1:2:8a2e:370:7334 refused", ("2001", "85a3", "7334")),
    ("IPv6 with a port, nine parts", "Connection from 2001:db8:85a3:1:2:8a2e:370:7334:9092 refused", ("2001", "7334")),
    (
        "a URL",
        "jdbc:postgresql://zebra-1.lan:5432/x and http://alice:secret@schema.zebra.io/",
        ("zebra", "alice", "secret"),
    ),
)


@pytest.mark.parametrize(
    ("text", "secrets"), [(text, secrets) for _, text, secrets in KINDS], ids=[k[0] for k in KINDS]
)
def test_no_kind_of_name_is_left_in_any_output(text: str, secrets: Sequence[str]) -> None:
    line = a_line("b.log", 1, 1, text)
    lane = replace(a_lane(1), marks=(Mark(at=at(1), kind="line", label=text, severity="plain", evidence=line),))
    crash = crash_report()
    first, *others = crash.incidents[1].root_causes
    first = replace(first, narrative=f"It failed: {text}", evidence=(line, *first.evidence))
    incident = replace(crash.incidents[1], summary=f"It failed: {text}", root_causes=(first, *others))
    report = replace(crash, groups=(replace(payments(), lanes=(lane,)),), incidents=(crash.incidents[0], incident))
    assert all(secret in everything(report) for secret in secrets)
    shown = everything(anonymized(report))
    assert [secret for secret in secrets if secret in shown] == []


def test_settings_times_and_classes_look_like_no_host() -> None:
    message = "at 10:00:00 max.poll.interval.ms and group.id of org.apache.kafka.clients.consumer were read by java.io"
    assert in_log_lines(message) == [message]


def test_a_log_line_keeps_its_meaning() -> None:
    lane: Lane = anonymized(told_in_lines()).groups[0].lanes[0]
    texts = [mark.evidence.text for mark in lane.marks]
    assert "Discovered group coordinator" in texts[0]
    assert "(id: 2147483644 rack:" in texts[0]
    assert "joins group group-" in texts[1]
    assert texts[2].endswith("in state PreparingRebalance with old generation 3")
    assert "[GroupCoordinator 3]" in texts[2]
    assert texts[3].startswith("Setting offset for partition topic-1-7 to the committed offset FetchPosition{offset=1")
    assert "-StreamThread-2] State transition" in texts[10]
    assert texts[8].endswith("-0, __consumer_offsets-13")


def test_one_name_has_one_pseudonym_everywhere() -> None:
    report = anonymized(crash_report())
    culprit = report.incidents[1].root_causes[0].culprits[0]
    assert culprit.name == report.groups[0].lanes[2].name == report.groups[0].generations[0].members[1].client_id
    assert culprit.name in report.incidents[1].summary
    assert report.inputs[2].path.startswith(f"{culprit.name}/")
    assert report.incidents[1].root_causes[0].evidence[0].path == report.inputs[2].path


def test_the_same_report_gets_the_same_pseudonyms() -> None:
    assert anonymized(many_groups(12)) == anonymized(many_groups(12))


def test_our_own_words_and_all_numbers_stay() -> None:
    before, after = crash_report(), anonymized(crash_report())
    assert [one.root_causes[0].cause for one in after.incidents] == ["startup", "process-crash"]
    cost = replace(
        before.incidents[1].impact, longest_unread_partition=after.incidents[1].impact.longest_unread_partition
    )
    assert after.incidents[1].impact == cost
    assert "orders" not in str(cost.longest_unread_partition)
    assert after.incidents[1].id == before.incidents[1].id
    assert [one.lines for one in after.inputs] == [one.lines for one in before.inputs]
    assert after.groups[0].coordinators == before.groups[0].coordinators


def test_two_groups_do_not_become_one() -> None:
    assert len({one.group for one in anonymized(many_groups(30)).groups}) == 30


def test_a_pseudonym_is_nobodys_real_name() -> None:
    history = replace(payments(), group="group-1")
    report = anonymized(
        replace(crash_report(), groups=(payments(), history)), [("topic-1", "topic"), ("shop", "topic")]
    )
    assert [one.group for one in report.groups] == ["group-2", "group-3"]


def test_a_cluster_without_a_name_gets_none() -> None:
    history = replace(payments(), cluster="default")
    assert anonymized(replace(crash_report(), groups=(history,))).groups[0].cluster == "default"


@pytest.mark.parametrize("path", ["-", "a"])
def test_a_log_with_the_shortest_of_names_is_renamed_in_no_other_word(path: str) -> None:
    report = crash_report()
    summary = f"payments-2 was evicted (looked in {path}); see {path}:12."
    named = replace(
        report,
        inputs=(replace(report.inputs[0], path=path),),
        incidents=(replace(report.incidents[0], summary=summary),),
    )
    renamed = anonymized(named)
    file = renamed.inputs[0].path
    assert renamed.incidents[0].summary == f"client-2 was evicted (looked in {file}); see {file}:12."
    assert (file == path) == (path == "-")


def in_log_lines(*lines: str, names: Sequence[tuple[str, str]] = ()) -> list[str]:
    """Anonymize lines of a log, and say how they read then."""
    marks = tuple(
        Mark(at=at(number), kind="line", label=text, severity="plain", evidence=a_line("b.log", number, number, text))
        for number, text in enumerate(lines, 1)
    )
    report = replace(crash_report(), groups=(replace(payments(), lanes=(replace(a_lane(1), marks=marks),)),))
    return [mark.evidence.text for mark in anonymized(report, names).groups[0].lanes[0].marks]


def test_a_name_may_hold_blanks_slashes_and_signs() -> None:
    member, group, client = "2j1ZFwaVQa/SYVS+c89xM4Q", "night shift / eu", "café #1"
    texts = in_log_lines(
        f"[GroupId {group}] Member {member} left the consumer group.",
        f'{{"message": "clientId=caf\\u00e9 #1, groupId={group}"}}',
        names=[(member, "member"), (group, "group"), (client, "client")],
    )
    assert texts == ["[GroupId group-2] Member member-1 left the consumer group.", texts[1]]
    assert not any(secret in texts[1] for secret in ("caf", "night", "shift"))


def test_a_stack_trace_names_no_class_of_the_application() -> None:
    kafkas = "at org.apache.kafka.clients.consumer.KafkaConsumer.poll(KafkaConsumer.java:1)"
    trace = f"at com.acme.Billing.charge(Billing.java:52)\n\t{kafkas}"
    assert in_log_lines(trace) == [f"at class-1.charge(class-1.java:52)\n\t{kafkas}"]
    assert in_log_lines("at launcher//Main.run(Main.kt:3)") == ["at launcher//class-1.run(class-1.kt:3)"]


def test_paths_on_a_disk_are_renamed_part_by_part() -> None:
    (text,) = in_log_lines(
        "Created log for partition clicks-1 in /srv/acme/data-1/clicks-1, read file:/etc/acme/x.yaml"
    )
    assert text == (
        "Created log for partition topic-2-1 in /directory-1/directory-2/directory-3-1/topic-2-1, "
        "read file:/directory-4/directory-2/file-4.yaml"
    )


def test_settings_keep_numbers_and_words_of_kafkas() -> None:
    (text,) = in_log_lines(
        "values: \n\tauto.offset.reset = latest\n\tssl.keystore.location = /etc/acme.jks\n\tclient.rack = cellar-9"
        "\n\tkey.deserializer = class org.apache.kafka.common.serialization.StringDeserializer"
        "\n\tmax.poll.records = 500\n\tsecurity.protocol = SASL_SSL\n\tservice.name = zebra"
    )
    assert not any(secret in text for secret in ("acme", "cellar", "zebra"))
    assert "auto.offset.reset = latest\n" in text
    assert "class org.apache.kafka.common.serialization.StringDeserializer\n" in text
    assert "max.poll.records = 500\n\tsecurity.protocol = SASL_SSL" in text


def test_what_kafka_makes_from_a_name_is_made_from_its_pseudonym() -> None:
    process = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
    client = f"payments-{process}-StreamThread-2-consumer"
    changelog = "payments-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog"
    texts = in_log_lines(
        f"[Consumer clientId={client}, groupId=payments] Lost {changelog}-4, payments-counts-repartition-0",
        "broker-3: member left, payments-1b4e28ba…-StreamThread-2-consumer",
        names=[(client, "client"), (changelog, "topic"), ("payments-counts-repartition", "topic")],
    )
    made = "group-1-id-1-StreamThread-2-consumer"
    assert texts[0] == (
        f"[Consumer clientId={made}, groupId=group-1] "
        "Lost group-1-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog-4, group-1-store-1-repartition-0"
    )
    assert texts[1] == f"broker-3: member left, {made}"


def test_words_of_kafka_that_are_also_names_are_renamed_where_they_are_names() -> None:
    texts = in_log_lines(
        "[Consumer clientId=client, groupId=group] consumer poll timeout has expired; a client left the group",
        "Stabilized group group generation 2",
        names=[("group", "group"), ("client", "client")],
    )
    assert texts == [
        "[Consumer clientId=client-1, groupId=group-2] consumer poll timeout has expired; a client left the group",
        "Stabilized group group-2 generation 2",
    ]


@pytest.mark.parametrize("word", ["closed", "session-expired", "poll-timeout", "removed-by-admin", "vanished"])
def test_why_a_member_was_out_of_its_group_is_nobodys_name(word: str) -> None:
    away = Span(started_at=at(1), ended_at=at(2), kind="away", label=f"out of the group: {word}")
    crash = crash_report()
    named = replace(
        crash,
        groups=(replace(payments(), lanes=(replace(a_lane(1), spans=(away,)),)),),
        incidents=(replace(crash.incidents[1], summary=f"payments-2 was {word} and {word} again."),),
    )
    renamed = anonymized(named)
    assert renamed.groups[0].lanes[0].spans[0].label == away.label
    assert renamed.incidents[0].summary == f"client-2 was {word} and {word} again."


def test_a_group_that_is_called_closed_is_renamed_where_it_is_a_name() -> None:
    reason = "client reason: the consumer is being closed"
    texts = in_log_lines(
        f"Preparing to rebalance group closed ({reason})",
        f"[Group closed] Member a-1 has left group; {reason}",
        names=[("closed", "group")],
    )
    assert texts[0] == f"Preparing to rebalance group group-2 ({reason})"
    assert texts[1].startswith("[Group group-2] Member ")
    assert texts[1].endswith(reason)


def test_a_name_inside_another_word_is_no_name_left_over() -> None:
    (text,) = in_log_lines("Deleted topic dlq-payments-v2 and prod.payments-3")
    assert "payments" not in text
    assert text.endswith("-3")


def test_tasks_of_streams_keep_their_numbers() -> None:
    assert in_log_lines("Assigned tasks [0_1, 1_2]", names=[("0_1", "assignment")]) == ["Assigned tasks [0_1, 1_2]"]
