from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.cluster.incidents import cluster_incidents
from rebalance_forensics.diagnosis.cluster.sentences import summary_of
from rebalance_forensics.diagnosis.cluster.shared_faults import SharedFault
from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import known_partition, offsets_partition
from rebalance_forensics.diagnosis.model import Culprit, DisturbedGroup, Impact, Incident
from tests.diagnosis.closings import closes, comes
from tests.diagnosis.other_clients import incidents
from tests.diagnosis.test_offsets_topic_unavailable import cannot_write
from tests.diagnosis.test_process_stops import OOM
from tests.kafka_words import generation_of
from tests.story import Side, Story, clock, ms

LOST = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: coordinator "
    "unavailable. isDisconnected: true. Rediscovery will be attempted."
)
NETWORK = "org.apache.kafka.clients.NetworkClient"
KAFKA_CONFIG = "kafka.server.KafkaConfig"
CONTROLLER = "org.apache.kafka.controller.ReplicationControlManager"
FOUND = "Discovered group coordinator broker-3:9092 (id: 2147483644 rack: null)"


def losing_its_coordinator(group: str, at: str = "01:10:00.000") -> GroupCase:
    """Both members of a group lose broker-2 and find broker-3."""
    members = (f"{group}-1", f"{group}-2")
    story = Story(group=group).formed(*members)
    for client in members:
        story.client(client, at, LOST).client(client, "01:30:00.000", FOUND)
    return story.case()


def losing(group: str, client: str, at: str, *, kernel: str = "") -> GroupCase:
    """One of three members, whose log stands in the directory of its name, sends no heartbeat any more."""
    stay = [f"{group}-1", f"{group}-2"]
    story = Story(group=group).formed(*stay, client)
    member = story.id_of(client)
    if kernel:
        story.line(f"{client}/syslog", clock(ms(at) - 44_000), kernel, logger="kernel")
    story.broker(at, story.words.failed(member))
    return story.rebalanced(at, f"removing member {member} on heartbeat expiration", stay).case()


def deployed(group: str, hour: int, *, members: int = 3, seen: Side = "both") -> GroupCase:
    """Its members are restarted one after another."""
    names = [f"{group}-{n + 1}" for n in range(members)]
    story = Story(group=group, seen=seen).formed(*names)
    for minute, client in enumerate(names, 10):
        stay = [c for c in names if c != client]
        closes(story, client, f"{hour:02}:{minute}:00.000", stay)
        comes(story, client, f"{hour:02}:{minute}:08.000", [*stay, client])
    return story.case()


def incidents_of(*cases: GroupCase) -> tuple[list[Incident], list[Incident]]:
    """The incidents of the cluster, and those that its groups keep for themselves; no start-ups."""
    found = cluster_incidents(cases, lambda case, number: cases[case].incidents[number])
    own = [incident for case in cases for incident in found.own(case.incidents)]
    return [*found.incidents], [one for one in own if one.root_causes[0].cause not in {"startup", "shutdown"}]


def test_groups_that_lose_the_same_coordinator_within_seconds_are_one_incident_of_that_broker() -> None:
    (one,), own = incidents_of(losing_its_coordinator("audit"), losing_its_coordinator("payments", "01:10:04.000"))
    assert (own, one.scope, one.group, one.group_names) == ([], "cluster", None, ("audit", "payments"))
    verdict = one.root_causes[0]
    assert (verdict.cause, [culprit.name for culprit in verdict.culprits]) == ("coordinator-failover", ["broker-2"])
    assert "2 groups were disturbed" in one.summary
    assert all(group.evidence for group in one.groups)


def test_the_same_incident_has_the_same_id_whatever_the_order_of_the_groups() -> None:
    first, second = losing_its_coordinator("audit"), losing_its_coordinator("payments", "01:10:04.000")
    assert incidents_of(first, second)[0] == incidents_of(second, first)[0]


def living_in(partition: int | None) -> str:
    """What is said of two groups of which lines tell this partition, or none."""
    cases = (losing_its_coordinator("audit"), losing_its_coordinator("payments"))
    placed = (replace(case, history=replace(case.history, offsets_partition=partition)) for case in cases)
    return incidents_of(*placed)[0][0].root_causes[0].narrative


def advised(case: GroupCase, why: str) -> GroupCase:
    """A case whose advice has another reason, as one has with other figures."""
    causes = [(incident, incident.root_causes[0]) for incident in case.incidents]
    changed = (
        replace(incident, root_causes=(replace(cause, advice=tuple(replace(a, why=why) for a in cause.advice)),))
        for incident, cause in causes
    )
    return replace(case, incidents=tuple(changed))


def test_a_reason_with_the_figures_of_one_group_names_that_group() -> None:
    audit = advised(losing_its_coordinator("audit"), "The group could not commit for up to 9 s.")
    for until, reason in (("9 s", "The group could"), ("30 s", "In group audit: The group could")):
        payments = advised(losing_its_coordinator("payments"), f"The group could not commit for up to {until}.")
        (one,), _ = incidents_of(audit, payments)
        assert one.root_causes[0].advice[0].why == f"{reason} not commit for up to 9 s."


