"""What is planned is info; the same thing minute after minute disturbs the group like a fault, whatever it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.diagnosis.closings import closes, comes
from tests.diagnosis.statics import replaced, static_group
from tests.story import Story, clock, ms

BEGIN = ms("01:10:00.000")


def rejoined(reason: str, times: int, every_s: int) -> Story:
    """A member rejoins for the same reason again and again."""
    story = Story().formed("c-1", "c-2")
    for number in range(times):
        at = BEGIN + number * every_s * 1000
        story.client("c-2", clock(at - 10), f"Request joining group due to: {reason}")
        update = f"Updating metadata for member {story.id_of('c-2')} during Stable; client reason: {reason}"
        story.rebalanced(clock(at), update, ["c-1", "c-2"])
    return story


def enforced(times: int, every_s: int) -> Story:
    return rejoined("rebalance enforced by user", times, every_s)


def subscribed(times: int, every_s: int) -> Story:
    change = "subscription has changed from [orders] at the beginning of the rebalance to [orders, refunds]"
    return rejoined(change, times, every_s)


def restarted_in_place(times: int, every_s: int) -> Story:
    story = static_group("pod-1", "pod-2")
    for number in range(times):
        replaced(story, "pod-2", clock(BEGIN + number * every_s * 1000))
    return story


def deployed(times: int, every_s: int) -> Story:
    everyone = ["c-1", "c-2", "c-3"]
    story = Story().formed(*everyone)
    for number, client in enumerate(everyone * times):
        at = BEGIN + number * every_s * 1000
        stay = [name for name in everyone if name != client]
        closes(story, client, clock(at), stay)
        comes(story, client, clock(at + 8_000), [*stay, client])
    return story


@pytest.mark.parametrize("plan", [enforced, subscribed, restarted_in_place, deployed])
def test_a_plan_that_is_carried_out_again_every_minute_is_a_warning(plan: Callable[[int, int], Story]) -> None:
    assert {incident.severity for incident in plan(1, 60).incidents()} == {"info"}
    assert "warning" in {incident.severity for incident in plan(15 if plan is not deployed else 6, 60).incidents()}


@pytest.mark.parametrize("plan", [enforced, subscribed])
def test_a_plan_that_takes_several_steps_at_once_is_info(plan: Callable[[int, int], Story]) -> None:
    assert {incident.severity for incident in plan(6, 2).incidents()} == {"info"}
