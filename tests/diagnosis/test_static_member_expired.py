from __future__ import annotations

import pytest

from tests.diagnosis.closings import APP_INFO
from tests.diagnosis.expiries import evicted
from tests.diagnosis.static_epochs import FORMED, OTHER, two_pods
from tests.diagnosis.statics import static_group
from tests.kafka_words import member_id
from tests.story import Story


def test_a_static_member_that_stays_away_too_long_is_removed() -> None:
    story = static_group("pod-1", "pod-2")
    member = story.id_of("pod-2")
    story.broker("01:10:00.000", story.words.failed(member))
    story.broker("01:10:00.001", story.words.preparing(1, f"removing member {member} on heartbeat expiration"))
    story.broker("01:10:00.500", story.words.stabilized(2, 1))
    story.broker("01:10:00.510", story.words.assigned(2, 1, story.id_of("pod-1")))
    assert story.causes() == ["static-member-expired"]
    assert story.blamed() == ["pod-2"]
    assert story.the_incident().generations == (2,)


def expired_in_turn(*pods: str) -> Story:
    """Static members expire and return, one after another, a minute apart."""
    story = static_group(*pods)
    for number, pod in enumerate(pods):
        old, minute, before, stays = story.id_of(pod), 10 + number, 1 + 2 * number, len(pods) - 1
        leader = story.id_of(next(other for other in pods if other != pod))
        story.broker(f"01:{minute}:00.000", story.words.failed(old))
        story.broker(
            f"01:{minute}:00.001", story.words.preparing(before, f"removing member {old} on heartbeat expiration")
        )
        story.broker(f"01:{minute}:00.500", story.words.stabilized(before + 1, stays))
        story.broker(f"01:{minute}:00.510", story.words.assigned(before + 1, stays, leader))
        new = story.reborn(pod).id_of(pod)
        story.says(
            f"01:{minute}:06.000",
            f"Static member with groupInstanceId={pod} and unknown member id joins group payments in Stable state. "
            f"Created a new member id {new} for this member and add to the group.",
        )
        why = f"Adding new member {new} with group instance id Some({pod}); client reason: not provided"
        story.broker(f"01:{minute}:06.001", story.words.preparing(before + 1, why))
        story.broker(f"01:{minute}:06.500", story.words.stabilized(before + 2, stays + 1))
        story.broker(f"01:{minute}:06.510", story.words.assigned(before + 2, stays + 1, leader))
    return story


def test_two_static_members_that_expire_and_return_in_turn_show_no_deployment() -> None:
    assert set(expired_in_turn("pod-1", "pod-2").causes()) == {"static-member-expired"}


def test_a_deployment_that_keeps_static_members_down_for_longer_than_their_session_is_no_planned_one() -> None:
    pods = ("pod-1", "pod-2", "pod-3")
    story = expired_in_turn(*pods)
    for minute, pod in enumerate(pods, 10):
        log, prefix = f"{pod}/app.log", f"[Consumer instanceId={pod}, clientId={pod}, groupId=payments]"
        settings = (
            f"\tclient.id = {pod}\n\tgroup.id = payments\n\tgroup.instance.id = {pod}\n\tsession.timeout.ms = 10000"
        )
        for start in ("01:00:00", f"01:{minute}:05"):
            story.line(
                log,
                f"{start}.000",
                f"ConsumerConfig values: \n{settings}",
                logger="org.apache.kafka.clients.consumer.ConsumerConfig",
            )
            story.line(log, f"{start}.500", f"{prefix} Subscribed to topic(s): orders")
        stopped = f"App info kafka.consumer for {pod} unregistered"
        story.line(log, f"01:{minute - 1:02}:50.000", stopped, logger=APP_INFO)
    incident = story.the_incident()
    assert [cause.cause for cause in incident.root_causes] == ["rolling-restart"]
    assert incident.severity == "warning"
    (advice,) = incident.root_causes[0].advice
    assert advice.action.startswith("Raise session.timeout.ms")
    assert advice.why.startswith("pod-1 was down for 16 s")


def test_the_expiry_of_a_dynamic_member_is_another_story() -> None:
    assert "static-member-expired" not in evicted().causes()


def test_a_kip_848_member_whose_partitions_are_given_away_after_it_left_for_a_while_has_expired() -> None:
    story = two_pods().closes("pod-1", FORMED, "01:10:00.000", 2, leaves_with=-2)
    story.given("pod-2", OTHER, "01:10:46.000", 3, "orders-0, orders-1")
    assert story.causes() == ["static-member-expired"]
    assert story.blamed() == ["pod-1"]


@pytest.mark.parametrize(("static", "cause"), [(3, "static-member-expired"), (0, "process-crash")])
def test_a_coordinator_that_counts_static_members_tells_them_though_its_log_begins_later(
    static: int, cause: str
) -> None:
    story = Story(seen="brokers", generation=7)
    counted = f"The group has 3 members, {static} of which are static."
    story.says(
        "01:00:00.000", f"Assignment received from leader pod-1-77aa for group payments for generation 7. {counted}"
    )
    story.says("01:10:00.000", f"Member {member_id('pod-3')} in group payments has failed, removing it from the group")
    reason = f"removing member {member_id('pod-3')} on heartbeat expiration"
    story.broker("01:10:00.001", story.words.preparing(7, reason))
    story.broker("01:10:01.000", story.words.stabilized(8, 2))
    assert story.causes() == [cause]
