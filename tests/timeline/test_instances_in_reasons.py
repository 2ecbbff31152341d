"""Static members from brokers of 2.3 to 2.6 alone: only the reason of a rebalance tells their group.instance.id."""

from __future__ import annotations

from rebalance_forensics.diagnosis.case import investigate
from tests.diagnosis.logs import Logs
from tests.kafka_words import member_id

INSTANCE = "ledger-2"
OPENED = "Preparing to rebalance group payments in state PreparingRebalance with old generation {} "
STABLE = "Stabilized group payments generation {} (__consumer_offsets-3)"


def comes(logs: Logs, seconds: float, number: int, generation: int) -> None:
    reason = f"Adding new member {member_id(INSTANCE, number)} with group instanceid Some({INSTANCE})"
    logs.coordinator(seconds, OPENED.format(generation - 1) + f"(__consumer_offsets-3) (reason: {reason})")
    logs.coordinator(seconds + 3, STABLE.format(generation))


def test_a_member_that_was_added_with_an_instance_id_is_static() -> None:
    logs = Logs()
    comes(logs, 0, 1, 1)
    assert [a.instance_ids for a in logs.timeline().membership.members] == [{INSTANCE}]


def test_a_static_member_that_expires_and_is_back_later_was_away_too_long() -> None:
    logs = Logs()
    comes(logs, 0, 1, 1)
    gone = member_id(INSTANCE, 1)
    logs.coordinator(90, f"Member {gone} in group payments has failed, removing it from the group")
    expired = f"(__consumer_offsets-3) (reason: removing member {gone} on heartbeat expiration)"
    logs.coordinator(90.1, OPENED.format(1) + expired)
    comes(logs, 120, 2, 3)
    causes = [i.root_causes[0].cause for i in investigate("default", "payments", logs.events, []).incidents]
    assert "static-member-expired" in causes
    assert "process-pause" not in causes