def test_the_partitions_they_live_in_are_named_and_how_they_are_known() -> None:
    assert "(partition 13 of __consumer_offsets)" in living_in(13)
    assert "__consumer_offsets, by the hash of their names over 50 partitions)" in living_in(None)


def test_where_another_group_shows_that_the_number_of_partitions_was_changed_none_is_guessed() -> None:
    known, unknown = losing_its_coordinator("audit"), losing_its_coordinator("payments")
    cases = (
        replace(case, history=replace(case.history, offsets_partition=p)) for case, p in ((known, 3), (unknown, None))
    )
    assert "__consumer_offsets" not in incidents_of(*cases)[0][0].root_causes[0].narrative


def test_the_brokers_settings_tell_the_number_of_partitions() -> None:
    story = Story(seen="clients").formed("c-1")
    assert known_partition(story.timeline()) is None
    story.seen = "both"
    story.broker("00:59:00.000", "KafkaConfig values: \n\toffsets.topic.num.partitions = 8", logger=KAFKA_CONFIG)
    assert known_partition(story.timeline()) == offsets_partition("payments", 8)


def test_two_losses_of_a_coordinator_on_two_occasions_have_nothing_to_do_with_each_other() -> None:
    cluster, own = incidents_of(losing_its_coordinator("audit"), losing_its_coordinator("payments", "01:20:00.000"))
    assert (cluster, len(own)) == ([], 2)


def test_members_of_two_groups_on_one_host_that_fall_silent_together_are_one_incident_of_that_host() -> None:
    (one,), own = incidents_of(losing("audit", "node-7", "01:10:00.000"), losing("payments", "node-7", "01:10:12.000"))
    (culprit,) = one.root_causes[0].culprits
    assert (own, culprit.kind, culprit.name) == ([], "host", "node-7")


def test_the_kernels_kill_of_a_hosts_processes_is_the_cause_behind_the_hosts_incident() -> None:
    killed = [
        losing(group, "node-7", at, kernel=OOM.format("java"))
        for group, at in (("audit", "01:10:00.000"), ("payments", "01:10:12.000"))
    ]
    (one,), _ = incidents_of(*killed)
    assert [link.what for link in one.root_causes[0].behind] == ["oom-kill"]


def test_members_on_different_hosts_that_fail_together_are_incidents_of_their_groups() -> None:
    cluster, own = incidents_of(losing("audit", "node-7", "01:10:00.000"), losing("payments", "node-8", "01:10:12.000"))
    assert (cluster, [one.group for one in own]) == ([], ["audit", "payments"])


def test_groups_of_two_clusters_never_share_an_incident() -> None:
    here, there = losing_its_coordinator("audit"), losing_its_coordinator("payments")
    elsewhere = replace(
        there,
        history=replace(there.history, cluster="other"),
        incidents=tuple(replace(one, cluster="other") for one in there.incidents),
    )
    assert incidents_of(here, elsewhere)[0] == []


def test_groups_restarted_at_the_same_time_are_one_deployment() -> None:
    (one,), own = incidents_of(deployed("orders-10", 1), deployed("orders-9", 1))
    assert (own, one.root_causes[0].cause) == ([], "rolling-restart")
    assert [culprit.name for culprit in one.root_causes[0].culprits] == ["orders-9", "orders-10"]
    assert incidents_of(deployed("audit", 1), deployed("payments", 3))[0] == []


@pytest.mark.parametrize("seen", ["both", "brokers"])
def test_a_deployment_that_restarts_the_only_member_of_each_group_is_one_incident(seen: Side) -> None:
    cases = [deployed(group, 1, members=1, seen=seen) for group in ("audit", "orders", "payments")]
    (one,), own = incidents_of(*cases)
    assert (own, one.root_causes[0].cause, one.severity) == ([], "rolling-restart", "info")
    assert one.group_names == ("audit", "orders", "payments")
    assert one.root_causes[0].evidence


def test_a_member_that_crashes_by_itself_while_a_broker_is_out_keeps_its_own_incident() -> None:
    crash = losing("orders", "orders-9", "01:10:05.000")
    (one,), own = incidents_of(losing_its_coordinator("audit"), losing_its_coordinator("payments"), crash)
    assert "orders" not in one.group_names
    assert [incident.group for incident in own] == ["orders"]


def test_a_group_alone_keeps_its_incidents() -> None:
    case = losing_its_coordinator("audit")
    cluster, own = incidents_of(case)
    assert (cluster, [one.group for one in own]) == ([], ["audit"])


def test_the_unread_time_of_a_group_is_counted_in_the_incident_of_its_cluster() -> None:
    cases = (losing("audit", "node-7", "01:10:00.000"), losing("payments", "node-7", "01:10:12.000"))
    found = cluster_incidents(cases, lambda case, number: cases[case].incidents[number])
    known = {incident.id for incident in found.incidents}
    for case in cases:
        replaced = {incident.id for incident in case.incidents} & set(found.cluster_incident_of)
        history = found.in_history(case.history)
        assert not replaced & {span.incident for span in history.unread}
        assert {span.incident for span in history.unread} <= known | {None}


