"""Which worker investigates which group."""

from __future__ import annotations

from itertools import count
from zlib import crc32

_MASK = 0xFFFFFFFF


def shard_keys(shards: int) -> tuple[int, ...]:
    """`shards` numbers that Spark's hash partitioner deals to as many different partitions.

    0, 1, 2, … would not do: Spark hashes the number first, and two of them may well share a partition.
    """
    keys: dict[int, int] = {}
    for number in count():
        if len(keys) == shards:
            return tuple(keys[partition] for partition in sorted(keys))
        keys.setdefault(_spark_hash(number) % shards, number)
    raise AssertionError


def shard_of(cluster: str, group: str, keys: tuple[int, ...]) -> int:
    """The shard of a group: the same in every process, unlike `hash`."""
    return keys[crc32(f"{cluster}\0{group}".encode(errors="replace")) % len(keys)]


def _spark_hash(number: int) -> int:
    """Murmur3 (x86, 32 bit, seed 42) of one int, as Spark's HashPartitioning computes it; signed."""
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
