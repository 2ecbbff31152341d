from __future__ import annotations

from itertools import pairwise

from rebalance_forensics.timeline.clocks.file_clocks import step_of
from rebalance_forensics.timeline.group_timeline import Timeline
from tests.diagnosis.logs import NOON, Logs

MEMBER = "c-1-5b1c0000-0000-4000-8000-000000000001"
OLD = "c-1-5b1c0000-0000-4000-8000-000000000009"


def evicted_and_back(behind: float = 0.0) -> Timeline:
    """The coordinator logs milliseconds; the client's layout has none, and its clock may be behind."""
    logs = Logs()
    logs.coordinator(8.991, f"Member {OLD} in group payments has failed, removing it from the group")
    logs.coordinator(
        8.992,
        "Preparing to rebalance group payments in state PreparingRebalance with old generation 1 "
        f"(__consumer_offsets-13) (reason: removing member {OLD} on heartbeat expiration)",
    )
    logs.coordinator(10.199, "Stabilized group payments generation 2 (__consumer_offsets-13) with 1 members")
    logs.coordinator(
        17.098,
        "Dynamic member with unknown member id joins group payments in Stable state. Created a new member id "
        f"{MEMBER} and request the member to rejoin with this id.",
    )
    logs.coordinator(
        17.754,
        f"Assignment received from leader {MEMBER} for group payments for generation 3. The group has 2 members, "
        "0 of which are static.",
    )
    generation = f"Generation{{generationId=3, memberId='{MEMBER}', protocol='range'}}"
    for seconds, message in (
        (3, "Subscribed to topic(s): orders"),
        (12, "Attempt to heartbeat failed since group is rebalancing"),
        (17, "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from OFFSET_COMMIT response"),
        (17, f"Request joining group due to: need to re-join with the given member-id: {MEMBER}"),
        (17, f"Successfully synced group in generation {generation}"),
        (20, "Revoke previously assigned partitions orders-1"),
    ):
        logs.consumer(seconds - behind, message)
    return logs.timeline()


def times(timeline: Timeline) -> list[float]:
    """When the client said its lines, in seconds from noon."""
    return [((e.at or 0) - NOON) / 1000 for e in timeline.group_events if e.speaker.role == "consumer"]


def test_a_line_before_the_join_was_written_before_the_coordinator_issued_the_member_id() -> None:
    assert times(evicted_and_back())[2:] == [17.097, 17.098, 17.754, 20.5]


def test_times_without_milliseconds_are_not_a_slow_clock() -> None:
    (clock,) = [clock for clock in evicted_and_back().clocks if clock.path == "app-1/app.log"]
    assert (clock.step_ms, clock.skew_ms, clock.shift_ms) == (1000, None, 0)


def test_a_clock_that_is_minutes_slow_is_corrected_nevertheless() -> None:
    timeline = evicted_and_back(behind=90)
    (clock,) = [clock for clock in timeline.clocks if clock.path == "app-1/app.log"]
    assert -91_000 < (clock.skew_ms or 0) < -89_000
    assert all(before <= after for before, after in pairwise(times(timeline)))
    assert abs(times(timeline)[-1] - 20.5) < 1


def test_the_coordinators_lines_keep_the_milliseconds_that_they_have() -> None:
    lines = [((e.at or 0) - NOON) / 1000 for e in evicted_and_back().group_events if e.speaker.role == "broker"]
    assert lines == [8.991, 8.992, 10.199, 17.098, 17.754]


def test_a_few_lines_that_happen_to_end_in_zeros_prove_no_layout() -> None:
    assert step_of([1_000, 2_000, 3_000]) == 1
    assert step_of([1_000, 2_000, 3_000, 4_000]) == 1_000
    assert step_of([60_000, 120_000, 180_000, 240_000]) == 60_000
    assert step_of([1_000, 2_000, 3_000, 4_000, 4_001]) == 1
