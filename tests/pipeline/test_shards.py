"""Groups are dealt to shards, and shards to workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import plan_reading
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.pipeline.schemas import Kind, rows_of
from rebalance_forensics.pipeline.stages import read_portion
from rebalance_forensics.pipeline.workload import shard_keys, shard_of
from tests.conftest import SAMPLES, SHORT_LOG


@pytest.mark.parametrize("shards", [1, 2, 3, 8, 50])
def test_there_are_as_many_keys_as_shards(shards: int) -> None:
    assert len(set(shard_keys(shards))) == shards


def test_a_group_always_falls_into_the_same_shard() -> None:
    assert shard_of("prod", "payments", (2, 0)) == shard_of("prod", "payments", (2, 0)) == 2


def test_the_groups_of_a_cluster_spread_over_all_shards() -> None:
    assert {shard_of("prod", f"group-{n}", (12, 6, 5, 1)) for n in range(50)} == {12, 6, 5, 1}


def test_the_second_of_many_groups_is_reported_before_the_tenth(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("".join(SHORT_LOG.replace("payments", f"orders-{n}") for n in (10, 2)))
    report = analyze([str(tmp_path)], AnalyzeOptions(engine="local"))
    assert [group.group for group in report.groups] == ["orders-2", "orders-10"]
    assert [incident.group for incident in report.incidents][::3] == ["orders-2", "orders-10"]


def test_what_names_no_group_reaches_each_worker_once_however_many_shards_it_takes() -> None:
    plan = plan_reading([str(SAMPLES / "process-pause")], AnalyzeOptions(engine="local"), workers=1)
    reading = replace(plan.reading, shards=shard_keys(6), in_turn=3)
    rows = [row for portion in plan.portions for batch in read_portion(portion, reading) for row in rows_of(batch)]
    by_all = Counter(row.shard for row in rows if row.kind in (Kind.SHARED, Kind.HEARD))
    assert by_all.keys() == {*reading.shards[::3]}
    assert len({*by_all.values()}) == 1
    shards_of = {row.group: {other.shard for other in rows if other.group == row.group} for row in rows if row.group}
    assert shards_of
    assert all(len(shards) == 1 for shards in shards_of.values())
