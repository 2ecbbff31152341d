"""Groups are dealt to shards, and shards to workers."""

from __future__ import annotations

import pytest

from rebalance_forensics.pipeline.shards import shard_keys, shard_of


@pytest.mark.parametrize("shards", [1, 2, 3, 8, 50])
def test_there_are_as_many_keys_as_shards(shards: int) -> None:
    assert len(set(shard_keys(shards))) == shards


def test_a_group_always_falls_into_the_same_shard() -> None:
    assert shard_of("prod", "payments", (2, 0)) == shard_of("prod", "payments", (2, 0)) == 2


def test_the_groups_of_a_cluster_spread_over_all_shards() -> None:
    assert {shard_of("prod", f"group-{n}", (12, 6, 5, 1)) for n in range(50)} == {12, 6, 5, 1}
