from __future__ import annotations

from dataclasses import replace

from rebalance_forensics.diagnosis.model import WhatIf
from rebalance_forensics.diagnosis.static_membership import STATIC
from rebalance_forensics.diagnosis.what_if import COOPERATIVE, KIP_848, alternatives
from tests.diagnosis.logs import Logs, at

UUID = "5b1c0000-0000-4000-8000-00000000000"
MEMBERS = {f"c-{n}": f"c-{n}-{UUID}{n}" for n in (1, 2, 3)}
OFFSETS = "(__consumer_offsets-13)"


def a_rebalance(logs: Logs, seconds: float, generation: int, members: list[str], reason: str, takes: float = 2) -> None:
    """Let the coordinator open the join phase and close it two seconds later."""
    logs.coordinator(
        seconds,
        "Preparing to rebalance group payments in state PreparingRebalance with old generation "
        f"{generation - 1} {OFFSETS} (reason: {reason})",
    )
    logs.coordinator(
        seconds + takes, f"Stabilized group payments generation {generation} {OFFSETS} with {len(members)} members"
    )
    for member in members:
        logs.consumer(
            seconds + takes,
            f"Successfully joined group with generation Generation{{generationId={generation}, "
            f"memberId='{MEMBERS.get(member, member)}', protocol='range'}}",
            client=member[:3],
            host=f"app-{member[2]}",
        )
    logs.coordinator(
        seconds + takes + 0.1,
        f"Assignment received from leader {MEMBERS[members[0]]} for group payments for generation {generation}. "
        f"The group has {len(members)} members, 0 of which are static.",
    )


def a_pause(logs: Logs, client: str, begin: float, end: float, before: str, after: str) -> None:
    """Let a consumer give up partitions and get some."""
    host = f"app-{client[2]}"
    logs.consumer(begin, f"Revoke previously assigned partitions {before}", client=client, host=host)
    logs.consumer(end, f"Adding newly assigned partitions: {after}", client=client, host=host)


def a_close_and_a_return(away: float) -> Logs:
    """Let c-2 close and come back: two rebalances, and c-1 pauses in both and keeps orders-0."""
    logs = Logs()
    a_rebalance(logs, 0, 4, ["c-1", "c-2"], f"Updating metadata for member {MEMBERS['c-1']} during Stable")
    logs.coordinator(
        60,
        f"Member MemberMetadata(memberId={MEMBERS['c-2']}, groupInstanceId=None, clientId=c-2, clientHost=/10.0.0.7, "
        "sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)) has left group payments "
        "through explicit `LeaveGroup`; client reason: the consumer is being closed",
    )
    a_rebalance(logs, 60, 5, ["c-1"], f"explicit `LeaveGroup` request for ({MEMBERS['c-2']}) members.")
    a_pause(logs, "c-1", 60.5, 62.5, "orders-0, orders-1", "orders-0, orders-1, orders-2, orders-3")
    back = f"c-2-{UUID}9"
    a_rebalance(
        logs,
        60 + away,
        6,
        ["c-1", back],
        f"Adding new member {back} with group instance id None; client reason: not provided",
    )
    a_pause(logs, "c-1", 60.5 + away, 62.5 + away, "orders-0, orders-1, orders-2, orders-3", "orders-0, orders-1")
    logs.consumer(62.5 + away, "Adding newly assigned partitions: orders-2, orders-3", client="c-2", host="app-2")
    return logs


def asked(logs: Logs, *causes: str) -> dict[str, WhatIf]:
    timeline = logs.timeline()
    rebalances = timeline.rebalances[1:]
    found = alternatives(timeline, rebalances[0].started_at, rebalances[-1].ended_at(), causes, rebalances)
    return {w.alternative: w for w in found}


def test_under_static_membership_a_member_back_within_its_session_costs_nothing() -> None:
    static = asked(a_close_and_a_return(away=20), "member-left")[STATIC]
    assert static.spared_pause_ms == 4_000
    assert "so none of the 2 rebalances would have happened." in static.explanation


def test_under_static_membership_a_member_that_stays_away_longer_costs_the_same() -> None:
    static = asked(a_close_and_a_return(away=100), "member-left")[STATIC]
    assert static.spared_pause_ms == 0
    assert "longest absence took 1 min 40 s" in static.explanation


def test_under_cooperative_rebalancing_only_partitions_that_moved_would_have_paused() -> None:
    spared = asked(a_close_and_a_return(away=20), "member-left")[COOPERATIVE]
    # The first pause gave everything back; the second half of it.
    assert spared.spared_pause_ms == 2_000 + 1_000
    assert "3.0 s of 4.0 s" in spared.explanation


def test_under_kip_848_moved_partitions_would_not_have_waited_in_the_join_phase_either() -> None:
    spared = asked(a_close_and_a_return(away=20), "member-left")[KIP_848]
    # Of the second pause, 1.5 s lay in the join phase; half of its partitions moved.
    assert spared.spared_pause_ms == 2_000 + 1_000 + 750


def test_without_client_logs_no_pause_is_invented() -> None:
    logs = a_close_and_a_return(away=20)
    logs.events = [e for e in logs.events if e.speaker.role == "broker"]
    found = asked(logs, "member-left")
    assert found[STATIC].spared_pause_ms is None
    assert all(w.spared_pause_ms is None for w in found.values())


def test_what_the_group_uses_already_is_left_out() -> None:
    logs = a_close_and_a_return(away=20)
    timeline = replace(logs.timeline(), mode="cooperative")
    found = alternatives(timeline, at(60), at(90), ["member-left"], timeline.rebalances[1:])
    assert COOPERATIVE not in {w.alternative for w in found}
    timeline = replace(timeline, protocol="consumer")
    found = alternatives(timeline, at(60), at(90), ["member-left"], timeline.rebalances[1:])
    assert {w.alternative for w in found} == {STATIC}


def test_a_start_of_everybody_has_no_alternative() -> None:
    assert asked(a_close_and_a_return(away=20), "startup") == {}
