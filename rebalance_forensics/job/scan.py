"""The first half of a run: scans new files, or new rows of log tables, and updates the ledger."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.job.entries import COUNTED, Ledger, entries_of
from rebalance_forensics.job.lake.editions import Edition
from rebalance_forensics.job.lake.intervals import Interval
from rebalance_forensics.job.lake.ledger import Changes, Entry, changes, kinship, known_sights, read_ledger
from rebalance_forensics.job.lake.losses import Losses, Lost, losses_of
from rebalance_forensics.job.micro_batch import ReadAhead, end_where_stream_stopped, fully_read
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.run import Run, Scanned
from rebalance_forensics.job.steps.engines import JobEngine
from rebalance_forensics.job.steps.log_spans import heard_cells
from rebalance_forensics.job.steps.scan_step import Scan, ScanPlan, Spans, TableScan, hour_id, plan_scan, widen
from rebalance_forensics.pipeline.inputs.file_listing import Listing, list_inputs
from rebalance_forensics.pipeline.inputs.file_probe import Probe, ProbeResult, probe_tasks
from rebalance_forensics.pipeline.inputs.growing_logs import Part
from rebalance_forensics.pipeline.inputs.log_tables import LogTable
from rebalance_forensics.pipeline.inputs.sights import Sight, profiles_beside, sight_of
from rebalance_forensics.pipeline.inputs.table_rows import Hour
from rebalance_forensics.pipeline.read_plan import reading_of
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import refuse_with_defect
from rebalance_forensics.pipeline.schemas import TaskMessages, object_of
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.pipeline.tables.rows import moment
from rebalance_forensics.pipeline.tables.schemas import EVENTS, INPUTS, MADE_OF_EVENTS, PENDING, Cells
from rebalance_forensics.records import DAY_MS
from rebalance_forensics.report.wording import count


@dataclass(slots=True)
class Harvest:
    """The combined results of the scanning tasks."""

    stats: list[SplitStats] = field(default_factory=list)
    spans: Spans = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    dates: Counter[int] = field(default_factory=Counter)
    undated: int = 0
    """The number of events without a date, from logs that print no times."""

    def add(self, messages: TaskMessages) -> list[SplitStats]:
        """Add the results of some tasks; returns their counts."""
        stats = [object_of(SplitStats, text) for what, text in messages if what == "counts"]
        self.stats += stats
        for share in (json.loads(text) for what, text in messages if what == "scan"):
            self.files[share["file"]] = sum(share["dates"].values())
            self.dates.update({int(day): events for day, events in share["dates"].items()})
            self.undated += share["undated"]
            for path, days in share["spans"].items():
                for day, span in days.items():
                    widen(self.spans, path, day, *span)
        return stats


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesToRead:
    """What a run reads from its files, decided before it reads any line."""

    entries: list[Entry]
    listing: Listing
    probed: ProbeResult
    found: Changes
    plan: ScanPlan
    losses: Losses

    @property
    def errors(self) -> list[str]:
        """Sentences about files that cannot be listed or opened."""
        return [sentence for _, sentence, _ in (*self.listing.errors, *self.probed.errors)]


def files_to_read(
    options: JobOptions, engine: JobEngine, edition: Edition, lost: Lost, parts: Mapping[str, Part]
) -> FilesToRead:
    """List the files and open new ones."""
    entries = read_ledger(edition, options.scope)
    listing = list_inputs(options.inputs, besides=options.output)
    end_where_stream_stopped(listing, parts)
    sights, probed = _probe(options, engine, listing, entries, edition.named.listed_ms.get(options.scope))
    kin = kinship(sights, entries)
    former = [sight for entry in kin.removed if (sight := sight_of(entry.cells)) is not None]
    profiles = profiles_beside(list(sights.values()), options.reading.zones, former)
    losses = losses_of(lost, kin)
    found = changes(kin, sights, profiles, losses.again)
    read = [(sights[path], profiles[path]) for path in sorted(found.fresh)]
    plan = plan_scan(read, found, options.reading, errors=probed.errors, workers=engine.workers)
    return FilesToRead(entries=entries, listing=listing, probed=probed, found=found, plan=plan, losses=losses)


def scan_files(run: Run, ahead: ReadAhead | None = None) -> Scanned:
    """Read new content, unless a stream has already read it."""
    parts = ahead.parts() if ahead else {}
    files = files_to_read(run.options, run.engine, run.edition, run.lost, parts)
    plan, found, listing, losses, harvest = files.plan, files.found, files.listing, files.losses, Harvest()
    harvest.add(_read(run, plan, ahead, fully_read(parts, plan)))
    if harvest.undated:
        losses.notes.append(
            f"without a time, {count(harvest.undated, 'line')} about consumer groups could not be put into the tables; "
            "analyze reads such logs."
        )
    stats = [*(settled.stats for settled in plan.settled.values()), *harvest.stats]
    replaced = _replaced(plan, found)
    ids = {path: identity.file_id for path, identity in found.fresh.items()}
    ledger = entries_of(plan, stats, files.probed, files.entries, listing, found)
    errors = [*files.errors, *ledger.scan_errors]
    refuse_foreign(run, len(listing.files), errors, ledger)
    return Scanned(
        stats=stats, spans={path: spans for path, spans in harvest.spans.items() if path in found.fresh},
        files=harvest.files, dates=harvest.dates, ledger=ledger, replaced=replaced, file_ids=ids,
        listed=len(listing.files) + len(listing.errors), bytes=sum(split.bytes for split in harvest.stats),
        errors=errors, losses=losses,
    )  # fmt: skip


def _probe(
    options: JobOptions, engine: JobEngine, listing: Listing, entries: Sequence[Entry], since_ms: int | None
) -> tuple[dict[str, Sight], ProbeResult]:
    limits = options.reading.limits
    known = known_sights(listing.files, entries, limits, since_ms)
    new = [file for file in listing.files if file.path not in known]
    prefixes = {int(entry.cells["head_bytes"] or 0) for entry in entries if entry.cells["head"]}
    probe = Probe(tasks=probe_tasks(new), prefixes=tuple(sorted(prefixes)), limits=limits)
    probed = engine.probe(probe) if new else ProbeResult()
    sights = [*(sight for of_file in known.values() for sight in of_file), *probed.sights]
    return {sight.file.path: sight for sight in sorted(sights, key=lambda sight: sight.file.path)}, probed


def _read(run: Run, plan: ScanPlan, ahead: ReadAhead | None, done: Collection[str]) -> TaskMessages:
    messages = ahead.scanned(done, run.store, run.work) if ahead and done else []
    left = plan.without(done, run.engine.workers) if done else plan.reads
    return [*messages, *run.engine.scan(Scan.of(left, run.store, run.work))] if left.portions else messages


def _replaced(plan: ScanPlan, found: Changes) -> dict[str, int]:
    # Previous states of files are forgotten; for files that are continued, only what follows the settled part.
    replaced = {entry.file_id: 0 for entry in (*found.replaced.values(), *found.dropped)}
    anew = {found.fresh[path].file_id: place for path, place in plan.forgotten_from.items()}
    return replaced | anew


def refuse_foreign(run: Run, files: int, errors: Sequence[str], ledger: Ledger) -> None:
    """Refuse a run without any Kafka line, which changes nothing; a stream may have to wait for one."""
    if ledger.knows_kafka or run.options.stream:
        return
    refuse_with_defect(ledger.defects)
    looked_at = ", ".join(run.options.inputs)
    failed = "; ".join(errors[:3])
    if not files and not failed:
        raise InputError(f"{looked_at}: no files here; name a directory or prefix with Kafka logs.")
    remedy = failed or "name the logs of brokers, consumers, Streams or Connect workers"
    raise InputError(f"{looked_at}: no Kafka line found in {files} file(s); {remedy}.")


UNDATED = -1


def scan_tables(run: Run) -> Scanned:
    """Read the hours of each table that are new or have changed."""
    entries = read_ledger(run.edition, run.options.scope)
    harvest = Harvest()
    scanned = Scanned(
        stats=[], spans=harvest.spans, files=harvest.files, dates=harvest.dates, ledger=Ledger(known=list(entries)),
        replaced={}, file_ids={}, listed=0, bytes=0, errors=[],
    )  # fmt: skip
    for name in dict.fromkeys(run.options.inputs):
        _scan(run, LogTable(name=name, columns=run.options.columns), entries, scanned, harvest)
    scanned.bytes = sum(stats.bytes for stats in harvest.stats)
    scanned.losses.days = {day for day, _ in run.lost.of(*MADE_OF_EVENTS) - run.lost.of(EVENTS, PENDING)}
    scanned.ledger.removed.extend(scanned.ledger.replaced.values())
    refuse_foreign(run, scanned.listed, scanned.errors, scanned.ledger)
    return scanned


def hours_of(table: LogTable, options: JobOptions, interval: Interval, engine: JobEngine) -> list[Hour]:
    """The hours of a table that a run over an interval covers."""
    since, until = interval.since - options.lookback_ms, interval.until + options.lookahead_ms
    return engine.hours(table, since // DAY_MS * DAY_MS, -(-until // DAY_MS) * DAY_MS)


def _scan(run: Run, table: LogTable, entries: Sequence[Entry], scanned: Scanned, harvest: Harvest) -> None:
    options = run.options
    hours = hours_of(table, options, run.interval, run.engine)
    known = {entry.path: entry for entry in entries}
    there = [hour for hour in hours if hour.at != UNDATED]
    new = [hour for hour in there if not is_known(known.get(table.hour(hour.at)), hour, run.lost)]
    scanned.listed += len(there)
    column = dict(table.columns)["time"]
    scanned.errors += [
        f"--input {table.name}: {hour.rows} row(s) have no time in column {column}; they were left out"
        for hour in hours
        if hour.at == UNDATED
    ]
    if not new:
        return
    reading = reading_of(options.reading)
    scan = TableScan(table=table, hours=tuple(h.at for h in new), reading=reading, store=run.store, work=run.work)
    by_hour: dict[str, list[SplitStats]] = defaultdict(list)
    for stats in harvest.add(run.engine.scan_table(scan)):
        by_hour[stats.path].append(stats)
    for hour in new:
        path = table.hour(hour.at)
        entry = _entry(path, table, hour, by_hour[path], reading.cluster)
        scanned.errors += [f"{path}: {error}" for error in entry.cells["errors"]]
        scanned.ledger.defects.extend(f"{path}: {defect}" for part in by_hour[path] for defect in part.defects)
        scanned.ledger.added.append(entry)
        scanned.ledger.scanned.add(path)
        scanned.replaced = {**scanned.replaced, hour_id(path): 0}
        if path in known:
            scanned.ledger.replaced[path] = known[path]


def is_known(entry: Entry | None, hour: Hour, missing: Lost) -> bool:
    """True if an hour of a table was read in its current state and its events still exist."""
    lost = {day for day, _ in missing.of(EVENTS, PENDING)}
    return entry is not None and entry.was_read_at(hour.etag) and entry.day not in lost


def _entry(path: str, table: LogTable, hour: Hour, stats: Iterable[SplitStats], cluster: str) -> Entry:
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
        "errors": list(dict.fromkeys(sentence for part in parts for sentence in part.sentences)),
    }
    return Entry(day=hour.at // DAY_MS, cluster=cluster, cells=cells)