def expiring(group: str, at: str, *, coordinator: int = 2, members: int = 2, refused: Sequence[str] = ()) -> GroupCase:
    """Some of three members lose their sessions, by the coordinator's log; they have no logs themselves.

    Before that brokers refuse logins from these addresses.
    """
    names = [f"{group}-{n}" for n in (1, 2, 3)]
    story = Story(group=group, seen="brokers", coordinator=coordinator).formed(*names)
    for number, address in enumerate(refused):
        words = f"[SocketServer brokerId=1] Failed authentication with /{address} (SSL handshake failed)"
        story.broker(clock(ms(at) - 4_000 + number), words, number=1, logger="o.a.k.common.network.Selector")
    for client in names[:members]:
        story.broker(at, story.words.failed(story.id_of(client)))
    removed = story.id_of(names[0])
    return story.rebalanced(at, f"removing member {removed} on heartbeat expiration", names[members:] or names).case()


def test_sessions_of_several_groups_that_expire_at_the_same_time_show_a_paused_coordinator() -> None:
    (one,), own = incidents_of(expiring("audit", "01:10:00.000"), expiring("payments", "01:10:00.003"))
    verdict = one.root_causes[0]
    assert (own, verdict.cause, [c.name for c in verdict.culprits]) == ([], "coordinator-failover", ["broker-2"])
    assert "broker-2 stood still" in one.summary
    assert {row.cause for row in one.ruled_out} & {"process-pause", "process-crash", "network-partition", "unexplained"}


def test_an_offsets_topic_that_cannot_be_written_while_a_replica_is_paused_is_an_effect_of_the_pause() -> None:
    """Groups of other coordinators wait for its replica, and may be more than those that it coordinates."""
    stalled = [expiring("audit", "01:10:00.000"), expiring("orders", "01:10:00.003")]
    waiting = [cannot_write(group=f"etl-{n}", coordinator=3).case() for n in range(4)]
    (one,), _ = incidents_of(*stalled, *waiting)
    verdict = one.root_causes[0]
    assert (verdict.cause, [culprit.name for culprit in verdict.culprits]) == ("coordinator-failover", ["broker-2"])
    assert set(one.group_names) >= {"etl-0", "etl-1", "etl-2", "etl-3", "audit", "orders"}


def test_sessions_that_end_at_one_moment_and_are_all_of_one_jvm_blame_that_process(tmp_path: Path) -> None:
    """A JVM counts through all consumers without a client.id: a broker that stood still loses others as well."""
    lines = [
        f"[2026-11-20 01:10:00,00{second}] INFO [GroupCoordinator 2]: Member consumer-{group}-{number}-"
        f"f616c4f3-438a-449d-b43b-49428c4bbe2{second} in group {group} has failed, removing it from the group "
        "(kafka.coordinator.group.GroupCoordinator)"
        for second, (group, number) in enumerate((("audit", 36), ("payments", 39), ("orders", 41)))
    ]
    (one,) = incidents(tmp_path, *lines)
    assert one.root_causes[0].cause != "coordinator-failover"
    assert one.root_causes[0].confidence < PROBABLE
    assert "broker-2" not in one.summary


def test_sessions_of_several_groups_that_end_one_by_one_do_not() -> None:
    cluster, _ = incidents_of(
        expiring("audit", "01:10:00.000", members=1), expiring("payments", "01:10:01.500", members=1)
    )
    assert all(one.root_causes[0].cause != "coordinator-failover" for one in cluster)


def test_sessions_that_end_at_one_moment_on_two_coordinators_do_not() -> None:
    cases = (expiring("audit", "01:10:00.000"), expiring("payments", "01:10:00.003", coordinator=3))
    assert all(one.root_causes[0].cause != "coordinator-failover" for one in incidents_of(*cases)[0])


def test_hosts_that_are_cut_off_lose_their_members_at_every_coordinator() -> None:
    """Two sessions of one group may end close together by chance: a broker that stood still spares other brokers."""
    cases = (
        *(expiring("audit", "01:10:00.000"), expiring("payments", "01:10:00.300", members=1)),
        expiring("orders", "01:10:01.900", coordinator=3),
    )
    (one,), own = incidents_of(*cases)
    assert (own, set(one.group_names)) == ([], {"audit", "orders", "payments"})
    assert one.root_causes[0].cause != "coordinator-failover"


def test_two_hosts_that_are_cut_off_lose_a_pair_of_each_group_at_every_coordinator() -> None:
    """The two sessions of a group may end within one step of a timer in most groups of one coordinator."""
    here = [expiring(group, f"01:10:00.{ms:03}") for group, ms in (("audit", 0), ("prices", 180))]
    (one,), own = incidents_of(*here, *(expiring(g, "01:10:00.500", coordinator=3) for g in ("orders", "payments")))
    assert (own, set(one.group_names)) == ([], {"audit", "orders", "payments", "prices"})
    assert one.root_causes[0].cause != "coordinator-failover"


