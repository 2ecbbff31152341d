"""librdkafka's log events as its C++ examples print them, and many programs after them: `LOG-4-MAXPOLL: msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, Parsed, level_of, pattern
from rebalance_forensics.sources.layouts.librdkafka import SEVERITY
from rebalance_forensics.sources.timestamps import read_stamp

SAMPLE = (
    "LOG-4-SESSTMOUT: [thrd:main]: Consumer group session timed out (in join-state steady) after 45000 ms without a "
    "successful response from the group coordinator"
)
REJECT = "LOG-4-ORDERS: stored"
_LINE = pattern(
    rf"(?:\[?(?P<time>{DATED})\]?:? )?LOG-(?P<severity>[0-7])-[A-Z0-9_]{{2,20}}: "
    r"(?P<message>\[thrd:(?P<thread>[^\]\n]*)\]: .*)"
)


class _LibrdkafkaEvent:
    """Severity, facility and message; the program may put a time before them, and the client is not named."""

    rank = 6
    starts = (b"LOG-", b"20", b"[20")

    def is_header(self, line: str) -> bool:
        """Whether a record starts with this line."""
        return _LINE.match(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        match = _LINE.match(text)
        if match is None:
            return None
        return Parsed(
            stamp=read_stamp(match["time"]) if match["time"] else None,
            level=level_of(SEVERITY[int(match["severity"])]),
            logger="rdkafka",
            thread=match["thread"] or None,
            message=match["message"],
        )


LAYOUT = _LibrdkafkaEvent()
