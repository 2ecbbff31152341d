"""Second step of a job: investigates each group on each date and writes rows of the tables."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
from msgspec import Struct

from rebalance_forensics import defects
from rebalance_forensics.diagnosis.case import GroupCase, investigate
from rebalance_forensics.events.base import Event
from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.row_files import PartWriter
from rebalance_forensics.job.steps.findings import CaseFile, CaseOfDate
from rebalance_forensics.job.steps.log_spans import SpansByDate
from rebalance_forensics.job.steps.partitioning import Days, Shards
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.schemas import Kind, Row, cells_of, event_of, message_batch, payload_of
from rebalance_forensics.pipeline.stats import Failure
from rebalance_forensics.pipeline.tables.rows import history_rows, of_date
from rebalance_forensics.pipeline.tables.schemas import EVENTS, PENDING
from rebalance_forensics.process.resources import spare_memory
from rebalance_forensics.records import DAY_MS
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, place_of
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.windows import LARGEST_SKEW_MS

# The least memory that an event takes in an investigation, so that no group that might fit is refused. If every eighth
# line starts an incident, it is six times as much (measured on 7,000 events of one date).
MIN_BYTES_PER_EVENT = 2_000
_EVENT_CELLS = [column.name for column in EVENTS.columns if column.name != "timestamp"]
_event_cells = attrgetter(*_EVENT_CELLS)


class Dealt(NamedTuple):
    """A row of DEALT; times in microseconds."""

    shard: int
    day: int
    kind: int
    cluster: str
    group: str | None
    ts: int
    path: str
    byte_offset: int
    line: int
    event: str
    pattern: str
    payload: str
    file_id: str


class GroupSize(Struct, frozen=True, order=True):
    """The number of events in the investigation of a group, including the lookback and the lookahead."""

    events: int
    group: str
    day: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Investigation:
    """The input of an investigating task."""

    days: Days
    heard: SpansByDate
    store: Store
    work: str
    run: str
    shards: Shards
    lanes: bool
    """True if pages show swim lanes, which contain nearly every line once more."""


class _Dates:
    """Assigns each row of a group to the date that the nearest line prints."""

    # Events are assigned to dates by their printed times. How far these are from UTC is known only in an investigation,
    # and investigations of adjacent dates may see different lines and correct clocks differently. The printed date of
    # the nearest line is the same in all of them. A row further from all lines than the lookahead keeps its own time.

    def __init__(self, lines: Sequence[Event], clocks: Sequence[FileClock], reach_ms: int) -> None:
        moved = {(clock.path, clock.host): clock for clock in clocks if clock.shift_ms or clock.seasons}
        self._printed: dict[int, int] = {}
        """Time on the group's clock -> the printed time; the earliest of simultaneous lines."""
        for event in lines:
            if event.at is not None:
                clock = moved.get(place_of(event)) if moved else None
                at = event.at if clock is None else clock.on_group_clock(event.at, zoned=event.zoned)
                self._printed[at] = min(event.at, self._printed.get(at, event.at))
        self._times = sorted(self._printed)
        self._reach_ms = reach_ms

    @property
    def apart_ms(self) -> int:
        """The difference in ms between the clocks of the group's logs; 0 if it can be clock drift."""
        shifts = {printed - at for at, printed in self._printed.items()}
        apart = max(shifts) - min(shifts)
        return apart if apart > LARGEST_SKEW_MS else 0

    def printed(self, moment: int | None) -> int:
        """The time in the log's own zone, by the nearest line; for None, the time of the first line."""
        if moment is None:
            return self._printed[self._times[0]]
        place = bisect_left(self._times, moment)
        nearest = min(self._times[max(place - 1, 0) : place + 1], key=lambda at: abs(at - moment))
        printed = self._printed[nearest]
        return printed if abs(nearest - moment) <= self._reach_ms else moment + printed - nearest


@dataclass(slots=True)
class _Shared:
    """The events without a group, of the current shard and date."""

    heard: SpansByDate
    place: tuple[int, int] | None = None
    """The current shard and date."""
    events: dict[str, UngroupedEvents] = field(default_factory=dict)
    """Cluster -> its events without a group."""

    def turn_to(self, place: tuple[int, int]) -> bool:
        """Discard the events of the previous shard and date; True if this one is different."""
        turned = self.place != place
        if turned:
            self.place, self.events = place, {}
        return turned

    def of(self, cluster: str) -> UngroupedEvents:
        """The events of a cluster; without any, the result still contains the spans of the logs."""
        if cluster not in self.events:
            self.take(cluster, ())
        return self.events[cluster]

    def take(self, cluster: str, events: Iterable[Event]) -> None:
        """Set the events of a cluster."""
        assert self.place is not None
        self.events[cluster] = UngroupedEvents(tuple(events), self.heard.get(self.place[1], {}))


