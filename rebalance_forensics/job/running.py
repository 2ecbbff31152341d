"""One run of the job, from the listing to the tables."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from rebalance_forensics import __version__
from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.job.alerting import OUTBOX, outbox_text, webhook_of
from rebalance_forensics.job.delta import note_replaced
from rebalance_forensics.job.entries import Ledger, entries_of
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.publishing import REPORTS, add_reports
from rebalance_forensics.pipeline.planning import refuse_patterns
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.rows import Codec
from rebalance_forensics.pipeline.shards import shard_keys
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.pipeline.tables import state
from rebalance_forensics.pipeline.tables.choosing import changed_spans, chosen_days
from rebalance_forensics.pipeline.tables.dealing import Days, Deal
from rebalance_forensics.pipeline.tables.engines import JobEngine
from rebalance_forensics.pipeline.tables.intervals import DAY_MS, Coverage, Interval, date_text, time_text
from rebalance_forensics.pipeline.tables.investigating import Investigation
from rebalance_forensics.pipeline.tables.journal import FILES, Journal, commit, recover
from rebalance_forensics.pipeline.tables.layout import (
    EVERY_CLUSTER,
    dates_of,
    directory_of,
    partition_files,
    partition_of,
    work_of,
)
from rebalance_forensics.pipeline.tables.ledger import Changes, Entry, changes, read_ledger
from rebalance_forensics.pipeline.tables.listing import (
    Listing,
    list_inputs,
    output_store,
    plan_scan,
    refuse_missing_inputs,
)
from rebalance_forensics.pipeline.tables.rows import finding_rows, incident_row
from rebalance_forensics.pipeline.tables.scanning import Scan, Spans, scanned_file
from rebalance_forensics.pipeline.tables.schemas import (
    EVENTS,
    FINDINGS,
    GENERATIONS,
    INCIDENTS,
    PAUSES,
    PENDING,
    RUNS,
    Table,
)
from rebalance_forensics.pipeline.tables.stores import Store
from rebalance_forensics.pipeline.tables.writing import PartWriter, put_all

OK, FOUND, REFUSED, PARTIAL = 0, 1, 2, 3
SEVERITIES = ("info", "warning", "critical")
EVENTS_A_SHARD = 500_000
"""About what one task sorts and investigates in memory of its own."""


@dataclass(slots=True)
class Scanned:
    """What the scan told."""

    stats: list[SplitStats] = field(default_factory=list)
    spans: Spans = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    events: int = 0
    undated: int = 0


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a run came to: the summary row, and what alerts and reports are made of."""

    summary: dict[str, int | str | None]
    interval: Interval
    cases: list[GroupCase] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def incidents(self) -> list[Incident]:
        """All incidents of the dates that were written."""
        return [incident for case in self.cases for incident in case.incidents]


@dataclass(slots=True, kw_only=True)
class _Run:
    options: JobOptions
    engine: JobEngine
    store: Store
    interval: Interval
    id: str
    work: str
    started_ms: int
    journal: Journal = field(default_factory=Journal)


def check(options: JobOptions) -> Store:
    """Refuse what cannot work before anything is started or touched; the store of the tables."""
    if options.since is not None and options.until is not None:
        _refuse_backwards(options.since, options.until)
    store = output_store(options.output)
    state.refuse_other_version(store, options.output)
    refuse_missing_inputs(options.inputs)
    refuse_patterns(options.reading.patterns)
    for webhook in options.webhooks:
        webhook_of(webhook)
    return store


def run_job(options: JobOptions, engine: JobEngine) -> Outcome:
    """Scan what is new, write the dates it touches and those the interval adds."""
    store = check(options)
    recover(store, options.scope)
    before = state.coverage_of(store, options.scope)
    run_id = uuid4().hex[:12]
    run = _Run(
        options=options, engine=engine, store=store, interval=_interval(options, before), id=run_id,
        work=work_of(options.scope, run_id), started_ms=_now(),
    )  # fmt: skip
    try:
        return _run(run, before)
    except BaseException:
        recover(store, options.scope)
        raise


