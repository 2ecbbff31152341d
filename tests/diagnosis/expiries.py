"""Groups of three of which one loses its session."""

from __future__ import annotations

from tests.kafka_words import Release
from tests.story import Side, Story


def evicted(release: Release = (3, 9), seen: Side = "both") -> Story:
    """c-3 sends no heartbeat for 45 s; at 01:10:00 the coordinator gives up on it."""
    story = Story(release=release, seen=seen).formed("c-1", "c-2", "c-3")
    member = story.id_of("c-3")
    story.broker("01:10:00.000", story.words.failed(member))
    return story.rebalanced("01:10:00.001", f"removing member {member} on heartbeat expiration", ["c-1", "c-2"])
