"""Estimates the work of a run before anything is read, and assigns groups to shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from zlib import crc32

from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.sources.files import budgets, containers, decompression
from rebalance_forensics.sources.records.splits import Split

_MASK = 0xFFFFFFFF


def shard_keys(shards: int) -> tuple[int, ...]:
    """As many numbers as shards, each of which Spark's hash partitioner assigns to a different partition."""
    # Not 0, 1, 2, …: Spark hashes the numbers, so that two of them may share a partition.
    keys: dict[int, int] = {}
    for number in count():
        if len(keys) == shards:
            return tuple(keys[partition] for partition in sorted(keys))
        keys.setdefault(_spark_hash(number) % shards, number)
    raise AssertionError


def shard_of(cluster: str, group: str, keys: tuple[int, ...]) -> int:
    """The shard of a group."""
    return keys[hash_of(cluster, group) % len(keys)]


def hash_of(cluster: str, group: str) -> int:
    """A 32-bit hash of a group, equal in every process, unlike `hash`."""
    return crc32(f"{cluster}\0{group}".encode(errors="replace"))


def _spark_hash(number: int) -> int:
    # Signed Murmur3 (x86, 32 bit, seed 42) of one int, as computed by Spark's HashPartitioning.
    k = number * 0xCC9E2D51 & _MASK
    k = _rotated(k, 15) * 0x1B873593 & _MASK
    h = _rotated(42 ^ k, 13) * 5 + 0xE6546B64 & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK


# Bytes of other lines that take as long as one line about a group: 0.25 ms at 200 MB/s (benchmarks/RESULTS.md).
LINE_BYTES = 50_000
_WINDOWS = 8
_WINDOW_BYTES = 64 << 10


def weight(split: Split) -> int:
    """The bytes that a reader of the split processes, unpacked."""
    if split.end is not None:
        return split.end - split.start
    return split.file.size * budgets.UNPACKED if split.file.codec else split.file.size - split.start


def workload(splits: Sequence[Split], catalog: Catalog) -> int:
    """The work of reading the splits, in bytes of lines about no group, estimated from a few windows of them."""
    total = sum(map(weight, splits))
    seen = matched = 0
    for window in _windows(splits, total):
        seen += len(window)
        matched += _lines_hit(window, catalog.prefilter().hits(window))
    return total + (matched * LINE_BYTES * total // seen if seen else 0)


def _windows(splits: Sequence[Split], total: int) -> Iterator[bytes]:
    # Windows at equal distances; of a compressed file only the start, which is quick to read.
    places = [total * (2 * number + 1) // (2 * _WINDOWS) for number in range(_WINDOWS)]
    before = 0
    for split in splits:
        after = before + weight(split)
        inside = [place - before for place in places if before <= place < after]
        before = after
        for place in inside[:1] if split.file.codec else inside:
            yield _window(split, 0 if split.file.codec else split.start + place)


def _window(split: Split, start: int) -> bytes:
    # Errors are reported when the split is read.
    try:
        return next(decompression.chunks_of(split.file.place, start), b"")[:_WINDOW_BYTES]
    except containers.UNREADABLE:
        return b""


def _lines_hit(window: bytes, hits: Sequence[int]) -> int:
    lines = 0
    end = -1
    for hit in hits:
        if hit > end:
            lines += 1
            end = window.find(b"\n", hit)
            if end < 0:
                break
    return lines
