"""Before 2.7 no coordinator counts the members of a generation; its barrier waits for the dead all the same."""

from __future__ import annotations

from rebalance_forensics.diagnosis.case import investigate
from tests.diagnosis.logs import Logs
from tests.kafka_words import member_id

STABLE = "Stabilized group payments generation {} (__consumer_offsets-13)"
OPENED = (
    "Preparing to rebalance group payments in state PreparingRebalance with old generation {} (__consumer_offsets-13)"
)


def worker(number: int) -> str:
    """The member id of one process; Kafka calls the first client of each by the same name."""
    return member_id("connect-1", number)


def comes(logs: Logs, seconds: float, number: int, generation: int, took: float) -> None:
    message = f" (reason: Adding new member {worker(number)} with group instance id None)"
    logs.coordinator(seconds, OPENED.format(generation - 1) + message)
    logs.coordinator(seconds + took, STABLE.format(generation))


def participants(*, took: float) -> list[list[str]]:
    logs = Logs()
    comes(logs, 0, 1, 1, 3)
    comes(logs, 60, 2, 2, took)
    return sorted(sorted(a.member_ids) for a in logs.timeline().membership.members)


def test_two_ids_of_one_client_that_are_in_after_a_short_barrier_are_two_processes() -> None:
    assert participants(took=1) == [[worker(1)], [worker(2)]]


def test_a_join_phase_as_long_as_a_session_may_have_lost_the_first_member_silently() -> None:
    assert participants(took=30) == [[worker(1), worker(2)]]


def test_a_third_process_of_the_same_name_is_a_scale_out() -> None:
    logs = Logs()
    comes(logs, 0, 1, 1, 3)
    comes(logs, 3.2, 2, 2, 0.5)
    comes(logs, 120, 3, 3, 1)
    cause = investigate("default", "payments", logs.events, []).incidents[-1].root_causes[0]
    assert (cause.cause, [c.name for c in cause.culprits]) == ("scale-out", [worker(3)])
