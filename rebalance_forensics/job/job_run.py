"""A run of the job, from listing the files to committing the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from operator import itemgetter
from uuid import uuid4

import msgspec

from rebalance_forensics import __version__
from rebalance_forensics.job.alerts import is_unsent, outbox_of, outbox_text
from rebalance_forensics.job.lake import editions, layout
from rebalance_forensics.job.lake.delta import Overtaken
from rebalance_forensics.job.lake.editions import Draft, Edition
from rebalance_forensics.job.lake.intervals import Coverage, Interval, time_text
from rebalance_forensics.job.lake.losses import lost_from
from rebalance_forensics.job.lake.row_files import PartWriter, written
from rebalance_forensics.job.micro_batch import ReadAhead
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.publications import addresses_of_pages, write_reports
from rebalance_forensics.job.run import Outcome, Run, Scanned, exit_code, now_ms
from rebalance_forensics.job.scan import scan_files, scan_tables
from rebalance_forensics.job.steps.chosen_dates import changed_spans, chosen_days
from rebalance_forensics.job.steps.engines import EXPLAIN, SCAN, WRITE, JobEngine
from rebalance_forensics.job.steps.findings import Incidents, Kept, add_rows
from rebalance_forensics.job.steps.investigation import GroupSize, Investigation
from rebalance_forensics.job.steps.log_spans import heard_on, newly_heard
from rebalance_forensics.job.steps.partitioning import Days, Deal, Shards, dealt_by_rows
from rebalance_forensics.job.tenure import TablesTaken, Tenure, committing, holding
from rebalance_forensics.pipeline.inputs.file_listing import lies_within, refuse_missing_inputs
from rebalance_forensics.pipeline.inputs.stores import Store, checked_store, first_line, writing
from rebalance_forensics.pipeline.read_plan import refuse_patterns
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.schemas import TaskMessages, object_of
from rebalance_forensics.pipeline.stats import Failure, SplitLines, SplitStats
from rebalance_forensics.pipeline.tables.schemas import EVENTS, MADE_OF_EVENTS, PENDING, RUNS, Cells
from rebalance_forensics.process.timings import so_far, stage
from rebalance_forensics.records import DAY_MS
from rebalance_forensics.report.urgency_order import severities_from

_TABLES_UNCHANGED = "the tables are unchanged"
# Attempts to commit if no lease keeps other writers away.
_COMMIT_ATTEMPTS = 20
# Events that one task can sort and investigate in its own memory.
EVENTS_PER_SHARD = 500_000


def check(options: JobOptions) -> Store:
    """Check the options before anything is started or changed; returns the store of the tables."""
    if options.since is not None and options.until is not None:
        _refuse_backwards(options.since, options.until)
    if options.output.rstrip("/") in [given.rstrip("/") for given in options.inputs]:
        raise InputError(f"--output {options.output} is also an --input; choose another directory for the tables.")
    store = checked_store(options.output, role="--output") if options.dry_run else layout.output_store(options.store)
    editions.refuse_other_version(store)
    if not options.columns:
        refuse_missing_inputs(options.inputs)
    refuse_patterns(options.reading.patterns)
    return store


def run_job(
    options: JobOptions, engine: JobEngine, ahead: ReadAhead | None = None, tenure: Tenure | None = None
) -> Outcome:
    """Scan new content and rewrite the dates that it affects or the interval adds, under `tenure` or a new lease."""
    store = check(options)
    with nullcontext(tenure) if tenure else holding(options) as tenured:
        return _run_under_lease(options, engine, ahead, store, tenured)


def _run_under_lease(
    options: JobOptions, engine: JobEngine, ahead: ReadAhead | None, store: Store, tenure: Tenure
) -> Outcome:
    with writing(store, _TABLES_UNCHANGED):
        edition = _edition(options, store)
        # If files cannot be deleted, the user is warned after the run.
        with suppress(OSError):
            editions.forget_unfinished(edition, options.scope)
        run_id = uuid4().hex[:12]
        missing = lost_from(edition, options.scope)
        draft = Draft(base=edition, run=run_id, scope=options.scope, lost=missing.files)
        run = Run(
            options=options, engine=engine, store=store, interval=interval_of(options, edition.coverage(options.scope)),
            id=run_id, work=layout.work_of(options.scope, run_id), started_ms=now_ms(), tenure=tenure, edition=edition,
            draft=draft, lost=missing,
        )  # fmt: skip
        try:
            with ahead.persisted() if ahead else nullcontext():
                outcome, version = _run(run, ahead)
        except BaseException:
            if not tenure.is_lost:
                with suppress(OSError):
                    editions.forget_unfinished(edition, options.scope)
            raise
    outcome.notes += [*draft.notes, *_clean_up(run, version)]
    return outcome


def _edition(options: JobOptions, store: Store) -> Edition:
    edition = editions.edition_of(store)
    if edition.version is None and edition.known:
        with committing(options) as turn:
            return editions.take_over(store, turn.confirm)
    return edition


def _run(run: Run, ahead: ReadAhead | None) -> tuple[Outcome, Edition]:
    with stage(SCAN):
        scanned = scan_tables(run) if run.options.columns else scan_files(run, ahead)
    with stage(EXPLAIN):
        days, outcome = _explain(run, scanned)
    outcome.errors, outcome.notes = (
        [*scanned.errors, *outcome.errors],
        [*scanned.losses.notes, *_notes(run)],
    )
    with stage(WRITE):
        _write_findings(run, outcome)
        unsent = _add_publications(run, outcome)
    scanned.ledger.write(run.draft)
    outcome.summary = _summary(run, outcome, scanned, days)
    _add_to_runs(run, outcome.summary)
    run.tenure.renew()
    with stage("commit"):
        return outcome, _committed(run, days.coverage, unsent)


def _committed(run: Run, coverage: Coverage, unsent: Sequence[str]) -> Edition:
    # Runs commit one at a time, each on top of the tables as the previous commit left them.
    with committing(run.options) as turn:

        def confirm() -> None:
            run.tenure.confirm()
            turn.confirm()

        editions.mark_version(run.store)
        for _ in range(_COMMIT_ATTEMPTS):
            newest = editions.edition_of(run.store)
            if newest.named.run == run.id:
                # The store had accepted the commit, but its response was lost.
                return newest
            if newest.version != run.draft.base.version:
                if run.edition.overlaps(newest, run.options.scope):
                    raise TablesTaken(
                        f"{run.options.output}: another job has written these tables since this one started, "
                        "which stopped without changing them. Run it again."
                    )
                run.draft.base = newest
            waiting = [*(each for each in newest.named.unsent if is_unsent(run.store, each)), *unsent]
            with suppress(Overtaken):
                return editions.publish(run.draft, coverage, run.started_ms, waiting, confirm)
    raise InputError(f"--output {run.options.output}: other writers keep committing to the tables; run it again.")


def _clean_up(run: Run, edition: Edition) -> list[str]:
    # A failure to clean up does not fail the run.
    try:
        run.store.delete_tree(run.work)
    except OSError as error:
        return [
            f"{run.options.output}/{run.work} cannot be deleted: {first_line(error)}; let this user delete files there."
        ]
    return editions.tidy(run.edition, edition)


def _explain(run: Run, scanned: Scanned) -> tuple[Days, Outcome]:
    # Events are assigned to dates by their printed times. If the clocks of a group's logs turn out to differ by hours,
    # simultaneous lines fall on two dates, and investigations have to look ahead further by that difference.
    ledger, apart_ms = scanned.ledger, 0
    changed = changed_spans(scanned.spans, ledger.replaced, ledger.grown, ledger.dropped, ledger.unchanged)
    scope = run.options.scope
    stored = run.edition.dates(EVENTS, scope) | run.edition.dates(PENDING, scope)
    losses, named = scanned.losses, run.edition.named
    again = losses.days.union(named.unexplained.get(scope, ()))
    run.draft.incomplete = frozenset(named.incomplete.get(scope, ())) - losses.restored | losses.incomplete
    while True:
        days = chosen_days(
            run.edition.coverage(scope), run.interval, changed, stored, heard=newly_heard(ledger.removed, ledger.added),
            again=again, restored=losses.restored, incomplete=run.draft.incomplete,
            lookback_ms=run.options.lookback_ms,
            lookahead_ms=run.options.lookahead_ms + apart_ms,
        )  # fmt: skip
        answers = _investigate(run, days, scanned)
        furthest = max((int(text) for what, text in answers if what == "apart"), default=0)
        if furthest <= apart_ms:
            return days, _outcome(run, answers)
        apart_ms = furthest
        for what, text in answers:
            if what == "file":
                run.store.delete(msgspec.json.decode(text, type=layout.DataFile).path)


def _notes(run: Run) -> Iterator[str]:
    options, covered = run.options, run.interval.since
    if options.since is None and options.until is None and covered > run.started_ms:
        yield (
            f"the tables cover the time up to {time_text(covered)}, but the clock of this host shows "
            f"{time_text(run.started_ms)}. Unless a run was given an interval in the future, the host of the last run "
            "has a clock that is ahead: check both clocks. No input was skipped."
        )
    for given in options.inputs:
        if not options.columns and lies_within(options.output, given):
            yield f"--output {options.output} is within --input {given}; files there are not read as logs."


def interval_of(options: JobOptions, before: Coverage) -> Interval:
    """The interval of a run: as requested, by default from the end of the tables' coverage to now."""
    since = options.since if options.since is not None else before.end
    until = options.until if options.until is not None else now_ms()
    if since is None:
        raise InputError("--since is missing, and there was no earlier run to continue from; add --since.")
    if options.since is None and options.until is None:
        # The clock of the last run's host may be ahead.
        until = max(until, since + 1)
    _refuse_backwards(since, until)
    return Interval(since, until)