def on_hosts(case: GroupCase, host_of: Mapping[str, str]) -> GroupCase:
    """With the hosts of its members, by the number at the end of their names."""
    identities = tuple(replace(each, host=host_of[each.name[-1]]) for each in case.history.identities)
    return replace(case, history=replace(case.history, identities=identities))


def test_sessions_that_end_at_one_moment_and_are_all_of_two_of_five_hosts_are_lost_to_those() -> None:
    """Where the other brokers' logs are missing, only the hosts show it: a coordinator loses members on all of them."""
    groups = ["audit", "orders", "payments", "prices"]
    for spread in (False, True):
        cases = []
        for number, group in enumerate(groups):
            case = expiring(group, f"01:10:00.{20 * number:03}")
            elsewhere = {"1": f"host-{number + 1}", "2": f"host-{number + 2}", "3": "host-5"}
            cases.append(
                on_hosts(case, elsewhere if spread else {"1": "host-1", "2": "host-2", "3": f"host-{number + 3}"})
            )
        summaries = [incident.summary for incident in incidents_of(*cases)[0]]
        assert any("broker-2 stood still" in summary for summary in summaries) == spread


@pytest.mark.parametrize("same", [True, False])
def test_if_each_group_lost_the_members_with_the_same_numbers_no_coordinator_was_paused(*, same: bool) -> None:
    """Where no line shows their hosts: fleets give the members of one host the same number."""
    cases = []
    for number, group in enumerate(("audit", "orders", "payments", "prices")):
        members = [f"{group}-{n}" for n in range(1, 6)]
        story = Story(group=group, seen="brokers").formed(*members)
        lost = members[:2] if same else [members[number], members[number + 1]]
        for client in lost:
            story.broker(f"01:10:00.{20 * number:03}", story.words.failed(story.id_of(client)))
        stay = [client for client in members if client not in lost]
        removed = f"removing member {story.id_of(lost[0])} on heartbeat expiration"
        cases.append(story.rebalanced(f"01:10:00.{20 * number:03}", removed, stay).case())
    summaries = [incident.summary for incident in incidents_of(*cases)[0]]
    assert any("broker-2 stood still" in summary for summary in summaries) != same


@pytest.mark.parametrize("cut_off", [True, False])
def test_hosts_whose_members_other_coordinators_lose_as_well_were_cut_off(*, cut_off: bool) -> None:
    here = {"1": "host-1", "2": "host-2", "3": "host-3"}
    there = here if cut_off else {"1": "host-3", "2": "host-4", "3": "host-1"}
    lost = [on_hosts(expiring(group, "01:10:00.003"), here) for group in ("audit", "prices")]
    for second, group in enumerate(("orders", "payments", "stock"), 5):
        lost.append(on_hosts(expiring(group, f"01:10:{second:02}.000", coordinator=3), there))
    summaries = [incident.summary for incident in incidents_of(*lost)[0]]
    assert any("broker-2 stood still" in summary for summary in summaries) != cut_off


def test_a_broker_of_many_groups_expires_them_one_after_another_and_each_at_once() -> None:
    cases = [expiring(f"group-{n}", clock(ms("01:10:00.000") + 390 * n), members=2 + n % 2) for n in range(8)]
    (one,), own = incidents_of(*cases)
    assert (own, len(one.group_names)) == ([], 8)
    assert [culprit.name for culprit in one.root_causes[0].culprits] == ["broker-2"]


def test_all_members_that_one_group_loses_at_once_were_lost_like_those_of_others_a_minute_earlier() -> None:
    affected = expiring("audit", "01:10:00.000"), expiring("payments", "01:10:00.003")
    (one,), own = incidents_of(*affected, expiring("orders", "01:11:00.000", members=3))
    assert (own, set(one.group_names)) == ([], {"audit", "orders", "payments"})
    assert [culprit.name for culprit in one.root_causes[0].culprits] == ["broker-2"]


def test_two_sessions_that_expire_at_the_same_time_are_lost_to_a_coordinator_that_was_paused_before() -> None:
    affected = expiring("audit", "01:10:00.000"), expiring("payments", "01:10:00.003")
    pair = expiring("orders", "01:11:00.000", members=1), expiring("prices", "01:11:00.004", members=1)
    (one,), own = incidents_of(*affected, *pair)
    assert (own, set(one.group_names)) == ([], {"audit", "orders", "payments", "prices"})
    assert incidents_of(*pair)[0] == [], "two sessions alone may end together by chance"


def test_members_of_three_groups_that_are_lost_after_refused_logins_share_a_credential() -> None:
    at = ("01:10:00.000", "01:10:01.100", "01:10:04.300")
    cases = [expiring(f"group-{n}", when, members=1, refused=["10.0.0.7"]) for n, when in enumerate(at)]
    (one,), own = incidents_of(*cases)
    verdict = one.root_causes[0]
    assert (own, verdict.cause, len(one.groups)) == ([], "authorization-failure", 3)
    assert verdict.confidence == PROBABLE
    shared, own = incidents_of(*cases[:2])
    assert shared == []
    assert {one.root_causes[0].cause for one in own} == {"process-crash"}, "any client may have been refused"


