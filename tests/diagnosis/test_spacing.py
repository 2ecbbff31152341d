from __future__ import annotations

import msgspec

from rebalance_forensics.diagnosis.group_patterns import patterns_of, rounds_of, spacings
from tests.diagnosis.logs import Logs, at

UUID = "5b1c0000-0000-4000-8000-00000000000"
C1, C2, C3 = (f"c-{n}-{UUID}{n}" for n in (1, 2, 3))
METADATA = f"Updating metadata for member {C1} during Stable"
OTTER0 = "otter-app-225712b8-b54d-4043-a7e1-c489ee4f8fd5-StreamThread"
OTTER1 = "otter-app-c4497316-8891-4f1a-b60e-6952b7c56fcf-StreamThread"


def a_rebalance(logs: Logs, seconds: float, generation: int, members: list[str], leader: str, reason: str) -> None:
    """Let the coordinator tell a whole rebalance that takes half a second."""
    offsets = "(__consumer_offsets-13)"
    logs.coordinator(
        seconds,
        f"Preparing to rebalance group payments in state PreparingRebalance with old generation {generation - 1} "
        f"{offsets} (reason: {reason})",
    )
    logs.coordinator(
        seconds + 0.4, f"Stabilized group payments generation {generation} {offsets} with {len(members)} members"
    )
    shares = ", ".join(f"{m}=Assignment(partitions=[orders-{n}])" for n, m in enumerate(members))
    logs.consumer(
        seconds + 0.4,
        f"Successfully joined group with generation Generation{{generationId={generation}, memberId='{leader}', "
        "protocol='range'}",
        client=leader[:3],
        host=f"app-{leader[2]}",
    )
    logs.consumer(
        seconds + 0.45,
        f"Finished assignment for group at generation {generation}: {{{shares}}}",
        client=leader[:3],
        host=f"app-{leader[2]}",
    )
    logs.coordinator(
        seconds + 0.5,
        f"Assignment received from leader {leader} for group payments for generation {generation}. "
        f"The group has {len(members)} members, 0 of which are static.",
    )


def otters() -> Logs:
    """Two nodes, no broker: only the leader lists who takes part, and one SyncGroup fails."""
    logs = Logs(group="otter-app")
    for seconds, host, thread in (
        (0.0, "node0", f"{OTTER0}-2"),
        (50.681, "node1", f"{OTTER1}-1"),
        (122.646, "node0", f"{OTTER0}-1"),
        (122.668, "node0", f"{OTTER0}-1"),
        (935.960, "node0", f"{OTTER0}-1"),
    ):
        logs.client(
            seconds,
            f"stream-thread [{thread}-consumer] 2 client nodes and 4 consumers participating in this rebalance:",
            host,
            "streams",
        )
    for host, thread in (("node0", f"{OTTER0}-1"), ("node1", f"{OTTER1}-1")):
        logs.consumer(0.0, "(Re-)joining group", client=f"{thread}-consumer", host=host)
    logs.consumer(
        122.651,
        "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent generation was "
        f"Generation{{generationId=742, memberId='{OTTER0}-1-consumer-7f45268d-547c-47ed-a835-48e7d1503b0f', "
        "protocol='stream'}",
        client=f"{OTTER0}-1-consumer",
        host="node0",
    )
    return logs


def test_without_brokers_the_leaders_lists_tell_who_led() -> None:
    timeline = otters().timeline()
    found = patterns_of(timeline).leadership
    assert [one.leader for one in patterns_of(timeline).participants] == [
        f"{OTTER0}-2-consumer",
        f"{OTTER1}-1-consumer",
        *[f"{OTTER0}-1-consumer"] * 3,
    ]
    assert found.stable is False
    assert [change.after for change in found.changes] == [f"{OTTER1}-1-consumer", f"{OTTER0}-1-consumer"]


def test_rebalances_within_a_second_are_reported_with_the_failed_sync_in_between() -> None:
    (burst,) = patterns_of(otters().timeline()).close_together
    assert burst.rebalances == 2
    assert burst.ended_at - burst.started_at == 22
    (failed,) = burst.failures
    assert (failed.api, failed.error, failed.generation) == ("SyncGroup", "REBALANCE_IN_PROGRESS", 742)
    assert failed.who == f"{OTTER0}-1-consumer"
    assert "another rebalance had begun" in failed.why


def test_the_leaders_counts_are_used_if_its_list_is_cut() -> None:
    found = patterns_of(otters().timeline()).participants
    assert [(p.clients, p.consumers, p.members) for p in found] == [(2, 4, None)] * 5


def test_a_member_that_misses_a_rebalance_and_comes_back_is_missing_and_then_new() -> None:
    logs = Logs()
    a_rebalance(logs, 0, 4, [C1, C2, C3], C1, METADATA)
    a_rebalance(logs, 60, 5, [C1, C2], C1, f"removing member {C3} on heartbeat expiration")
    a_rebalance(logs, 90, 6, [C1, C2, C3], C1, f"Adding new member {C3} with group instance id None")
    found = patterns_of(logs.timeline()).participants
    assert [(p.generation, p.missing, p.new) for p in found] == [(4, (), ()), (5, ("c-3",), ()), (6, (), ("c-3",))]
    assert patterns_of(logs.timeline()).leadership.stable is True


def test_a_member_under_a_new_id_is_renewed_and_not_new() -> None:
    logs = Logs()
    a_rebalance(logs, 0, 4, [C1, C2], C1, METADATA)
    a_rebalance(logs, 60, 5, [C1, f"c-2-{UUID}9"], C1, f"Adding new member c-2-{UUID}9 with group instance id None")
    assert [(p.new, p.missing, p.renewed) for p in patterns_of(logs.timeline()).participants][1] == ((), (), ("c-2",))