def _refuse_backwards(since: int, until: int) -> None:
    if until <= since:
        raise InputError(
            f"the interval ends ({time_text(until)}) before it starts ({time_text(since)}); swap --since and --until."
        )


def _investigate(run: Run, days: Days, scanned: Scanned) -> TaskMessages:
    store, scope, edition = run.store, run.options.scope, run.edition
    for table in (EVENTS, PENDING):
        run.draft.replace(table, edition.partitions(table, days.written, scope))
    for table in MADE_OF_EVENTS:
        run.draft.replace(table, edition.partitions(table, days.investigated, scope))
    files, events = dict(scanned.files), Counter(scanned.dates)
    for table in (EVENTS, PENDING):
        for (day, _), paths in edition.partitions(table, days.read, scope).items():
            for path in paths:
                files[path] = edition.files(table)[path].rows or 0
                events[day] += files[path]
    if not files or not days.written:
        return []
    shards = Shards.of(days, events, max(run.engine.workers, events.total() // EVENTS_PER_SHARD))
    deal = Deal(
        store=store, portions=dealt_by_rows(files, run.engine.workers * 4), days=days, shards=shards,
        forgotten=scanned.replaced, file_ids=scanned.file_ids, lines_of_splits=_cut(scanned.stats),
    )  # fmt: skip
    what = Investigation(
        days=days, heard=heard_on(days, scanned.ledger.entries), store=store, work=run.work, run=run.id,
        shards=shards, lanes=run.options.reports_from is not None,
    )  # fmt: skip
    # Marks the directory, so that the next run deletes the files in it if this run is killed.
    store.write(f"{run.work}/begun", b"")
    return run.engine.investigate(deal, what)


def _outcome(run: Run, answers: TaskMessages) -> Outcome:
    found = Incidents(run.store, [object_of(Kept, text) for what, text in answers if what == "case"])
    found.relate()
    run.draft.put(text for what, text in answers if what == "file")
    run.draft.unexplained.update(int(text) for what, text in answers if what == "again")
    largest = max((object_of(GroupSize, text) for what, text in answers if what == "size"), default=None)
    return Outcome(
        summary={}, interval=run.interval, found=found, largest=largest,
        errors=[text for what, text in answers if what == "error"],
        failures=list(dict.fromkeys(object_of(Failure, text) for what, text in answers if what == "failure")),
        defects=list(dict.fromkeys([*(text for what, text in answers if what == "defect"), *found.defects])),
    )  # fmt: skip


def _cut(stats: Sequence[SplitStats]) -> tuple[SplitLines, ...]:
    splits = Counter(split.path for split in stats)
    return tuple(split.split_lines for split in stats if splits[split.path] > 1)


def _write_findings(run: Run, outcome: Outcome) -> None:
    # The driver writes the few incidents of clusters; tasks write those of groups.
    writer = PartWriter(run.store, run.id)
    for day, incident in outcome.found.of_clusters:
        outcome.defects += (text for _, text in add_rows(writer, day, [incident]))
    writer.finish()
    findings = outcome.found.findings(run.id)
    answers = run.engine.write_findings(findings) if findings.files else []
    outcome.defects += (text for what, text in answers if what == "defect")
    run.draft.put([*writer.finished, *(text for what, text in answers if what == "file")])


def _add_publications(run: Run, outcome: Outcome) -> list[str]:
    # Neither becomes visible before the commit: pages need the index, and messages are sent only for committed runs.
    options, store = run.options, run.store
    if options.reports_from:
        outcome.defects += write_reports(store, outcome.found, severities_from(options.reports_from))
    if not (options.webhooks and outcome.incidents):
        return []
    with_pages = severities_from(options.reports_from) if options.reports_from and options.link else ()
    page_of = addresses_of_pages(options.link or "", with_pages)
    text, failed = outbox_text(outcome.found.whole(severities_from(options.alert_from)), page_of)
    outcome.defects += failed
    store.write(outbox_of(run.id), text.encode())
    return [run.id]


def _add_to_runs(run: Run, summary: Cells) -> None:
    # The partition is rewritten: the rows of the date's other runs, and the summary of this one.
    day, scope = run.started_ms // DAY_MS, run.options.scope
    rows = [*(row for _, row in run.edition.rows(RUNS, [day], scope)), summary]
    run.draft.replace(RUNS, [(day, scope)])
    run.draft.put(written(run.store, run.id, ((RUNS.name, day, scope, row) for row in rows)))


def _summary(run: Run, outcome: Outcome, scanned: Scanned, days: Days) -> dict[str, int | str | None]:
    largest = outcome.largest
    slowest, seconds = max(((name, took) for name, (took, _) in so_far().items()), key=itemgetter(1), default=("", 0.0))
    return {
        "id": run.id,
        "started_at": run.started_ms * 1000,
        "finished_at": now_ms() * 1000,
        "since": run.interval.since * 1000,
        "until": run.interval.until * 1000,
        "listed": scanned.listed,
        "scanned": len(scanned.ledger.scanned),
        "unreadable": len(outcome.errors),
        "bytes": scanned.bytes,
        "events": scanned.events,
        "days": len(days.written),
        "incidents": len(outcome.incidents),
        "exit_code": exit_code(outcome, run.options.fail_on),
        "version": __version__,
        "bytes_written": sum(file.size for file in run.draft.added),
        "slowest_stage": slowest,
        "slowest_stage_ms": int(seconds * 1000),
        "largest_group": largest.group if largest else None,
        "largest_group_events": largest.events if largest else None,
    }