def _run(run: _Run, before: Coverage) -> Outcome:
    listing = list_inputs(run.options.inputs)
    entries = read_ledger(run.store, run.options.scope)
    found = changes(listing.files, listing.etags, entries)
    scanned, ledger = _scan(run, listing, found, entries)
    _refuse_foreign(run, listing, ledger)
    changed = changed_spans(scanned.spans, found.fresh, found.replaced)
    days = chosen_days(
        before, run.interval, changed, {*dates_of(run.store, EVENTS), *dates_of(run.store, PENDING)},
        lookback_ms=run.options.lookback_ms, lookahead_ms=run.options.lookahead_ms,
    )  # fmt: skip
    outcome = _investigate(run, days, scanned, found)
    outcome.errors = [*(sentence for _, sentence in listing.errors), *ledger.scan_errors]
    _write_findings(run, outcome)
    _add_publications(run, outcome, days)
    outcome.summary = _summary(run, outcome, listing, found, scanned, days)
    ledger_changed = ledger.write(PartWriter(run.store, run.work, run.id), run.journal, run.work)
    if ledger_changed or days.written:
        _write_run(run, outcome)
        state.mark_version(run.store)
        if run.options.table_format == "delta":
            note_replaced(run.store, run.journal, run.work, run.id)
        commit(run.store, run.work, run.journal)
    else:
        run.store.delete_tree(run.work)
    return outcome


def _interval(options: JobOptions, before: Coverage) -> Interval:
    since = options.since if options.since is not None else before.end
    until = options.until if options.until is not None else _now()
    if since is None:
        raise InputError("--since is missing and the tables cover nothing yet; say from when on the logs count.")
    _refuse_backwards(since, until)
    return Interval(since, until)


def _refuse_backwards(since: int, until: int) -> None:
    if until <= since:
        raise InputError(
            f"the interval ends ({time_text(until)}) before it starts ({time_text(since)}); swap --since and --until."
        )


