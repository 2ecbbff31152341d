"""What ruby-kafka says of a group, through Ruby's logger, through JSON, with its tag and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.diagnosis.other_clients import causes, incidents

TAG = "[[payments] {orders: 0, 2}:] "


def logged(second: int, level: str, message: str) -> str:
    """A line of Ruby's own logger."""
    return f"{level[0]}, [2026-03-01T01:10:{second:02}.779345 #4711] {level:>5} -- : {message}"


def forgotten() -> list[str]:
    """A consumer that was too late for its group and joined anew."""
    return [
        logged(1, "INFO", f"{TAG}Seeking orders/2 to offset 42"),
        logged(40, "ERROR", f"{TAG}Error sending heartbeat: Kafka::UnknownMemberId"),
        logged(40, "INFO", f"{TAG}Joining group `payments`"),
        logged(40, "ERROR", f"{TAG}Failed to join group; resetting member id and retrying in 1s..."),
        logged(41, "INFO", f"{TAG}Joining group `payments`"),
        logged(42, "INFO", f"{TAG}Joined group `payments` with member id `shop-0a5a1a51-9a4c-4e0e-a7a8-2f1b1f7f7b11`"),
    ]


def test_a_consumer_unknown_to_its_coordinator_lost_its_membership_without_a_known_cause(tmp_path: Path) -> None:
    (incident,) = incidents(tmp_path, *forgotten())
    assert incident.group == "payments"
    confidences = {cause.cause: cause.confidence for cause in incident.root_causes}
    assert {"process-pause", "slow-processing"} <= confidences.keys()
    assert max(confidences.values()) <= 0.55


def test_its_tag_names_the_group_of_lines_that_do_not(tmp_path: Path) -> None:
    (incident,) = incidents(tmp_path, logged(40, "WARN", f"{TAG}Error sending heartbeat: Kafka::RebalanceInProgress"))
    assert incident.group == "payments"
    assert causes((incident,)) == ["unexplained"]


@pytest.mark.parametrize("tag", [TAG, ""])
def test_as_json_it_says_the_same(tmp_path: Path, tag: str) -> None:
    messages = [
        ("ERROR", f"{tag}Error sending heartbeat: Kafka::UnknownMemberId"),
        ("INFO", f"{tag}Joining group `payments`"),
    ]
    lines = [
        json.dumps({"level": level, "message": message, "timestamp": f"2026-03-01T01:10:0{second}+00:00"})
        for second, (level, message) in enumerate(messages)
    ]
    (incident,) = incidents(tmp_path, *lines)
    assert incident.group == "payments"


def test_a_log_that_begins_with_the_tag_of_a_consumer_is_no_list_in_json(tmp_path: Path) -> None:
    (incident,) = incidents(tmp_path, "[[payments] {}:] Error sending heartbeat: Kafka::UnknownMemberId")
    assert incident.group == "payments"


def test_a_consumer_whose_joingroup_times_out_again_and_again_does_not_get_into_its_group(tmp_path: Path) -> None:
    """ruby-kafka waits for JoinGroup no longer than for any request; the group may rebalance for longer."""
    attempts = [
        line
        for second in (1, 7, 13, 19)
        for line in (
            logged(second, "ERROR", "[[payments] {}:] [join_group] Timed out while waiting for response 2"),
            logged(
                second, "ERROR", "[[payments] {}:] Connection error while trying to join group `payments`; retrying..."
            ),
        )
    ]
    (incident,) = incidents(tmp_path, *attempts)
    cause = incident.root_causes[0]
    assert (cause.cause, incident.severity) == ("unexplained", "warning")
    assert "asked to join 4 times" in cause.narrative
    assert "JoinGroup failed 4 times (REQUEST_TIMED_OUT)" in cause.narrative
