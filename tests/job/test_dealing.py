"""Events are dealt evenly, however they are spread over logs, dates and groups."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rebalance_forensics.job.lake.intervals import Coverage, Interval
from rebalance_forensics.job.lake.layout import batches_of
from rebalance_forensics.job.steps.partitioning import Days, Shards, dealt_by_rows
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.records import DAY_MS, HOUR_MS


def year(dates: int) -> Days:
    coverage = Coverage().with_(Interval(0, dates * DAY_MS))
    written = tuple(range(dates))
    return Days(
        written=written, investigated=frozenset(written), coverage=coverage, lookback_ms=24 * HOUR_MS,
        lookahead_ms=2 * HOUR_MS,
    )  # fmt: skip


def test_a_date_goes_to_its_share_of_the_shards_and_no_shard_is_left_without_work() -> None:
    events = {day: 10_000 if day == 100 else 100 for day in range(365)}
    shards = Shards.of(year(365), events, 40)
    work = Counter(
        shards.of_group("default", f"group-{n}", day)
        for day in events
        for n in range(sum(events.get(seen, 0) for seen in (day - 1, day)) // 4)
    )
    assert len(work) == 40
    assert max(work.values()) < 2 * min(work.values())
    assert all(shards.of_group("default", f"g-{n}", day) in shards.of_date(day) for day in events for n in range(9))
    # Two dates are half of all: the outage's, and the one that looks back on it.
    assert [len(shards.of_date(day)) for day in (99, 100, 101, 102)] == [1, 5, 6, 1]
    assert sum(len(shards.of_date(day)) for day in events) < 365 + 40


def test_a_long_file_of_events_is_dealt_in_parts_and_short_ones_share_a_task() -> None:
    files = {"hot": 1_000_000, **{f"quiet-{n}": 10 for n in range(50)}}
    portions = dealt_by_rows(files, 8)
    rows = [sum(files[share.path] / share.parts for share in portion) for portion in portions]
    assert len(portions) == 8
    assert max(rows) < 1.1 * min(rows)
    assert Counter(share.path for portion in portions for share in portion) == {"hot": 8} | dict.fromkeys(
        (path for path in files if path != "hot"), 1
    )
    assert len(dealt_by_rows({"a": 5, "b": 7}, 8)) == 1


def test_the_parts_of_a_file_are_all_of_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": range(10)}), tmp_path / "events", row_group_size=2)
    parts = [
        [
            row
            for batch in batches_of(Store(str(tmp_path)), "events", part=part, parts=3)
            for row in batch["n"].to_pylist()
        ]
        for part in range(3)
    ]
    assert parts == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5]]