def test_rejected_logins_of_another_client_do_not_hide_a_paused_broker() -> None:
    scanned = ["10.0.0.99", "10.0.0.99", "10.0.0.99"]
    cases = [expiring(group, "01:10:00.000", refused=scanned) for group in ("audit", "payments", "orders")]
    (one,), own = incidents_of(*cases)
    assert (own, one.root_causes[0].cause) == ([], "coordinator-failover")


def test_members_of_three_groups_that_fall_silent_together_are_one_incident_though_no_line_names_their_host() -> None:
    at = ("01:10:00.000", "01:10:01.100", "01:10:02.300")
    groups = ("audit", "payments", "orders")
    (one,), own = incidents_of(
        *(expiring(g, when, members=1, coordinator=n) for n, (g, when) in enumerate(zip(groups, at, strict=True), 1))
    )
    assert (own, one.group_names) == ([], tuple(sorted(groups)))
    assert [c.name for c in one.root_causes[0].culprits] == ["audit-1", "orders-1", "payments-1"]
    assert one.root_causes[0].confidence < PROBABLE


def failing_to_connect(story: Story, client: str, broker: int, *times: str) -> Story:
    """Connections to one broker are refused, again and again."""
    for at in times:
        refused = f"Connection to node {broker} (b-{broker}/10.0.0.{broker}:9092) could not be established. Node may "
        story.client(client, at, f"{refused}not be available.", level="WARN", logger=NETWORK)
    return story


def alone_on_a_host(group: str, *brokers: int) -> GroupCase:
    """One member, whose log alone is at hand, loses its coordinator (broker-2), and fails to connect to brokers."""
    client = f"{group}-1"
    story = Story(group=group, seen="clients").formed(client)
    story.client(client, "01:10:05.000", LOST)
    for broker in brokers:
        failing_to_connect(story, client, broker, "01:10:05.000", "01:10:07.000", "01:10:09.000", "01:10:12.000")
    return story.client(client, "01:10:20.000", FOUND).case()


def blamed(incidents: list[Incident]) -> set[tuple[str, tuple[str, ...], bool]]:
    """Causes and culprits, and whether they are claimed."""
    verdicts = [incident.root_causes[0] for incident in incidents]
    return {(v.cause, tuple(c.name for c in v.culprits), v.confidence >= PROBABLE) for v in verdicts}


def test_a_broker_that_members_of_several_groups_fail_to_connect_to_is_out_and_not_their_coordinator() -> None:
    cluster, own = incidents_of(alone_on_a_host("audit", 1), alone_on_a_host("payments", 1))
    assert own == []
    assert {(cause, names) for cause, names, _ in blamed(cluster)} == {("coordinator-failover", ("broker-1",))}
    assert "broker-1 was out of reach" in cluster[0].summary


def test_a_host_whose_members_fail_to_connect_to_every_broker_shows_no_broker_down() -> None:
    cluster, _ = incidents_of(alone_on_a_host("audit", 1, 2, 3), alone_on_a_host("payments", 1, 2, 3))
    assert all("broker-1 was out of reach" not in one.summary for one in cluster)


def test_a_member_that_lost_one_broker_only_is_not_claimed_to_be_cut_off() -> None:
    """To one client a broker that stands still looks the same as a lost network."""
    story = Story(group="audit", seen="clients").formed("audit-1")
    for at, age in (("01:10:02.000", 4189), ("01:10:02.001", 2189), ("01:10:02.002", 1088)):
        cancelled = (
            "Cancelled in-flight HEARTBEAT request with correlation id 1 due to node 2147483645 being disconnected"
        )
        aged = f"elapsed time since creation: {age}ms, elapsed time since send: {age}ms, throttle time: 0ms"
        story.client("audit-1", at, f"{cancelled} ({aged}, request timeout: 30000ms)", logger=NETWORK)
    story.client("audit-1", "01:10:02.200", FOUND.replace("broker-3", "broker-2").replace("2147483644", "2147483645"))
    generation = generation_of(1, story.id_of("audit-1"))
    refused = f"Attempt to heartbeat with {generation} and group instance id Optional.empty failed due to "
    story.client("audit-1", "01:10:05.000", f"{refused}UNKNOWN_MEMBER_ID, resetting generation")
    story.reborn("audit-1").rebalanced("01:10:06.000", "it is back", ["audit-1"]).goes_on("01:20:00.000")
    (incident,) = [i for i in story.case().incidents if i.root_causes[0].cause != "startup"]
    assert incident.root_causes[0].cause == "network-partition"
    assert incident.root_causes[0].confidence < PROBABLE


