from __future__ import annotations

from tests.diagnosis.closings import comes
from tests.story import Story

ALL = ["c-1", "c-2", "c-3"]


def killed(story: Story, client: str, minute: int) -> None:
    """Its log breaks off, its session expires, and a new process of it starts."""
    dead, stay = story.id_of(client), [c for c in ALL if c != client]
    story.broker(f"01:{minute}:10.000", story.words.failed(dead))
    story.reborn(client).rebalanced(f"01:{minute}:10.001", f"removing member {dead} on heartbeat expiration", stay)
    story.started(client, f"01:{minute}:25.000")
    comes(story, client, f"01:{minute}:28.000", [*stay, client])


def test_two_of_three_processes_that_are_killed_one_after_the_other_are_two_crashes() -> None:
    story = Story().formed(*ALL)
    killed(story, "c-1", 10)
    killed(story, "c-2", 12)
    assert set(story.causes()) == {"process-crash"}


def test_a_deployment_that_kills_every_process_in_turn_is_one_still() -> None:
    story = Story().formed(*ALL)
    for minute, client in enumerate(ALL, 10):
        killed(story, client, minute)
    assert story.causes() == ["rolling-restart"]
