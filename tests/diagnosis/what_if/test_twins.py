"""The model against real Kafka: the same faults under each protocol, recorded with the lab (benchmarks/WHAT_IF.md)."""

from __future__ import annotations

import pytest

from benchmarks.what_if import Twin, by_kind, is_near, mean_by_partition, read_kept
from lab.members import PROTOCOLS

RUNS = by_kind(read_kept())


def mean(rows: list[list[float]]) -> list[float]:
    return [sum(figures) / len(figures) for figures in zip(*rows, strict=True)]


@pytest.mark.parametrize("twins", RUNS.values(), ids=["-".join(kind) for kind in RUNS])
def test_partitions_are_unread_for_as_long_as_on_real_kafka(twins: list[Twin]) -> None:
    real = mean([[float(ms) for ms in twin.partition_ms()] for twin in twins])
    model = mean([mean_by_partition(twin.simulated()) for twin in twins])
    assert sum(map(is_near, model, real)) >= len(real) - 1, (model, real)
    assert abs(sum(model) - sum(real)) <= max(0.25 * sum(real), 2_000 * sum(ms > 0 for ms in real))


@pytest.mark.parametrize("twins", RUNS.values(), ids=["-".join(kind) for kind in RUNS])
def test_the_whole_group_stops_for_as_long_as_on_real_kafka(twins: list[Twin]) -> None:
    for twin in twins:
        real = sum(end - begin for begin, end in twin.stopped)
        assert twin.simulated().stopped_ms.middle == pytest.approx(real, abs=500)


def test_the_twins_hold_four_faults_under_every_protocol() -> None:
    assert len({scenario for scenario, _ in RUNS}) >= 4
    assert {protocol for _, protocol in RUNS} == set(PROTOCOLS)