def test_sessions_that_expire_together_while_another_broker_is_down_show_no_paused_broker() -> None:
    """A coordinator answers no heartbeat while the write before it waits for a replica that is down (acks=all)."""
    fenced = Story(group="orders", coordinator=1).formed("orders-1", "orders-2")
    fenced.broker("01:10:05.000", "Fencing broker 1 because its session has timed out.", 3, CONTROLLER)
    for client in ("orders-1", "orders-2"):
        fenced.client(client, "01:09:58.000", LOST.replace("broker-2", "broker-1").replace("2147483645", "2147483646"))
        fenced.client(client, "01:10:06.000", FOUND)
    waiting = [expiring(group, "01:10:06.000") for group in ("audit", "payments")]
    assert "broker-2 stood still" in incidents_of(*waiting)[0][0].summary
    (one,), _ = incidents_of(*waiting, fenced.case())
    assert "The controller fenced it." in one.root_causes[0].narrative
    assert [culprit.name for culprit in one.root_causes[0].culprits] == ["broker-1"]
    assert "stood still" not in one.summary


REGISTRATION = (
    "[QuorumController id=2] Replayed BrokerRegistrationChangeRecord modifying the registration for broker 1: "
)
FENCED, UNFENCED, STOPPING = (
    f"{REGISTRATION}BrokerRegistrationChangeRecord(brokerId=1, brokerEpoch=6, {change}, logDirs=[])"
    for change in (
        "fenced=1, inControlledShutdown=0",
        "fenced=-1, inControlledShutdown=0",
        "fenced=0, inControlledShutdown=1",
    )
)
OF_BROKER_1 = "RegisterBrokerRecord(brokerId=1, incarnationId=oNCTHNpvRoOXBhNCDPrbLA, brokerEpoch=92, fenced=true)"
RESTARTED = (
    f"[QuorumController id=2] Replayed RegisterBrokerRecord establishing a new incarnation of broker 1: {OF_BROKER_1}"
)
FIRST_SEEN = f"[QuorumController id=2] Replayed initial RegisterBrokerRecord for broker 1: {OF_BROKER_1}"
REPLAYS = "org.apache.kafka.controller.ClusterControlManager"


@pytest.mark.parametrize(
    ("replayed", "went"),
    [
        ({"10:05": FENCED, "10:20": UNFENCED}, "stood still"),
        ({"10:05": FENCED, "10:20": RESTARTED, "10:22": UNFENCED}, "went down"),
        ({"10:04": STOPPING, "10:05": FENCED, "10:20": RESTARTED, "10:22": UNFENCED}, "was shut down"),
        ({"10:03": FIRST_SEEN, "10:05": FENCED, "10:06": UNFENCED}, None),
        ({"09:40.000": RESTARTED, "09:40.003": UNFENCED, "10:05.001": STOPPING, "10:05.002": RESTARTED}, None),
        ({"00:10": FENCED}, None),
    ],
)
def test_a_standby_controller_shows_which_broker_was_fenced(replayed: dict[str, str], went: str | None) -> None:
    """KRaft: what a controller replays right after it saw a broker for the first time is older than its log.

    So is what it replays within a moment; and a broker that has been out for long is behind nothing.
    """
    waiting = [expiring("audit", "01:10:06.000")]
    story = Story(group="payments", seen="brokers").formed("payments-1", "payments-2", "payments-3")
    for at, line in replayed.items():
        story.broker(f"01:{at}" if "." in at else f"01:{at}.000", line, 2, REPLAYS)
    for client in ("payments-1", "payments-2"):
        story.broker("01:10:06.003", story.words.failed(story.id_of(client)))
    story.rebalanced(
        "01:10:06.003", f"removing member {story.id_of('payments-1')} on heartbeat expiration", ["payments-3"]
    )
    (one,), _ = incidents_of(*waiting, story.case())
    assert [culprit.name for culprit in one.root_causes[0].culprits] == ["broker-1" if went else "broker-2"]
    assert f"broker-1 {went}" in one.summary if went else "broker-2 stood still" in one.summary
    # A controller also fences a broker at the end of a controlled shutdown.
    fenced = "The controller fenced it." in one.root_causes[0].narrative
    assert fenced == (went in ("stood still", "went down"))


def coordinated_by(group: str, broker: int, *, moves_to: int | None = None, goes_back: bool = False) -> GroupCase:
    """Both members of a group lose their coordinator, and find it again or another one until it is back."""
    members = (f"{group}-1", f"{group}-2")
    story = Story(group=group, seen="clients").formed(*members)
    for client in members:
        named = f"broker-{broker}:9092 (id: {2147483647 - broker} rack: null)"
        story.client(client, "01:05:00.000", f"Discovered group coordinator {named}")
        cause = "session timed out without receiving a heartbeat response. isDisconnected: false."
        lost = (
            f"Group coordinator {named} is unavailable or invalid due to cause: {cause} Rediscovery will be attempted."
        )
        story.client(client, "01:10:00.000", lost)
        after = broker if moves_to is None else moves_to
        found = f"Discovered group coordinator broker-{after}:9092 (id: {2147483647 - after} rack: null)"
        story.client(client, "01:10:06.000", found)
        if goes_back:
            story.client(client, "01:10:30.000", lost.replace(named, found.partition("coordinator ")[2]))
            story.client(client, "01:10:30.500", f"Discovered group coordinator {named}")
    return story.case()


