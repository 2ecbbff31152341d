"""Lines about groups are work, other lines next to none; how many share a run depends on both."""

from __future__ import annotations

import gzip
from pathlib import Path

from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import ALONE_HERE, ReadPlan, plan_reading
from rebalance_forensics.pipeline.workload import LINE_BYTES, weight, workload

ABOUT_A_GROUP = (
    "[2026-03-01 00:00:00,139] INFO [GroupCoordinator 1]: Stabilized group orders generation 7 "
    "(__consumer_offsets-30) with 1 members (kafka.coordinator.group.GroupCoordinator)\n"
)
OTHER = (
    "[2026-03-01 00:00:00,139] INFO [ProducerStateManager partition=orders-3] Wrote producer snapshot at offset 12345 "
    "with 0 producer ids in 1 ms. (org.apache.kafka.storage.internals.log.ProducerStateManager)\n"
)
LINES = 40_000


def planned(log: Path, *, workers: int = 2) -> ReadPlan:
    return plan_reading([str(log)], AnalyzeOptions(engine="local"), workers=workers)


def workload_of(plan: ReadPlan) -> int:
    return workload([split for portion in plan.portions for split in portion], catalog_of(()))


def written(log: Path, text: str) -> Path:
    log.write_bytes(gzip.compress(text.encode()) if log.suffix == ".gz" else text.encode())
    return log


def test_a_log_of_a_coordinators_lines_is_shared_and_one_of_a_brokers_other_lines_is_not(tmp_path: Path) -> None:
    groups, others = written(tmp_path / "a.log", ABOUT_A_GROUP * LINES), written(tmp_path / "b.log", OTHER * LINES)
    assert len(planned(groups).portions) > 1
    assert len(planned(groups).reading.shards) == 2
    assert len(planned(others).portions) == len(planned(others).reading.shards) == 1


def test_a_single_worker_shares_with_no_other(tmp_path: Path) -> None:
    assert len(planned(written(tmp_path / "a.log", ABOUT_A_GROUP * LINES), workers=1).portions) == 1


def test_the_workload_counts_each_line_about_a_group(tmp_path: Path) -> None:
    log = written(tmp_path / "a.log", (ABOUT_A_GROUP + OTHER) * LINES)
    assert 0.9 < workload_of(planned(log)) / (LINES * LINE_BYTES + log.stat().st_size) < 1.1


def test_lines_about_groups_far_after_the_beginning_count(tmp_path: Path) -> None:
    log = written(tmp_path / "a.log", OTHER * LINES + ABOUT_A_GROUP * LINES)
    assert workload_of(planned(log)) > LINES * LINE_BYTES // 2


def test_a_packed_log_is_judged_by_its_beginning(tmp_path: Path) -> None:
    log = written(tmp_path / "a.log.gz", ABOUT_A_GROUP * LINES)
    plan = planned(log)
    assert workload_of(plan) > 50 * sum(weight(split) for portion in plan.portions for split in portion)


def test_a_log_that_became_unreadable_is_reported_when_it_is_read(tmp_path: Path) -> None:
    log = written(tmp_path / "a.log", ABOUT_A_GROUP * LINES)
    splits = [split for portion in planned(log).portions for split in portion]
    log.unlink()
    assert workload(splits, catalog_of(())) == sum(map(weight, splits)) < ALONE_HERE
