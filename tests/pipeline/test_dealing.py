"""Splits are dealt to tasks so that nobody waits for one of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pytest

from rebalance_forensics.pipeline.read_plan import deal, portions_of
from rebalance_forensics.pipeline.workload import weight
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.splits import Split


def split(size: int, name: str = "a.log") -> Split:
    file = InputFile(path=name, location=f"/{name}", size=size)
    return Split(file=file, profile=FileProfile(), index=0, start=0, end=None)


def test_every_split_is_dealt_once() -> None:
    splits = [split(n, f"{n}.log") for n in range(20)]
    dealt = [one for portion in deal(splits, 3, workers=1) for one in portion]
    assert sorted(dealt, key=lambda s: s.file.size) == splits


def test_a_large_file_is_outweighed_by_many_small_ones() -> None:
    portions = deal([split(100, "large"), *(split(10, f"small-{n}") for n in range(10))], 2, workers=2)
    assert sorted(sum(map(weight, portion)) for portion in portions) == [100, 100]


def in_archives(archives: int, members: int) -> list[Split]:
    """Logs of packed archives, of all sizes."""
    files = [
        InputFile(path=f"{a}.tgz!/{m}.log", location=f"/{a}.tgz", members=(f"{m}",), size=10 + 7 * m, in_packed=True)
        for a in range(archives)
        for m in range(members)
    ]
    return [Split(file=file, profile=FileProfile(), index=0) for file in files]


def times_unpacked(portions: Sequence[Sequence[Split]]) -> int:
    """A task keeps the archive that it read last."""
    return sum(len(list(groupby(portion, key=lambda s: s.file.location))) for portion in portions)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_what_lies_in_a_packed_archive_is_read_in_one_go(workers: int) -> None:
    splits = in_archives(20, 50)
    portions = deal(splits, 16 * workers, workers=workers)
    assert sum(map(len, portions)) == len(splits)
    assert times_unpacked(portions) <= 20 + workers


def test_one_large_archive_is_shared_by_all_workers_and_unpacked_by_each_once() -> None:
    portions = deal(in_archives(1, 1000), 64, workers=4)
    assert (len(portions), times_unpacked(portions)) == (4, 4)


def test_no_task_is_left_without_a_split() -> None:
    assert len(deal([split(1)], 8, workers=8)) == 1
    assert deal([], 8, workers=8) == ()


def test_a_hundred_thousand_small_files_share_few_tasks() -> None:
    assert portions_of([split(1000)] * 100_000, workers=2, split_bytes=64 << 20) == 32


def test_splits_of_usual_size_are_a_task_each() -> None:
    assert portions_of([split(64 << 20)] * 100, workers=2, split_bytes=64 << 20) == 100


def test_there_are_no_more_tasks_than_splits() -> None:
    assert portions_of([split(1000)] * 3, workers=2, split_bytes=64 << 20) == 3
