"""Python's `[time: LEVEL]: msg`, as aiokafka's examples and Celery write it; Flask's `[time] LEVEL in module: msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LOGGER, TextLayout, pattern

SAMPLE = "[2026-11-20 10:15:30,123: WARNING/MainProcess] Heartbeat failed for group payments because it is rebalancing"
REJECT = "[2026-11-20 10:15:30,123] WARNING Heartbeat failed"

LAYOUT = TextLayout(
    header=pattern(
        rf"\[(?P<time>{DATED})(?::? \s*(?P<level>{LEVEL})(?:/(?P<thread>[^\]\n]*))?\]:? (?:(?P<logger>{LOGGER}): )?"
        rf"|\] (?P<level2>{LEVEL}) in (?P<logger2>[a-z_]\w*): "
        rf"|\] ?\[\w+\.py:\d+\] ?\[(?P<level3>{LEVEL}) *\]:? ?|\] ?\[(?P<level4>{LEVEL}) *\] ?\[\w+\.py:\d+\]:? ?"
        r")(?P<message>.*)"
    ),
    starts=(b"[20",),
    rank=18,
)