def test_of_coordinators_that_fall_silent_together_the_one_whose_groups_moved_on_was_out() -> None:
    for goes_back in (False, True):
        moved = [coordinated_by(group, 2, moves_to=3, goes_back=goes_back) for group in ("a", "b")]
        (one,), _ = incidents_of(*moved, coordinated_by("c", 1))
        assert [culprit.name for culprit in one.root_causes[0].culprits] == ["broker-2"], goes_back
        assert set(one.group_names) == {"a", "b", "c"}


def refused(group: str, broker: int, at: str) -> GroupCase:
    """Its only member is refused a heartbeat, by its own log, and joins again at once."""
    story = Story(group=group, seen="clients", coordinator=broker).formed(f"{group}-1")
    found = f"Discovered group coordinator broker-{broker}:9092 (id: {2147483647 - broker} rack: null)"
    story.client(f"{group}-1", "01:00:00.500", found)
    unknown = "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
    story.client(f"{group}-1", at, unknown).reborn(f"{group}-1")
    return story.rebalanced(clock(ms(at) + 100), "", [f"{group}-1"]).goes_on("01:30:00.000").case()


def test_of_several_silent_coordinators_the_one_whose_groups_lose_members_was_paused() -> None:
    waiting = [coordinated_by("c", 1), coordinated_by("d", 3)]
    (one,), own = incidents_of(*waiting, refused("a", 2, "01:10:02.000"), refused("b", 2, "01:10:02.020"))
    assert (own, [culprit.name for culprit in one.root_causes[0].culprits]) == ([], ["broker-2"])
    assert set(one.group_names) == {"a", "b", "c", "d"}


def evicted_while_running(group: str, at: str) -> GroupCase:
    """A coordinator evicts two of three members, which are refused and join again 300 ms later."""
    names = [f"{group}-{n}" for n in (1, 2, 3)]
    story = Story(group=group).formed(*names)
    story.started(names[2], "00:59:00.000", **{"session.timeout.ms": 10_000})
    lost = [story.id_of(client) for client in names[:2]]
    for member in lost:
        story.broker(at, story.words.failed(member))
    for client, member in zip(names[:2], lost, strict=True):
        refused = (
            f"Attempt to heartbeat with {generation_of(1, member)} and group instance id Optional.empty failed due "
        )
        story.client(client, clock(ms(at) + 200), f"{refused}to UNKNOWN_MEMBER_ID, resetting generation")
        story.reborn(client)
    reason = f"removing member {lost[0]} on heartbeat expiration"
    return story.rebalanced(clock(ms(at) + 300), reason, names).goes_on("01:20:00.000").case()


def test_members_continue_to_read_while_their_coordinator_is_paused() -> None:
    """To their own group they look paused for a session; those of another group show that it was the coordinator."""
    cases = [evicted_while_running("audit", "01:10:00.000"), evicted_while_running("orders", "01:10:00.003")]
    alone = sum(i.impact.unread_partition_ms or 0 for case in cases for i in case.incidents)
    found = cluster_incidents(cases, lambda case, number: cases[case].incidents[number])
    (whole,) = found.incidents
    spans = [span for case in cases for span in found.in_history(case.history).unread if span.incident == whole.id]
    assert [c.name for c in whole.root_causes[0].culprits] == ["broker-2"]
    assert {span.why for span in spans} <= {"fenced", "revoked"}
    assert (whole.impact.unread_partition_ms or 0) == sum(span.lasted_ms or 0 for span in spans) < alone / 2


def test_a_host_with_one_member_of_each_of_many_groups_is_not_a_paused_coordinator() -> None:
    """Their sessions end close together by chance, spread over a heartbeat interval."""
    cases = [expiring(f"group-{n}", clock(ms("01:10:00.000") + 300 * n), members=1) for n in range(10)]
    (whole,), own = incidents_of(*cases)
    assert (own, len(whole.group_names)) == ([], 10)
    assert whole.root_causes[0].cause in {"process-crash", "process-pause"}
    assert whole.root_causes[0].confidence < PROBABLE


def test_a_leave_of_a_group_that_was_deployed_then_is_part_of_the_deployment() -> None:
    """A log that begins in the middle does not show who that member was."""
    cases = [deployed(group, 1) for group in ("audit", "payments")]
    (whole,) = cluster_incidents(cases, lambda case, number: cases[case].incidents[number]).incidents
    walk = next(i for i in cases[0].incidents if i.root_causes[0].cause == "rolling-restart")
    verdict = replace(walk.root_causes[0], cause="scale-in", confidence=PROBABLE)
    leave = replace(walk, id="leave", started_at=walk.started_at + 1, root_causes=(verdict,))
    with_leave = [replace(cases[0], incidents=(*cases[0].incidents, leave)), cases[1]]
    (again,), own = incidents_of(*with_leave)
    assert (again.group_names, own) == (whole.group_names, [])
    assert "leave" in {part for group in again.groups for part in group.parts}


def test_a_leave_of_another_group_during_a_deployment_is_not_a_part_of_it() -> None:
    names = [f"orders-{n}" for n in range(1, 7)]
    scaled = closes(Story(group="orders", seen="brokers").formed(*names), names[-1], "01:10:40.000", names[:-1])
    (whole,), own = incidents_of(deployed("audit", 1), deployed("payments", 1), scaled.goes_on("01:40:00.000").case())
    assert whole.group_names == ("audit", "payments")
    assert [incident.group for incident in own] == ["orders"]


