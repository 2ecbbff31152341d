"""Names as they fit into a sentence or a cell: a random id by its beginning."""

from __future__ import annotations

import re
from collections.abc import Mapping

RANDOM_ID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])")
STREAM_THREAD = re.compile(r"(…-StreamThread-\d+)-consumer(?![-\w])")


def called(name: str, short: Mapping[str, str]) -> str:
    """What operators call a member or its lane: `node-2/T1` for a thread of Streams, whose consumer is the member."""
    return short.get(name) or short.get(f"{name}-consumer") or name


def brief(text: str, group: str | None = None) -> str:
    """Write `shop-1b4e28ba…-StreamThread-1-consumer` for a name with a UUID in it; eight digits tell them apart.

    Among members of one group, whose names begin with it, `1b4e28ba…-StreamThread-1`.
    """
    short = RANDOM_ID.sub(r"\1…", text)
    if group is None or short == text:
        return short
    return STREAM_THREAD.sub(
        r"\1", re.sub(rf"(?<![-\w.]){re.escape(group)}-(?=[0-9a-f]{{8}}…-StreamThread)", "", short)
    )
