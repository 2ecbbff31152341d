"""Spans that follow from a group's own settings, where logs tell them."""

from __future__ import annotations

from rebalance_forensics.diagnosis.absences import setting
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import (
    CLOCK_SLACK_MS,
    HEARTBEAT_INTERVAL_MS,
    OFFSETS_WRITE_MS,
)


def heartbeat_interval_ms(timeline: Timeline) -> int:
    """heartbeat.interval.ms, as far as a log shows it."""
    return setting(timeline, "heartbeat.interval.ms", HEARTBEAT_INTERVAL_MS)


def all_have_heard_ms(timeline: Timeline) -> int:
    """How long it takes until every member knows of a rebalance: each hears of it at a heartbeat, one may be lost."""
    return 3 * heartbeat_interval_ms(timeline) + CLOCK_SLACK_MS


def offsets_write_ms(timeline: Timeline) -> int:
    """How long a coordinator waits for a write to `__consumer_offsets`."""
    return setting(timeline, "offsets.commit.timeout.ms", OFFSETS_WRITE_MS)