def test_a_former_leader_that_is_still_a_member_is_distinguished_from_one_that_left() -> None:
    logs = Logs()
    a_rebalance(logs, 0, 4, [C1, C2], C1, METADATA)
    a_rebalance(logs, 60, 5, [C1, C2], C2, METADATA)
    a_rebalance(logs, 120, 6, [C1, C3], C1, METADATA)
    changes = patterns_of(logs.timeline()).leadership.changes
    assert [(c.before, c.after, c.former_took_part) for c in changes] == [("c-1", "c-2", True), ("c-2", "c-1", False)]


def test_a_poll_timeout_after_each_assignment_spaces_rebalances_by_max_poll_interval() -> None:
    logs = Logs()
    logs.client(-9, "ConsumerConfig values: \n\tclient.id = c-1\n\tgroup.id = payments\n\tmax.poll.interval.ms = 60000")
    for turn in range(4):
        gone, slow = (f"c-2-{turn + n:08x}-0000-4000-8000-00000000cafe" for n in range(2))
        a_rebalance(logs, turn * 61.0, 4 + turn, [C1, slow], C1, f"removing member {gone} on LeaveGroup")
        logs.consumer(
            turn * 61.0 + 60.6,
            f"Member {slow} sending LeaveGroup request to coordinator broker-1:9092 (id: 2147483646 rack: null) due to "
            "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than "
            "the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
            "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
            "maximum size of batches returned in poll() with max.poll.records.",
            client="c-2",
            host="app-2",
        )
    found = spacings(logs.timeline(), rounds_of(logs.timeline()))
    assert [(s.gap_ms, s.setting, s.value_ms, s.configured, s.evenly) for s in found] == [
        (61_000, "max.poll.interval.ms", 60_000, True, True)
    ] * 3
    assert "c-2 had not called poll()" in (found[0].why or "")


def test_an_even_rhythm_names_the_default_it_equals_and_that_no_log_shows_it() -> None:
    logs = Logs()
    for turn in range(3):
        a_rebalance(logs, turn * 300.7, 4 + turn, [C1, C2], C1, METADATA)
    found = spacings(logs.timeline(), rounds_of(logs.timeline()))
    assert [(s.setting, s.value_ms, s.configured, s.evenly) for s in found] == [
        ("max.poll.interval.ms", 300_000, False, True)
    ] * 2


def test_a_rhythm_of_rebalances_that_members_asked_for_is_no_timer() -> None:
    logs = Logs()
    asked = (
        "cached metadata has changed from (version4: {orders=[]}) at the beginning of the rebalance to (version5: {})"
    )
    for turn in range(3):
        logs.consumer(turn * 300.7 - 0.01, f"Request joining group due to: {asked}")
        a_rebalance(logs, turn * 300.7, 4 + turn, [C1, C2], C1, f"{METADATA}; client reason: {asked}")
    assert [(s.setting, s.evenly) for s in spacings(logs.timeline(), rounds_of(logs.timeline()))] == [(None, True)] * 2


def test_a_rhythm_of_deployments_is_no_timer() -> None:
    logs = Logs()
    for turn, member in enumerate((C2, C3, f"c-4-{UUID}4")):
        leave = f"Removing member {member} on LeaveGroup; client reason: the consumer is being closed"
        a_rebalance(logs, turn * 300.7, 4 + turn, [C1], C1, leave)
    assert [(s.setting, s.evenly) for s in spacings(logs.timeline(), rounds_of(logs.timeline()))] == [(None, True)] * 2


def test_one_gap_that_happens_to_equal_a_setting_proves_nothing() -> None:
    logs = Logs()
    for seconds, generation in ((0.0, 4), (300.7, 5), (333.0, 6)):
        a_rebalance(logs, seconds, generation, [C1, C2], C1, METADATA)
    assert [s.setting for s in spacings(logs.timeline(), rounds_of(logs.timeline()))] == [None, None]


def test_a_member_that_dies_right_after_a_rebalance_spaces_it_by_the_session_timeout() -> None:
    logs = Logs()
    a_rebalance(logs, 0, 4, [C1, C2], C1, METADATA)
    logs.coordinator(46.9, f"Member {C2} in group payments has failed, removing it from the group")
    a_rebalance(logs, 46.9, 5, [C1], C1, f"removing member {C2} on heartbeat expiration")
    (gap,) = spacings(logs.timeline(), rounds_of(logs.timeline()))
    assert (gap.setting, gap.value_ms, gap.configured, gap.at) == ("session.timeout.ms", 45_000, False, at(46.9))


def test_a_member_that_expires_after_the_next_rebalance_began_did_not_space_it() -> None:
    logs = Logs()
    a_rebalance(logs, 0, 4, [C1, C2], C1, METADATA)
    logs.coordinator(
        6,
        "Preparing to rebalance group payments in state PreparingRebalance with old generation 4 "
        f"(__consumer_offsets-13) (reason: {METADATA})",
    )
    logs.coordinator(45.1, f"Member {C2} in group payments has failed, removing it from the group")
    logs.coordinator(45.2, "Stabilized group payments generation 5 (__consumer_offsets-13) with 1 members")
    assert [gap.setting for gap in spacings(logs.timeline(), rounds_of(logs.timeline()))] == [None]


def test_the_tips_are_plain_data_and_do_not_depend_on_the_order_of_lines() -> None:
    logs = otters()
    patterns = patterns_of(logs.timeline())
    logs.events.reverse()
    assert msgspec.json.encode(patterns_of(logs.timeline())) == msgspec.json.encode(patterns)
