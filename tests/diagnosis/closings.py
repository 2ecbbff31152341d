"""Members that close their consumers cleanly."""

from __future__ import annotations

from collections.abc import Sequence

from tests.story import Story, clock, ms

COORDINATOR = "broker-2:9092 (id: 2147483645 rack: null)"
LEAVING = "Member {} sending LeaveGroup request to coordinator " + COORDINATOR + " due to {}"
CLOSED = "the consumer is being closed"
APP_INFO = "org.apache.kafka.common.utils.AppInfoParser"


def closes(story: Story, client: str, time: str, stay: Sequence[str], why: str = CLOSED) -> Story:
    """One client leaves; the others rebalance, if there are any."""
    old = story.id_of(client)
    goodbye = _goodbye(story, old, why)
    if goodbye is not None:
        story.client(client, time, goodbye)
    if why == CLOSED and story.release >= (2, 7):
        story.line(f"{client}/app.log", time, f"App info kafka.consumer for {client} unregistered", logger=APP_INFO)
    if story.release >= (2, 2):
        story.broker(time, story.words.left(old, why))
    story.reborn(client)
    if stay:
        return story.rebalanced(time, story.words.leaving(old, why), stay)
    story.broker(time, story.words.preparing(story.generation, story.words.leaving(old, why)))
    return story.broker(time, story.words.empty(story.generation + 1))


def _goodbye(story: Story, member: str, why: str) -> str | None:
    """What the client says at INFO: nothing before 2.1, no member before 2.2, no reason before 2.4."""
    if story.release >= (2, 4):
        return LEAVING.format(member, why)
    if story.release >= (2, 2):
        return f"Member {member} sending LeaveGroup request to coordinator {COORDINATOR}"
    return f"Sending LeaveGroup request to coordinator {COORDINATOR}" if story.release >= (2, 1) else None


def comes(story: Story, client: str, time: str, members: Sequence[str]) -> Story:
    """A process starts and joins the others."""
    story.started(client, clock(ms(time) - 2_000))
    return story.rebalanced(time, story.words.adding(story.id_of(client)), members)