def investigate_shards(batches: Iterable[pa.RecordBatch], what: Investigation) -> Iterator[pa.RecordBatch]:
    """Investigate the sorted events of whole shards and write unpublished files; yields messages to the driver."""
    # Spark may run a task twice, even at the same time: each attempt writes its own files.
    attempt = f"{what.run}-{uuid4().hex[:8]}"
    shared, writer = _Shared(what.heard), PartWriter(what.store, attempt)
    cases, largest = CaseFile(what.store, f"{what.work}/cases/{attempt}"), GroupSize(0, "", 0)
    spare = spare_memory()
    most = None if spare is None else max(spare // MIN_BYTES_PER_EVENT, 1)
    rows = map(Dealt._make, chain.from_iterable(map(cells_of, batches)))
    for (shard, day, kind, cluster, _), together in groupby(
        rows, attrgetter("shard", "day", "kind", "cluster", "group")
    ):
        if shared.turn_to((shard, day)):
            writer.next_part(f"{attempt}-{shard}")
            cases.next_part()
        known, size, near = list(islice(together, most if kind == Kind.EVENT else None)), 0, kind != Kind.EVENT
        for some in chain([known], ([row] for row in together)):
            size, near = size + len(some), near or _is_near(some, day, what.days)
            if kind == Kind.EVENT or shard == what.shards.of_date(day)[0]:
                _write_events(writer, some, what.days)
        if day not in what.days.investigated or not near:
            continue
        if kind == Kind.EVENT:
            largest = max(largest, GroupSize(size, str(known[0].group), day))
        if size > len(known):
            yield message_batch(_does_not_fit(known[0], size))
            continue
        if kind == Kind.SHARED:
            try:
                shared.take(cluster, map(_event, known))
            except Exception as error:  # noqa: BLE001 - the groups can be investigated without these events
                yield message_batch([_failure(known[0], error)])
        else:
            yield message_batch(_investigated(known, shared, what, writer, cases))
    writer.finish()
    cases.close()
    yield message_batch([("file", file) for file in writer.finished])
    if largest.events:
        yield message_batch([("size", payload_of(largest))])


def _does_not_fit(first: Dealt, events: int) -> list[tuple[str, str]]:
    # Without this check, the kernel kills the worker, Spark retries three times, and the run ends without tables.
    sentence = (
        f"group {first.group} ({first.cluster}) has {events:,} events around {date_text(first.day)}, which need more "
        f"memory than its task has, at least {events * MIN_BYTES_PER_EVENT >> 20:,} MiB. The events are in the tables, "
        "but not explained; each run retries. Give tasks more memory, or shorten --lookback"
    )
    return [("error", sentence), ("again", str(first.day))]


def _is_near(known: Sequence[Dealt], day: int, days: Days) -> bool:
    # True if rows of the group may belong to this date: a group that is only in the lookback has none to write.
    since, until = (day * DAY_MS - days.lookahead_ms) * 1000, (day + 1) * DAY_MS * 1000
    return any(since <= row.ts < until for row in known)


def _event(row: Dealt) -> Event:
    return event_of(
        Row(
            shard=row.shard, kind=row.kind, cluster=row.cluster, group=row.group, ts=row.ts, path=row.path,
            byte_offset=row.byte_offset, line=row.line, event=row.event, pattern=row.pattern, payload=row.payload,
        )
    )  # fmt: skip


def _write_events(writer: PartWriter, known: list[Dealt], days: Days) -> None:
    for row in known:
        at = row.ts // 1000
        if at // DAY_MS == row.day:
            table = EVENTS if at in days.coverage else PENDING
            cells = {"timestamp": row.ts, **dict(zip(_EVENT_CELLS, _event_cells(row), strict=True))}
            writer.add(table.name, row.day, row.cluster, cells)


def _failure(first: Dealt, error: Exception) -> tuple[str, str]:
    return "failure", payload_of(Failure(cluster=first.cluster, group=first.group, error=defects.describe(error)))


def _investigated(
    known: list[Dealt], shared: _Shared, what: Investigation, writer: PartWriter, cases: CaseFile
) -> list[tuple[str, str]]:
    # Investigate one group and write its rows of this date; an internal error must not affect other groups.
    first = known[0]
    assert first.group is not None
    try:
        done: list[tuple[str, str]] = []
        own = [_event(row) for row in known]
        for _, ungrouped, part in shared.of(first.cluster).by_cluster(first.cluster, own):
            # The tables use the job's cluster name, but groups with the same name in two clusters are still separated.
            lines = tuple(part)
            case = investigate(first.cluster, first.group, lines, ungrouped, lanes=what.lanes)
            dates = _Dates(lines, case.clocks, what.days.lookahead_ms)
            # If a case has no incidents, the driver needs only its internal errors.
            done += [("defect", f"{gap.what}; {gap.consequence}") for gap in case.gaps if gap.is_defect]
            if dates.apart_ms:
                done.append(("apart", str(dates.apart_ms)))
            written = _written(case, first, dates, what, writer)
            if written.incidents:
                done.append(("case", payload_of(cases.add(written))))
    except MemoryError:
        # The limit of the Python process, spark.executor.pyspark.memory: the memory of the group can be reclaimed.
        unfit = _does_not_fit(first, len(known))
    except Exception as error:  # noqa: BLE001 - reported as a failure of this group
        return [_failure(first, error)]
    else:
        return done
    gc.collect()
    return unfit


def _written(case: GroupCase, first: Dealt, dates: _Dates, what: Investigation, writer: PartWriter) -> CaseOfDate:
    # Write the history of this date if the case has no incidents. If it has, the next step writes the history, because
    # a cluster incident may change it. Returns the case with its incidents of this date.
    def is_of_this_date(moment: int | None) -> bool:
        at = dates.printed(moment)
        return at // DAY_MS == first.day and at in what.days.coverage

    own = of_date(case.history, is_of_this_date)
    incidents = tuple(incident for incident in case.incidents if is_of_this_date(incident.started_at))
    for table, row in () if incidents else history_rows(own):
        writer.add(table.name, first.day, first.cluster, row)
    return CaseOfDate(day=first.day, history=case.history, own=own, incidents=incidents, gaps=case.gaps, clocks=())
