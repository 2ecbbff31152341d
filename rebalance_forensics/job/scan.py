"""The first half of a run: what is new among the inputs, opened, scanned and entered in the ledger."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.job.entries import Known, Ledger, entries_of
from rebalance_forensics.job.lake.ledger import Changes, Entry, changes, kinship, known_sights, read_ledger
from rebalance_forensics.job.losses import losses_of
from rebalance_forensics.job.micro_batch import ReadAhead, end_where_stream_stopped, fully_read
from rebalance_forensics.job.run import Run, Scanned
from rebalance_forensics.job.steps.scan_step import Scan, ScanPlan, Spans, plan_scan
from rebalance_forensics.pipeline.inputs.file_listing import Listing, list_inputs
from rebalance_forensics.pipeline.inputs.file_probe import Look, Looked, look_tasks
from rebalance_forensics.pipeline.inputs.sights import Sight, profiles_beside, sight_of
from rebalance_forensics.pipeline.inputs.task_messages import TaskMessages
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import refuse_with_defect
from rebalance_forensics.pipeline.schemas import object_of
from rebalance_forensics.pipeline.stats import SplitStats


@dataclass(slots=True)
class Harvest:
    """What the scanning tasks reported, added up."""

    stats: list[SplitStats] = field(default_factory=list)
    spans: Spans = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    events: int = 0

    @classmethod
    def of(cls, messages: TaskMessages) -> Harvest:
        """All of it."""
        harvest = cls()
        harvest.stats = [object_of(SplitStats, text) for what, text in messages if what == "counts"]
        for share in (json.loads(text) for what, text in messages if what == "scan"):
            harvest.files.append(share["file"])
            harvest.events += share["events"]
            for path, days in share["spans"].items():
                _widen(harvest.spans.setdefault(path, {}), days)
        return harvest


def scan_files(run: Run, ahead: ReadAhead | None = None) -> Scanned:
    """List, open what is new, read it, unless a stream has read it already."""
    entries = read_ledger(run.store, run.options.scope)
    listing = list_inputs(run.options.inputs, besides=run.options.output)
    parts = ahead.parts() if ahead else {}
    end_where_stream_stopped(listing, parts)
    sights, looked = _look(run, listing, entries)
    kin = kinship(sights, entries)
    former = [sight for entry in kin.removed if (sight := sight_of(entry.cells)) is not None]
    profiles = profiles_beside(list(sights.values()), run.options.reading.zones, former)
    losses = losses_of(run.stock, kin)
    found = changes(kin, sights, profiles, losses.again)
    read = [(sights[path], profiles[path]) for path in sorted(found.fresh)]
    plan = plan_scan(read, found, run.options.reading, errors=looked.errors, workers=run.engine.workers)
    harvest = Harvest.of(_read(run, plan, ahead, fully_read(parts, plan)))
    stats = [*(settled.stats for settled in plan.settled.values()), *harvest.stats]
    replaced = _replaced(plan, found)
    ids = {path: identity.file_id for path, identity in found.fresh.items()}
    ledger = entries_of(plan, stats, looked, Known(entries=entries, listing=listing), found)
    errors = [*(sentence for _, sentence in (*listing.errors, *looked.errors)), *ledger.scan_errors]
    refuse_foreign(run, len(listing.files), errors, ledger)
    return Scanned(
        stats=stats, spans={path: spans for path, spans in harvest.spans.items() if path in found.fresh},
        files=harvest.files, events=harvest.events, ledger=ledger, replaced=replaced, file_ids=ids,
        listed=len(listing.files) + len(listing.errors), bytes=sum(split.bytes for split in harvest.stats),
        errors=errors, losses=losses,
    )  # fmt: skip


def _look(run: Run, listing: Listing, entries: Sequence[Entry]) -> tuple[dict[str, Sight], Looked]:
    """All logs by path, those in files that changed opened; and what could not be."""
    known = known_sights(listing.files, entries, run.options.reading.limits, run.stock.listed_ms)
    new = [file for file in listing.files if file.path not in known]
    prefixes = {int(entry.cells["head_bytes"] or 0) for entry in entries if entry.cells["head"]}
    look = Look(tasks=look_tasks(new), prefixes=tuple(sorted(prefixes)), limits=run.options.reading.limits)
    looked = run.engine.look(look) if new else Looked()
    sights = [*(sight for of_file in known.values() for sight in of_file), *looked.sights]
    return {sight.file.path: sight for sight in sorted(sights, key=lambda sight: sight.file.path)}, looked


def _read(run: Run, plan: ScanPlan, ahead: ReadAhead | None, done: Collection[str]) -> TaskMessages:
    messages = ahead.scanned(done, run.store, run.work) if ahead and done else []
    left = plan.without(done, run.engine.workers) if done else plan.reads
    return [*messages, *run.engine.scan(Scan(plan=left, store=run.store, work=run.work))] if left.portions else messages


def _replaced(plan: ScanPlan, found: Changes) -> dict[str, int]:
    """Former states of files are forgotten; of those that are read on, what comes behind the settled part."""
    replaced = {entry.file_id: 0 for entry in (*found.replaced.values(), *found.dropped)}
    anew = {found.fresh[path].file_id: place for path, place in plan.forgotten_from.items()}
    return replaced | anew


def _widen(known: dict[str, tuple[int, int]], spans: dict[str, tuple[int, int]]) -> None:
    for day, (first, last) in spans.items():
        a, b = known.get(day, (first, last))
        known[day] = (min(a, first), max(b, last))


def refuse_foreign(run: Run, files: int, errors: Sequence[str], ledger: Ledger) -> None:
    """A run that has never seen a Kafka line says what it looked at, and touches nothing; a stream may have to wait."""
    if ledger.knows_kafka or run.options.stream:
        return
    refuse_with_defect(errors)
    looked_at = ", ".join(run.options.inputs)
    failed = "; ".join(errors[:3])
    if not files and not failed:
        raise InputError(f"{looked_at}: no files here; name a directory or prefix with Kafka logs.")
    remedy = failed or "name the logs of brokers, consumers, Streams or Connect workers"
    raise InputError(f"{looked_at}: no Kafka line found in {files} file(s); {remedy}.")
