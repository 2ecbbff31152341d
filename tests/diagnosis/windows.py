"""Logs that begin after the group formed, or end before its trouble does."""

from __future__ import annotations

from tests.story import Story, ms


def begun_at(story: Story, time: str) -> Story:
    """Only what was logged from then on."""
    story.events = [e for e in story.events if (e.at or 0) >= ms(time)]
    return story


def ended_at(story: Story, time: str) -> Story:
    """Only what was logged until then."""
    story.events = [e for e in story.events if (e.at or 0) <= ms(time)]
    return story