def test_a_stop_of_a_blink_is_not_counted_among_those_that_stopped_reading() -> None:
    fault = SharedFault(
        kind="topic", cause="topic-metadata-change", culprits=(Culprit(kind="topic", name="orders"),), parts=()
    )
    stops = {"audit": 83, "billing": 12_400, "orders": 3_000}
    groups = [
        DisturbedGroup(group=name, severity="warning", impact=Impact(rebalances=1, stopped_ms=ms))
        for name, ms in stops.items()
    ]
    assert summary_of(fault, groups[:1]).endswith("One rebalanced.")
    assert summary_of(fault, groups).endswith("All 3 rebalanced and 2 stopped reading altogether for up to 12.4 s.")


def unanswered(group: str, broker: int, *, at: Sequence[str] = ("01:10:00.000",)) -> GroupCase:
    """Its only member with a log gets no answer from its coordinator for a session, as often as `at` says."""
    coordinator = f"broker-{broker}:9092 (id: {2147483647 - broker} rack: null)"
    story = Story(group=group, seen="clients", coordinator=broker).formed(f"{group}-1")
    story.client(f"{group}-1", "01:00:00.500", f"Discovered group coordinator {coordinator}")
    cause = "session timed out without receiving a heartbeat response. isDisconnected: false"
    lost = f"Group coordinator {coordinator} is unavailable or invalid due to cause: {cause}"
    for time in at:
        story.client(f"{group}-1", time, f"{lost}. Rediscovery will be attempted.")
        story.client(f"{group}-1", clock(ms(time) + 200), f"Discovered group coordinator {coordinator}")
    return story.goes_on("01:30:00.000").case()


def test_what_nothing_explains_in_several_groups_at_once_is_one_incident_that_names_them() -> None:
    groups = {"audit": 2, "billing": 3, "orders": 1, "stock": 3}
    (one,), own = incidents_of(*(unanswered(group, broker) for group, broker in groups.items()))
    assert (one.root_causes[0].cause, one.root_causes[0].culprits, own) == ("unexplained", (), [])
    assert one.summary.startswith("The logs do not show what disturbed 4 groups at the same time.")
    assert {group.group for group in one.groups} == groups.keys()


def test_a_coordinator_that_answers_none_of_its_groups_is_suspected_if_groups_of_others_continue() -> None:
    affected = [unanswered(group, 3) for group in ("audit", "billing", "orders")]
    (one,), own = incidents_of(*affected, unanswered("stock", 1, at=()))
    verdict = one.root_causes[0]
    assert (verdict.cause, [c.name for c in verdict.culprits]) == ("coordinator-failover", ["broker-3"])
    assert verdict.confidence < PROBABLE
    assert own == []
    assert incidents_of(*affected)[0][0].root_causes[0].cause == "unexplained"


def test_what_nothing_explains_minutes_apart_stays_apart_although_one_incident_bridges_it() -> None:
    every_20_s = [clock(ms("01:10:00.000") + 20_000 * n) for n in range(48)]
    others = unanswered("billing", 2, at=["01:15:00.000"]), unanswered("orders", 3, at=["01:23:20.000"])
    assert incidents_of(unanswered("audit", 1, at=every_20_s), *others)[0] == []


def test_two_groups_that_nothing_explains_prove_nothing() -> None:
    assert incidents_of(unanswered("audit", 2), unanswered("billing", 3))[0] == []


def refused_after_a_restart(group: str) -> GroupCase:
    """Two brokers are restarted in turn with other passwords; both members are refused by the first one then."""
    members = (f"{group}-1", f"{group}-2")
    story = Story(group=group).formed(*members)
    refused = "failed authentication due to: Authentication failed: Invalid username or password"
    for number, second in ((2, "00"), (3, "28")):
        story.broker(
            f"01:10:{second}.000", f"[KafkaServer id={number}] shutting down", number, "kafka.server.KafkaServer"
        )
    for client in members:
        story.client(client, "01:10:00.200", LOST).client(client, "01:10:02.000", FOUND)
        story.client(
            client, "01:10:28.200", LOST.replace("broker-2:9092 (id: 2147483645", "broker-3:9092 (id: 2147483644")
        )
        node = f"Connection to node 2147483645 (broker-2/10.0.0.2:9092) {refused}"
        story.client(client, "01:10:30.000", node, level="ERROR", logger=NETWORK)
    return story.case()


def test_logins_that_brokers_refuse_after_they_were_restarted_are_no_effect_of_the_restart() -> None:
    """A broker that answers is up; which credentials it accepts has another reason."""
    shared, own = incidents_of(*map(refused_after_a_restart, ("audit", "payments")))
    found = {incident.root_causes[0].cause: incident for incident in (*shared, *own)}
    assert found.keys() == {"coordinator-failover", "authorization-failure"}
    assert not any(row.cause == "authorization-failure" for incident in found.values() for row in incident.ruled_out)
