"""What is offered, and what is not, for a group in which one member kept a rebalance waiting."""

from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.engine.impact import impact_of
from rebalance_forensics.diagnosis.model import WhatIf
from rebalance_forensics.diagnosis.what_if.alternatives import COOPERATIVE, KIP_848, STATIC, alternatives, poll_gap
from rebalance_forensics.report.wording import alternative
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.ownership.owners import ownership_of
from tests.diagnosis.logs import Logs

UUID = "5b1c0000-0000-4000-8000-00000000000"
OWNED = {
    1: "orders-0, orders-1",
    2: "orders-2, orders-3",
    3: "orders-4, orders-5",
    4: "orders-6, orders-7",
}
WITH_FIVE = {**OWNED, 4: "orders-6", 5: "orders-7"}
WAITS = {1: 0.5, 2: 20.0, 3: 1.0, 4: 1.5}
"""How long after the word of the rebalance each member rejoined: the second one was in the middle of a long batch."""


def config(logs: Logs, number: int, **more: str) -> None:
    """Let a client print its configuration."""
    shown = {
        "client.id": f"c-{number}",
        "group.id": "payments",
        "heartbeat.interval.ms": "3000",
        "max.poll.interval.ms": "300000",
        "partition.assignment.strategy": "[org.apache.kafka.clients.consumer.RangeAssignor]",
        "session.timeout.ms": "10000",
    } | {name.replace("_", "."): value for name, value in more.items()}
    lines = "".join(f"\n\t{name} = {value}" for name, value in sorted(shown.items()))
    logs.client(-50, f"ConsumerConfig values: {lines}", host=f"app-{number}")


def generation(logs: Logs, seconds: float, number: int, members: list[int]) -> None:
    """Close the barrier and give everybody what it owns."""
    offsets = "(__consumer_offsets-13)"
    logs.coordinator(seconds, f"Stabilized group payments generation {number} {offsets} with {len(members)} members")
    leader = f"c-1-{UUID}1 for group payments for generation {number}. The group has {len(members)} members"
    logs.coordinator(seconds + 0.05, f"Assignment received from leader {leader}, 0 of which are static.")
    for who in members:
        joined = f"Generation{{generationId={number}, memberId='c-{who}-{UUID}{who}', protocol='range'}}"
        logs.consumer(seconds, f"Successfully joined group with generation {joined}", f"c-{who}", f"app-{who}")
        given = (WITH_FIVE if 5 in members else OWNED)[who]
        logs.consumer(seconds + 0.1, f"Adding newly assigned partitions: {given}", f"c-{who}", f"app-{who}")


def a_straggler(*, tells_of_rebalances: bool = True, broker: str | None = None, **settings: str) -> Logs:
    """Let a fifth member join a group of four, of which one rejoins twenty seconds later than it is asked to."""
    logs = Logs()
    offsets = "(__consumer_offsets-13)"
    preparing = "Preparing to rebalance group payments in state PreparingRebalance with old generation"
    for number in range(1, 6):
        config(logs, number, **settings)
    if broker is not None:
        logs.version(broker, "broker-1", "broker")
    newcomer = "with group instance id None; client reason: not provided"
    logs.coordinator(-10, f"{preparing} 3 {offsets} (reason: Adding new member c-1-{UUID}1 {newcomer})")
    generation(logs, 0, 4, [1, 2, 3, 4])
    logs.coordinator(60, f"{preparing} 4 {offsets} (reason: Adding new member c-5-{UUID}5 {newcomer})")
    logs.consumer(60, "(Re-)joining group", "c-5", "app-5")
    for number, wait in WAITS.items():
        me = (f"c-{number}", f"app-{number}")
        if tells_of_rebalances:
            logs.consumer(61, "Request joining group due to: group is already rebalancing", *me)
        logs.consumer(61 + wait, f"Revoke previously assigned partitions {OWNED[number]}", *me)
        logs.consumer(61 + wait, "(Re-)joining group", *me)
    generation(logs, 81.1, 5, [1, 2, 3, 4, 5])
    logs.broker(200, "Kafka startTimeMs: 1772366600000")
    return logs


def offered(timeline: Timeline) -> dict[str, WhatIf]:
    mine = timeline.rebalances[1:]
    started, ended = mine[0].started_at, mine[-1].ended_at()
    impact = impact_of(timeline, started, ended, mine, ownership_of(timeline).spans.touching(started, ended), ())
    return {one.alternative: one for one in alternatives(timeline, started, ended, impact, mine)}


def test_cooperative_members_would_have_read_on_while_one_kept_the_barrier_open() -> None:
    found = offered(a_straggler().version("3.9.1").timeline())
    cooperative = found[COOPERATIVE]
    assert cooperative.unread is not None
    assert cooperative.stopped is not None
    # The others learn of it within a heartbeat and rejoin within a batch; from then on nobody read anything.
    assert 14_000 < cooperative.stopped.low <= cooperative.stopped.high < 21_000
    assert cooperative.unread.low > 3 * 2 * 14_000
    assert "would have cut the stop of the whole group by" in alternative(cooperative)


def test_static_membership_saves_nothing_if_no_member_left() -> None:
    assert STATIC not in offered(a_straggler().version("3.9.1").timeline())


def test_the_wait_for_the_next_poll_tells_how_long_a_batch_takes() -> None:
    gap = poll_gap(a_straggler().timeline(), 10**15, commits_first=True)
    assert gap is not None
    assert gap.waits == 4
    assert gap.low < 2_500 == gap.likely < gap.high


def test_without_the_waits_no_figure_is_made_up() -> None:
    found = offered(a_straggler(tells_of_rebalances=False).version("3.9.1").timeline())
    (unknown,) = found.values()
    assert unknown.unread is unknown.stopped is None
    assert "the cost depends on the time between polls" in alternative(unknown)


def test_without_clients_logs_nothing_is_offered() -> None:
    logs = a_straggler(broker="4.1.1")
    logs.events = [event for event in logs.events if event.speaker.role == "broker"]
    assert offered(logs.timeline()) == {}


def test_clients_older_than_2_4_are_offered_no_cooperative_rebalancing() -> None:
    assert COOPERATIVE not in offered(a_straggler().version("2.3.1").timeline())


@pytest.mark.parametrize(("broker", "client"), [("3.9.1", "4.1.1"), ("4.1.1", "3.9.1")])
def test_kip_848_takes_brokers_and_clients_of_4_0(broker: str, client: str) -> None:
    assert KIP_848 not in offered(a_straggler(broker=broker).version(client).timeline())


def test_kip_848_is_offered_where_both_sides_run_4_0() -> None:
    found = offered(a_straggler(broker="4.1.1").version("4.1.1").timeline())
    assert found[KIP_848].condition is None


def test_a_release_that_no_log_shows_is_a_condition() -> None:
    found = offered(a_straggler().version("4.1.1").timeline())
    assert found[KIP_848].condition == "if the brokers run 4.0 or newer"
    assert ", if the brokers run 4.0 or newer. " in alternative(found[KIP_848])


def test_a_custom_assignor_is_not_given_up() -> None:
    logs = a_straggler(broker="4.1.1", partition_assignment_strategy="[com.acme.ZoneAwareAssignor]").version("4.1.1")
    assert not {COOPERATIVE, KIP_848} & set(offered(logs.timeline()))
