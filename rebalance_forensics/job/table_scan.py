"""The first half of a run over tables of logs: each hour of a table is what a file is of a directory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rebalance_forensics.job.entries import COUNTED, Ledger
from rebalance_forensics.job.lake.ledger import Entry, read_ledger
from rebalance_forensics.job.lake.stock import Stock
from rebalance_forensics.job.losses import lost_events
from rebalance_forensics.job.run import Run, Scanned
from rebalance_forensics.job.scan import Harvest, refuse_foreign
from rebalance_forensics.job.steps.log_spans import heard_cells
from rebalance_forensics.job.steps.scan_step import TableScan, hour_id
from rebalance_forensics.pipeline.inputs.log_tables import LogTable
from rebalance_forensics.pipeline.inputs.table_rows import Hour
from rebalance_forensics.pipeline.read_plan import reading_of
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.pipeline.tables.columns import Cells
from rebalance_forensics.pipeline.tables.rows import moment
from rebalance_forensics.pipeline.tables.schemas import INPUTS, MADE_OF_EVENTS
from rebalance_forensics.records import DAY_MS

UNDATED = -1


def scan_tables(run: Run) -> Scanned:
    """Ask each table for its hours, read those that are new or have changed."""
    entries = read_ledger(run.store, run.options.scope)
    scanned = Scanned(
        stats=[], spans={}, files=[], events=0, ledger=Ledger(known=list(entries)), replaced={}, file_ids={},
        listed=0, bytes=0, errors=[],
    )  # fmt: skip
    for name in dict.fromkeys(run.options.inputs):
        _scan(run, LogTable(name=name, columns=run.options.columns), entries, scanned)
    scanned.losses.days = {day for day, _ in run.stock.missing_of(*MADE_OF_EVENTS) - lost_events(run.stock)}
    scanned.ledger.removed.extend(scanned.ledger.replaced.values())
    refuse_foreign(run, scanned.listed, scanned.errors, scanned.ledger)
    return scanned


def _scan(run: Run, table: LogTable, entries: Sequence[Entry], scanned: Scanned) -> None:
    options = run.options
    since, until = run.interval.since - options.lookback_ms, run.interval.until + options.lookahead_ms
    hours = run.engine.hours(table, since // DAY_MS * DAY_MS, -(-until // DAY_MS) * DAY_MS)
    known = {entry.path: entry for entry in entries}
    there = [hour for hour in hours if hour.at != UNDATED]
    new = [hour for hour in there if not _is_known(known.get(table.hour(hour.at)), hour, run.stock)]
    scanned.listed += len(there)
    scanned.errors += [_undated(table, hour) for hour in hours if hour.at == UNDATED]
    if not new:
        return
    reading = reading_of(options.reading)
    scan = TableScan(table=table, hours=tuple(h.at for h in new), reading=reading, store=run.store, work=run.work)
    harvest = Harvest.of(run.engine.scan_table(scan))
    _take(harvest, scanned)
    by_hour: dict[str, list[SplitStats]] = defaultdict(list)
    for stats in harvest.stats:
        by_hour[stats.path].append(stats)
    for hour in new:
        path = table.hour(hour.at)
        entry = _entry(path, table, hour, by_hour[path], reading.cluster)
        scanned.errors += [f"{path}: {error}" for error in entry.cells["errors"]]
        scanned.ledger.added.append(entry)
        scanned.ledger.scanned.add(path)
        scanned.replaced = {**scanned.replaced, hour_id(path): 0}
        if path in known:
            scanned.ledger.replaced[path] = known[path]


def _is_known(entry: Entry | None, hour: Hour, stock: Stock) -> bool:
    lost = {day for day, _ in lost_events(stock)}
    return entry is not None and entry.was_read_at(hour.etag) and entry.day not in lost


def _undated(table: LogTable, hour: Hour) -> str:
    column = dict(table.columns)["time"]
    return f"--input {table.name}: {hour.rows} row(s) have no time in column {column}; they were left out"


def _take(harvest: Harvest, scanned: Scanned) -> None:
    scanned.files += harvest.files
    scanned.events += harvest.events
    scanned.bytes += sum(stats.bytes for stats in harvest.stats)
    for path, days in harvest.spans.items():
        scanned.spans[path] = _wider(scanned.spans.get(path, {}), days)


def _wider(known: Mapping[str, tuple[int, int]], added: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    spans = dict(known)
    for day, (first, last) in added.items():
        a, b = spans.get(day, (first, last))
        spans[day] = min(a, first), max(b, last)
    return spans


def _entry(path: str, table: LogTable, hour: Hour, stats: Iterable[SplitStats], cluster: str) -> Entry:
    """The row of the ledger of one hour."""
    parts = list(stats)
    cells: Cells = dict.fromkeys(field.name for field in INPUTS.schema)
    cells |= {name: sum(getattr(part, name) for part in parts) for name in COUNTED}
    cells |= {
        "path": path,
        "file_id": hour_id(path),
        "head": hour.etag,
        "head_bytes": 0,
        "location": table.name,
        "size": hour.rows,
        "etag": None if any(part.try_again for part in parts) else hour.etag,
        "layout": "table",
        "zone": "UTC",
        "first": moment(min((part.first for part in parts if part.first is not None), default=None)),
        "last": moment(max((part.last for part in parts if part.last is not None), default=None)),
        "heard": heard_cells(span for part in parts for span in part.heard),
        "errors": list(dict.fromkeys(error for part in parts for error in part.errors)),
    }
    return Entry(day=hour.at // DAY_MS, cluster=cluster, cells=cells)
