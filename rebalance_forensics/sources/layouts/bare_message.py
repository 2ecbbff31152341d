"""No layout at all: the message as Kafka composed it, its own prefix first."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import TextLayout, pattern

SAMPLE = "[Consumer clientId=c, groupId=g] (Re-)joining group"
REJECT = "[main] starting up"

_PREFIX = (
    r"\[(?:Consumer|ShareConsumer|Worker|Schema registry|Producer|AdminClient)[^\]\n]*(?:clientId"
    r"|instanceId)=|\[(?:Group|Share|Transaction)Coordinator "
    r"|\[Group(?:Id|MetadataManager)?[ =]|stream-(?:thread|client) \[|\[sink\||\[thrd:"
)

LAYOUT = TextLayout(
    header=pattern(rf"(?P<message>(?:{_PREFIX}).*)"),
    starts=(b"[Consumer", b"[Worker", b"[GroupCoordinator", b"stream-", b"[ShareConsumer", b"[Group"),
    rank=80,
)
