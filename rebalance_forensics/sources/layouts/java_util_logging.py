"""java.util.logging's two lines: time, class and method, then level and message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import LEVEL, LOGGER, MONTHS, TextLayout, pattern

SAMPLE = (
    "Nov 20, 2026 10:15:30 AM org.apache.kafka.clients.consumer.internals.AbstractCoordinator "
    "sendJoinGroupRequest\nINFO: [Consumer clientId=c, groupId=g] (Re-)joining group"
)
REJECT = "Nov 20 10:15:30 b1 kafka[812]: INFO: (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<time>[A-Z][a-z]{{2}} \d{{1,2}}, \d{{4}},? \d{{1,2}}:\d\d:\d\d(?:\.\d+)?\s[AP]M) "
        rf"(?P<logger>(?!{LEVEL}\b){LOGGER})(?: \S+)?[ \t]*"
        rf"(?:\r?\n(?P<level>{LEVEL}): ?(?P<message>.*)|\Z)"
    ),
    starts=tuple(month + b" " for month in MONTHS),
    rank=20,
)