def _scan(run: _Run, listing: Listing, found: Changes, entries: Sequence[Entry]) -> tuple[Scanned, Ledger]:
    """Read the fresh files."""
    scanned = Scanned()
    options = run.options
    plan = plan_scan(
        listing, found.fresh, options.reading,
        per_directory=options.reading.cluster_per_directory, workers=run.engine.workers,
    )  # fmt: skip
    if plan.portions:
        ids = {path: identity.file_id for path, identity in found.fresh.items()}
        told = run.engine.scan(Scan(plan=plan, store=run.store, work=run.work, file_ids=ids))
        codec = Codec()
        scanned.stats = [codec.loads(SplitStats, text) for what, text in told if what == "counts"]
        scanned.files = [scanned_file(run.work, task) for task in range(len(plan.portions))]
        for share in (json.loads(text) for what, text in told if what == "scan"):
            scanned.events += share["events"]
            scanned.undated += share["undated"]
            for path, days in share["spans"].items():
                _widen(scanned.spans.setdefault(path, {}), days)
    return scanned, entries_of(plan, scanned.stats, listing, found, entries, day=run.interval.since // DAY_MS)


def _widen(known: dict[str, tuple[int, int]], told: dict[str, tuple[int, int]]) -> None:
    for day, (first, last) in told.items():
        a, b = known.get(day, (first, last))
        known[day] = (min(a, first), max(b, last))


def _refuse_foreign(run: _Run, listing: Listing, ledger: Ledger) -> None:
    """A run that has never seen a Kafka line says what it looked at, and touches nothing."""
    if ledger.knows_kafka:
        return
    looked_at = ", ".join(run.options.inputs)
    failed = "; ".join(sentence for _, sentence in listing.errors[:3])
    if not listing.files and not failed:
        raise InputError(f"{looked_at}: no files here; name a directory or prefix with Kafka logs.")
    remedy = failed or "name the logs of brokers, consumers, Streams or Connect workers"
    raise InputError(f"{looked_at}: no Kafka line found in {len(listing.files)} file(s); {remedy}.")


def _investigate(run: _Run, days: Days, scanned: Scanned, found: Changes) -> Outcome:
    """Write the chosen dates' rows to waiting files and note what they replace."""
    store, scope, codec = run.store, run.options.scope, Codec()
    for table in (EVENTS, PENDING):
        run.journal.replace(_directories(store, table, days.written, scope))
    for table in (GENERATIONS, PAUSES, INCIDENTS, FINDINGS):
        run.journal.replace(_directories(store, table, sorted(days.investigated), scope))
    known = [
        path
        for table in (EVENTS, PENDING)
        for files in partition_files(store, table, days.read, scope).values()
        for path in files
    ]
    outcome = Outcome(summary={}, interval=run.interval)
    sources = [*scanned.files, *known]
    if not sources or not days.written:
        return outcome
    shards = shard_keys(max(run.engine.workers, scanned.events // EVENTS_A_SHARD))
    ids = {identity.file_id for identity in found.fresh.values()}
    deal = Deal(
        store=store, portions=_portions(sources, run.engine.workers * 4), days=days, shards=shards,
        forgotten=frozenset(ids | {entry.file_id for entry in found.replaced}),
        split_counts=_cut(scanned.stats),
    )  # fmt: skip
    what = Investigation(days=days, store=store, work=run.work, run=run.id, first_shard=shards[0])
    told = run.engine.investigate(deal, what)
    put_all(run.journal, run.work, [text for what_, text in told if what_ == "file"])
    outcome.cases = sorted((codec.loads(GroupCase, t) for what_, t in told if what_ == "case"), key=_first)
    outcome.failures = [codec.loads(Failure, t) for what_, t in told if what_ == "failure"]
    return outcome


def _directories(store: Store, table: Table, days: Sequence[int], scope: str) -> Iterator[str]:
    """The partitions of some dates that are there."""
    return (directory_of(table.name, *partition) for partition in partition_files(store, table, days, scope))


def _portions(files: Sequence[str], tasks: int) -> tuple[tuple[str, ...], ...]:
    hands = min(tasks, len(files))
    return tuple(tuple(files[hand::hands]) for hand in range(hands))


def _cut(stats: Sequence[SplitStats]) -> tuple[SplitStats, ...]:
    """The counts of files that were read in several splits."""
    often = Counter(split.path for split in stats)
    return tuple(split for split in stats if often[split.path] > 1)


def _first(case: GroupCase) -> tuple[int, str, str]:
    return case.incidents[0].started_at // DAY_MS, case.history.cluster, case.history.group


def _write_findings(run: _Run, outcome: Outcome) -> None:
    """The incidents and findings: few enough for the driver."""
    writer = PartWriter(run.store, run.work, run.id)
    for case in outcome.cases:
        for incident in case.incidents:
            day = incident.started_at // DAY_MS
            writer.add(INCIDENTS.name, day, incident.cluster, incident_row(incident))
            for row in finding_rows(incident):
                writer.add(FINDINGS.name, day, incident.cluster, row)
    writer.finish()
    put_all(run.journal, run.work, writer.finished)


def _add_publications(run: _Run, outcome: Outcome, days: Days) -> None:
    """Reports and messages become visible together with the tables."""
    options, store = run.options, run.store
    if options.reports_from:
        dated = [f"{REPORTS}/date={date_text(day)}" for day in sorted(days.investigated)]
        pages = [file.path.rpartition("/")[0] for directory in dated for file in store.files(directory)]
        run.journal.replace(page for page in pages if _in_scope(page, options.scope))
        add_reports(store, run.journal, run.work, outcome.cases, severities_from(options.reports_from))
    if options.webhooks and outcome.incidents:
        path = f"{run.work}/{FILES}/{OUTBOX}/{run.id}/messages.json"
        store.write(path, outbox_text(outcome.cases, severities_from(options.alert_from)).encode())
        run.journal.put(f"{OUTBOX}/{run.id}", path)


def _in_scope(directory: str, scope: str) -> bool:
    known = partition_of(f"{directory}/")
    return known is not None and scope in (EVERY_CLUSTER, known[2])


def severities_from(lowest: str) -> tuple[str, ...]:
    """A severity and all that are worse."""
    return SEVERITIES[SEVERITIES.index(lowest) :]


def _write_run(run: _Run, outcome: Outcome) -> None:
    """The summary row, beside those of the date's other runs."""
    day = run.interval.since // DAY_MS
    scope = run.options.scope
    writer = PartWriter(run.store, run.work, run.id)
    for row in [*state.rows_of_day(run.store, RUNS, day, scope), outcome.summary]:
        writer.add(RUNS.name, day, scope, row)
    writer.finish()
    run.journal.replace([directory_of(RUNS.name, day, scope)])
    put_all(run.journal, run.work, writer.finished)


def _summary(
    run: _Run, outcome: Outcome, listing: Listing, found: Changes, scanned: Scanned, days: Days
) -> dict[str, int | str | None]:
    """One row: what the run read and wrote, and how it ended."""
    return {
        "id": run.id,
        "started_at": run.started_ms * 1000,
        "finished_at": _now() * 1000,
        "since": run.interval.since * 1000,
        "until": run.interval.until * 1000,
        "listed": len(listing.files) + len(listing.errors),
        "scanned": len(found.fresh),
        "unreadable": len(outcome.errors),
        "bytes": sum(split.bytes for split in scanned.stats),
        "events": scanned.events,
        "days": len(days.written),
        "incidents": len(outcome.incidents),
        "exit_code": exit_code(outcome, run.options.fail_on),
        "version": __version__,
    }


def exit_code(outcome: Outcome, fail_on: str | None) -> int:
    """3 when something could not be read, else 1 when an incident is as bad as `fail_on`, else 0."""
    if outcome.errors or outcome.failures:
        return PARTIAL
    bad = severities_from(fail_on) if fail_on else ()
    return FOUND if any(incident.severity in bad for incident in outcome.incidents) else OK


def _now() -> int:
    return int(time.time() * 1000)
