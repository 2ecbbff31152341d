"""A Deployment with maxSurge: a new pod joins, an old one leaves, and again, under new names each time."""

from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.story import Side, Story, clock, ms

PODS = ("x2k4q", "b7wzn", "m9t5h", "c3vld", "q8rjp", "z6nfs")
STEP_MS = 20_000


def rolled_out(seen: Side, until: int = 6) -> Story:
    """Six members, of which the first so many are replaced, one every twenty seconds."""
    old = [f"orders-7d9f6c5b8-{pod}" for pod in PODS]
    story, members = Story(seen=seen).formed(*old), list(old)
    for step, gone in enumerate(old[:until]):
        new = f"orders-58c4d9f77b-{PODS[-1 - step]}"
        members = [*members, new]
        comes(story, new, clock(ms("01:10:00.000") + step * STEP_MS), members)
        members = [member for member in members if member != gone]
        closes(story, gone, clock(ms("01:10:00.000") + step * STEP_MS + STEP_MS // 2), members)
    return story


def sure(story: Story) -> dict[str, float]:
    return {i.root_causes[0].cause: i.root_causes[0].confidence for i in story.incidents()}


@pytest.mark.parametrize("seen", ["both", "clients", "brokers"])
@pytest.mark.parametrize("begin", ["00:00:00", "01:10:05", "01:10:25"])
def test_a_rollout_of_which_the_logs_show_a_part_is_no_scaling(seen: Side, begin: str) -> None:
    story = rolled_out(seen)
    end = max(ms(f"{begin}.000"), ms("01:10:00.000")) + 2 * STEP_MS
    story.events = [e for e in story.events if ms(f"{begin}.000") <= (e.at or 0) <= end]
    verdicts = sure(story)
    assert max(verdicts.get("scale-out", 0.0), verdicts.get("scale-in", 0.0)) < 0.6
    assert verdicts.get("rolling-restart", 0.0) < 0.9
    if seen != "brokers":
        assert "rolling-restart" in verdicts


def test_members_replaced_while_most_stayed_are_not_a_rollout_if_the_logs_continue() -> None:
    story = rolled_out("both", until=2).goes_on("01:30:00.000")
    assert "rolling-restart" not in sure(story)
    assert sure(story)["scale-out"] < 0.6


def restarted_in_turn(seen: Side) -> Story:
    """Six members under lasting names; each closes, and is back before the next one does."""
    clients = [f"c-{number}" for number in range(1, 7)]
    story = Story(seen=seen).formed(*clients)
    for step, client in enumerate(clients):
        begin = ms("01:10:00.000") + step * STEP_MS
        closes(story, client, clock(begin), [one for one in clients if one != client])
        comes(story, client, clock(begin + STEP_MS // 2), clients)
    return story


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_deployment_of_which_the_logs_show_two_members_is_one(seen: Side) -> None:
    story = restarted_in_turn(seen)
    story.events = [e for e in story.events if ms("01:10:15.000") <= (e.at or 0) <= ms("01:10:55.000")]
    assert sure(story) == {"rolling-restart": 0.75}


@pytest.mark.parametrize(("until", "known"), [("01:10:15.000", False), ("01:40:00.000", True)])
def test_one_restart_may_be_a_step_of_a_deployment_where_the_logs_end_soon(until: str, *, known: bool) -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-1", "01:10:00.000", ["c-2", "c-3"])
    comes(story, "c-1", "01:10:10.000", ["c-1", "c-2", "c-3"]).goes_on(until)
    (cause, *_) = story.the_incident().root_causes
    assert cause.narrative == "c-1 shut down and was started again."
    assert (cause.confidence >= 0.75) is known
