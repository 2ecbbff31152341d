"""Partitions by name: those of one topic together, in numeric order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from rebalance_forensics.report.wording import ranges

PARTITION = re.compile(r"(.+)-(\d{1,9})")


def in_ranges(partitions: Iterable[str]) -> str:
    """`orders 0-3, 5; audit 1`; a name that is not a topic and a number stands as it is."""
    topics: dict[str, list[int]] = defaultdict(list)
    for name in sorted(partitions, key=natural):
        topic, number = _parts(name)
        topics[topic].extend(() if number is None else (number,))
    return "; ".join(f"{topic} {ranges(numbers)}" if numbers else topic for topic, numbers in topics.items())


def topic_of(partition: str) -> str:
    """`orders` of `orders-3`."""
    return _parts(partition)[0]


def natural(partition: str) -> tuple[str, int]:
    """Sort `orders-2` before `orders-10`."""
    topic, number = _parts(partition)
    return topic, -1 if number is None else number


def _parts(partition: str) -> tuple[str, int | None]:
    found = PARTITION.fullmatch(partition)
    return (found.group(1), int(found.group(2))) if found else (partition, None)
