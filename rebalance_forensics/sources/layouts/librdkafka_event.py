"""librdkafka's log events as its C++ examples print them, and many programs after them: `LOG-4-MAXPOLL: msg`."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, Parsed, TextLayout, level_of, pattern
from rebalance_forensics.sources.layouts.librdkafka import SEVERITY

SAMPLE = (
    "LOG-4-SESSTMOUT: [thrd:main]: Consumer group session timed out (in join-state steady) after 45000 ms without a "
    "successful response from the group coordinator"
)
REJECT = "LOG-4-ORDERS: stored"


def _of_librdkafka(parsed: Parsed) -> Parsed:
    """Its severity is a digit, and it names no class."""
    return replace(parsed, level=level_of(SEVERITY[int(parsed.level or 0)]), logger="rdkafka")


LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[?(?P<time>{DATED})\]?:? )?LOG-(?P<level>[0-7])-[A-Z0-9_]{{2,20}}: "
        r"(?P<message>\[thrd:(?P<thread>[^\]\n]*)\]: .*)"
    ),
    starts=(b"LOG-", b"20", b"[20"),
    finish=_of_librdkafka,
    rank=6,
)
"""Severity, facility and message; the program may put a time before them, and the client is not named."""
