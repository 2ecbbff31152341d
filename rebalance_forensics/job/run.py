"""The state of one run of the job, its scan, its outcome, and its metrics as Prometheus text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.model import Headline
from rebalance_forensics.job.entries import Ledger
from rebalance_forensics.job.lake.editions import Draft, Edition
from rebalance_forensics.job.lake.intervals import Interval
from rebalance_forensics.job.lake.losses import Losses, Lost
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.steps.engines import JobEngine
from rebalance_forensics.job.steps.findings import Incidents
from rebalance_forensics.job.steps.investigation import GroupSize
from rebalance_forensics.job.steps.scan_step import Spans
from rebalance_forensics.job.tenure import Tenure
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.process.timings import so_far
from rebalance_forensics.report.urgency_order import severities_from

OK, FOUND, REFUSED, PARTIAL, DEFECT, TAKEN = 0, 1, 2, 3, 70, 75


@dataclass(slots=True, kw_only=True)
class Run:
    """One run: its options, and the place of its unpublished files."""

    options: JobOptions
    engine: JobEngine
    store: Store
    interval: Interval
    id: str
    work: str
    started_ms: int
    tenure: Tenure
    edition: Edition
    """The tables before the run."""
    draft: Draft
    """The changes of this run."""
    lost: Lost


@dataclass(slots=True, kw_only=True)
class Scanned:
    """The result of scanning new files."""

    stats: list[SplitStats]
    """Counts, including those of parts that earlier runs read."""
    spans: Spans
    files: Mapping[str, int]
    """Unpublished files of events -> the number of events."""
    dates: Mapping[int, int]
    """Date -> the number of events in these files."""
    ledger: Ledger
    replaced: Mapping[str, int]
    """File id -> the offset from which on earlier events no longer count."""
    file_ids: Mapping[str, str]
    """Path -> id of each scanned file."""
    listed: int
    bytes: int
    errors: list[str]
    losses: Losses = field(default_factory=Losses)

    @property
    def events(self) -> int:
        """The number of events found."""
        return sum(self.files.values())


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of a run: the summary row, and the incidents for alerts and reports."""

    summary: dict[str, int | str | None]
    interval: Interval
    found: Incidents
    largest: GroupSize | None = None
    """The largest investigated group, by events on one date."""
    failures: list[Failure] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    """Effects of our own defects, except for whole files and groups."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user that do not mean that input was left out."""

    @property
    def incidents(self) -> list[Headline]:
        """All incidents on the dates that were written."""
        return [headline for _, headline in self.found.headlines]


def exit_code(outcome: Outcome, fail_on: str | None) -> int:
    """3 when something could not be read or delivered, else 1 when an incident is as bad as `fail_on`, else 0."""
    if outcome.errors or outcome.failures or outcome.defects:
        return PARTIAL
    bad = severities_from(fail_on) if fail_on else ()
    return FOUND if any(incident.severity in bad for incident in outcome.incidents) else OK


def now_ms() -> int:
    """The current time in epoch ms."""
    return int(time.time() * 1000)


def prometheus(outcome: Outcome) -> str:
    """The metrics of one run as Prometheus text."""
    run = outcome.summary
    started_s, finished_s = (float(run[name] or 0) / 1e6 for name in ("started_at", "finished_at"))
    gauges: tuple[tuple[str, str, object], ...] = (
        ("files_listed", "Files there were.", run["listed"]),
        ("files_scanned", "Files that were new or had changed.", run["scanned"]),
        ("files_unreadable", "Files that could not be read.", run["unreadable"]),
        ("bytes_read", "Bytes read, unpacked.", run["bytes"]),
        ("events_found", "Events in them.", run["events"]),
        ("bytes_written", "Size of the files it wrote.", run["bytes_written"]),
        ("largest_group_events", "Events of the group and date that had most.", run["largest_group_events"] or 0),
        ("dates_written", "Dates whose tables were written anew.", run["days"]),
        ("exit_code", "Exit code of the run.", run["exit_code"]),
        ("duration_seconds", "How long the run took.", f"{finished_s - started_s:.3f}"),
        ("last_run_timestamp_seconds", "When it was done.", f"{finished_s:.3f}"),
        ("covered_until_timestamp_seconds", "Up to when the logs count.", f"{outcome.interval.until / 1000:.3f}"),
    )
    counted = Counter((i.cluster, i.severity, i.root_causes[0].cause) for i in outcome.incidents)
    incidents = [
        (f'{{cluster="{_escaped(cluster)}",severity="{severity}",cause="{cause}"}}', number)
        for (cluster, severity, cause), number in sorted(counted.items())
    ]
    lines: list[str] = []
    metrics: list[tuple[str, str, Sequence[tuple[str, object]]]]
    metrics = [(name, meaning, [("", value)]) for name, meaning, value in gauges]
    metrics.append(("incidents", "Incidents of the dates that were written.", incidents))
    stages = [(f'{{stage="{name}"}}', f"{took:.3f}") for name, (took, _) in so_far().items()]
    metrics.append(("stage_seconds", "How long each stage took.", stages))
    for name, meaning, values in metrics:
        metric = f"rebalance_forensics_{name}"
        lines += [f"# HELP {metric} {meaning}", f"# TYPE {metric} gauge"]
        lines += [f"{metric}{labels} {value}" for labels, value in values]
    return "\n".join(lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
