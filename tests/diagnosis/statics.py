"""Static members: those with a group.instance.id."""

from __future__ import annotations

from tests.kafka_words import member_id
from tests.story import Story


def static_group(*pods: str) -> Story:
    """A group of static members that formed at one o'clock."""
    story = Story()
    for pod in pods:
        story.says(
            "01:00:00.000",
            f"Static member with groupInstanceId={pod} and unknown member id joins group payments in "
            f"PreparingRebalance state. Created a new member id {member_id(pod)} for this member and add to the group.",
        )
    story.broker(
        "01:00:00.010",
        story.words.preparing(
            0,
            f"Adding new member {member_id(pods[0])} with group instance id "
            f"Some({pods[0]}); client reason: not provided",
        ),
    )
    story.broker("01:00:03.000", story.words.stabilized(1, len(pods)))
    story.broker("01:00:03.010", story.words.assigned(1, len(pods), member_id(pods[0])))
    story.generation = 1
    return story


def replaced(story: Story, pod: str, time: str) -> Story:
    """A static member comes back in time under a new member id."""
    old = story.id_of(pod)
    story.says(
        time,
        f"Static member with groupInstanceId={pod} and unknown member id joins group payments in Stable state. "
        f"Replacing previously mapped member {old} with this groupInstanceId.",
    )
    story.says(
        time,
        "Static member which joins during Stable stage and doesn't affect selectProtocol will not trigger rebalance.",
    )
    return story.reborn(pod)


def said_by_static(story: Story, client: str, pod: str, time: str, message: str) -> Story:
    """A consumer with a group.instance.id says something in its own app.log."""
    return story.line(
        f"{client}/app.log", time, f"[Consumer instanceId={pod}, clientId={client}, groupId=payments] {message}"
    )
