"""A date, level and thread in either order, a logger, a dash, the message: logback, log4j2, Strimzi 4, Python."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, LOGGER, NESTING, TextLayout, pattern

SAMPLE = (
    "2026-11-20 10:15:30 INFO  [group-coordinator-event-processor-0] GroupCoordinatorShard:456 - "
    "[GroupCoordinator id=1] Finished loading"
)
REJECT = (
    "2026-11-20 10:15:30,123 INFO [GroupCoordinator 1]: Preparing to rebalance group g "
    "(kafka.coordinator.group.GroupCoordinator)"
)

_SOURCE = r"(?::\d+| ?[(\[][\w$]+\.(?:java|scala|kt|py)(?::\d+)?[)\]]| \[\d+\])?"

_BODY = (
    rf"(?:\[?(?P<level>{LEVEL})(?:\s*+\])?\s*+\[(?P<thread>{NESTING}|[^\]=\n]*)\]|\[(?P<thread2>{NESTING}|[^\]=\n]*)\]\s+\[?"
    rf"(?P<level2>{LEVEL})\]?)\s+"
    rf"\[?(?P<logger>{LOGGER})\]?{_SOURCE}(?:\(\))?(?:\s+\[[^\]\n]*\])?"
)

# After a time in brackets a colon ends no logger: `[time] INFO [Loader] publish: done (…)` is Kafka's own layout.
LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<bracket>\[)?(?P<time>{DATED})(?(bracket)\]),?\s+{_BODY}(?(bracket)\s+[-\u2013]|"
        rf"(?:\s+[-\u2013:]|:)) (?P<message>.*)"
    ),
    starts=(b"20", b"[20"),
    rank=15,
)
