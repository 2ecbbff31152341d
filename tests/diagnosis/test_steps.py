from __future__ import annotations

from rebalance_forensics.diagnosis.wording.event_text import what_happened
from tests.diagnosis.logs import Logs

MEMBER = "c-1-1b4e28ba-2fa1-41d2-883f-0016d3cca427"


def only_step(logs: Logs) -> str:
    (event,) = logs.events
    return what_happened(event)


def test_a_step_names_its_client_and_does_not_repeat_the_member_id() -> None:
    coordinator = "b:9092 (id: 2147483646 rack: null)"
    message = (
        f"Member {MEMBER} sending LeaveGroup request to coordinator {coordinator} due to the consumer is being closed"
    )
    logs = Logs().consumer(1, message)
    assert only_step(logs) == "c-1: sent LeaveGroup, the consumer is being closed"


def test_a_broker_names_the_generation_and_cuts_random_ids() -> None:
    logs = Logs().coordinator(
        1,
        "Preparing to rebalance group payments in state PreparingRebalance with old generation 7 "
        f"(__consumer_offsets-13) (reason: removing member {MEMBER} on heartbeat expiration)",
    )
    assert only_step(logs) == (
        "broker-1: rebalance started, generation 7, removing member c-1-1b4e28ba… on heartbeat expiration"
    )


def test_a_broker_names_the_member_it_gave_up() -> None:
    logs = Logs().coordinator(1, f"Member {MEMBER} in group payments has failed, removing it from the group")
    assert only_step(logs) == "broker-1: member failed, c-1-1b4e28ba…"


def test_a_controller_that_fences_a_broker_is_not_the_one_that_stopped() -> None:
    logs = Logs().broker(3, "[QuorumController id=3] Fencing broker 1 because its session has timed out.", "broker-3")
    assert only_step(logs) == "broker-3: fenced broker-1"


def test_a_reason_is_its_first_sentence() -> None:
    reason = (
        "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
        "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time."
    )
    message = f"Member {MEMBER} sending LeaveGroup request to coordinator b:9092 (id: 1 rack: null) due to {reason}"
    assert only_step(Logs().consumer(1, message)) == "c-1: sent LeaveGroup, consumer poll timeout has expired"


def test_a_cause_that_java_prints_as_null_is_not_a_cause() -> None:
    message = (
        "Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: null. "
        "isDisconnected: true. Rediscovery will be attempted."
    )
    assert only_step(Logs().consumer(1, message)) == "c-1: coordinator lost"
