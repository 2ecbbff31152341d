"""The stages one after another in this process: what one makes the next one takes as it is, nothing is encoded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.cases import CasesInMemory
from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.pipeline.event_rows import row_of
from rebalance_forensics.pipeline.line_numbers import LinesBefore
from rebalance_forensics.pipeline.options import Wanted
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.read_split import read_split
from rebalance_forensics.pipeline.results import Results, in_order_of_groups
from rebalance_forensics.pipeline.schemas import BATCH_ROWS, NO_ROWS, ROWS, batch_of
from rebalance_forensics.pipeline.stages import GroupEvents, Heard, investigated
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.pipeline.workload import weight
from rebalance_forensics.process.garbage_collection import collecting_rarely
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.timeline.coverage import LogSpan

Group = tuple[str, str | None]
"""Cluster, and group if a line names one."""


def run_in_process(plan: ReadPlan, wanted: Wanted, *, progress: Callable[[int], None]) -> Results:
    """What the stages find; `progress` is told the bytes done so far."""
    with collecting_rarely():
        events, stats = _read(plan, progress)
        _count_lines_on(events, stats)
        rows = _rows_of(plan, events) if wanted.events else NO_ROWS
        found = list(investigated(_parts(plan, events, stats), unnamed=lambda: True, lanes=wanted.lanes))
    return Results(
        stats=stats,
        cases=CasesInMemory([answer for answer in found if isinstance(answer, GroupCase)]),
        failures=in_order_of_groups(answer for answer in found if isinstance(answer, Failure)),
        events=rows,
    )


def _read(plan: ReadPlan, progress: Callable[[int], None]) -> tuple[dict[Group, list[Event]], tuple[SplitStats, ...]]:
    """The events of each group in the order of the files, and what was counted."""
    catalog = catalog_of(plan.reading.patterns)
    events: dict[Group, list[Event]] = defaultdict(list)
    stats: list[SplitStats] = []
    done = 0
    for portion in plan.portions:
        for split in portion:
            with held_open():
                for result in read_split(split, catalog, plan.reading):
                    if isinstance(result, SplitStats):
                        stats.append(result)
                    else:
                        events[result.cluster, result.group].append(result)
            done += weight(split)
            progress(done)
    return events, tuple(stats)


def _count_lines_on(events: dict[Group, list[Event]], stats: Sequence[SplitStats]) -> None:
    """Count the lines of later splits of a file on from those before."""
    if not any(counts.start for counts in stats):
        return
    before = LinesBefore(counts.split_lines for counts in stats)
    for of_group in events.values():
        for number, event in enumerate(of_group):
            at = event.origin
            if lines := before.at(at.path, at.byte_offset):
                of_group[number] = replace(event, origin=replace(at, line=at.line + lines))


def _rows_of(plan: ReadPlan, events: dict[Group, list[Event]]) -> pa.Table:
    rows = [row_of(event, shard=plan.reading.shards[0], split=0) for of_group in events.values() for event in of_group]
    batches = (batch_of(rows[begin : begin + BATCH_ROWS]) for begin in range(0, len(rows), BATCH_ROWS))
    return pa.Table.from_batches(batches, ROWS)


def _parts(
    plan: ReadPlan, events: dict[Group, list[Event]], stats: Sequence[SplitStats]
) -> Iterator[Heard | GroupEvents]:
    """What each group's timeline is made of, in the order of the rows of a shard; what was taken is let go."""
    spans: dict[str, list[LogSpan]] = defaultdict(list)
    for counts in sorted(stats, key=lambda split_counts: (split_counts.path, split_counts.start)):
        spans[plan.reading.cluster_of(counts.path)].extend(counts.heard)
    for cluster in sorted(cluster for cluster, heard in spans.items() if heard):
        yield Heard(cluster, spans[cluster])
    for cluster, group in sorted(events, key=lambda key: (key[1] is not None, key)):
        yield GroupEvents(cluster, group, sorted(events.pop((cluster, group)), key=_by_time_and_place))


def _by_time_and_place(event: Event) -> tuple[bool, int, str, int]:
    """The order of the rows of a group: what has no time comes last."""
    return event.at is None, event.at or 0, event.origin.path, event.origin.byte_offset
