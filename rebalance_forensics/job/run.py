"""What one run of the job has at hand, what it has scanned, what it came to, and its figures as Prometheus text."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.model import Gap, Incident
from rebalance_forensics.job.entries import Ledger
from rebalance_forensics.job.lake.intervals import Interval
from rebalance_forensics.job.lake.journal import Journal
from rebalance_forensics.job.lake.stock import Stock
from rebalance_forensics.job.losses import Losses
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.steps.chosen_dates import Reach, changed_spans
from rebalance_forensics.job.steps.engines import JobEngine
from rebalance_forensics.job.steps.log_spans import newly_heard
from rebalance_forensics.job.steps.scan_step import Spans
from rebalance_forensics.job.tenure import Tenure
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.timeline.model import GroupHistory

OK, FOUND, REFUSED, PARTIAL, DEFECT, TAKEN = 0, 1, 2, 3, 70, 75
SEVERITIES = ("info", "warning", "critical")


@dataclass(slots=True, kw_only=True)
class Run:
    """One run: what it is asked for, and where its unfinished files are."""

    options: JobOptions
    engine: JobEngine
    store: Store
    interval: Interval
    id: str
    work: str
    started_ms: int
    tenure: Tenure
    stock: Stock = field(default_factory=Stock)
    journal: Journal = field(default_factory=Journal)


@dataclass(slots=True, kw_only=True)
class Scanned:
    """What the scan of new files found."""

    stats: list[SplitStats]
    """With those of the parts that were read by earlier runs."""
    spans: Spans
    files: list[str]
    """Waiting files of events."""
    events: int
    ledger: Ledger
    replaced: Mapping[str, int]
    """By file id, the place from which on what is known of a file no longer counts."""
    file_ids: Mapping[str, str]
    """By path, of the files that were scanned."""
    listed: int
    bytes: int
    errors: list[str]
    losses: Losses = field(default_factory=Losses)

    @property
    def changed(self) -> Reach:
        """When events came or went."""
        ledger = self.ledger
        return changed_spans(self.spans, ledger.replaced, ledger.grown, ledger.dropped)

    @property
    def heard(self) -> Reach:
        """When a log is heard that was not before, or no longer is."""
        return newly_heard(self.ledger.removed, self.ledger.added)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedIncident:
    """An incident of a date, with the histories of the groups that it disturbed and what the logs do not show."""

    day: int
    incident: Incident
    histories: tuple[GroupHistory, ...]
    gaps: tuple[Gap, ...] = ()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a run came to: the summary row, and what alerts and reports are made of."""

    summary: dict[str, int | str | None]
    interval: Interval
    dated: list[DatedIncident] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    """What defects of ours spoiled, beside whole files and groups."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user about a run that left nothing of the input out."""

    @property
    def incidents(self) -> list[Incident]:
        """All incidents of the dates that were written."""
        return [dated.incident for dated in self.dated]


def exit_code(outcome: Outcome, fail_on: str | None) -> int:
    """3 when something could not be read or delivered, else 1 when an incident is as bad as `fail_on`, else 0."""
    if outcome.errors or outcome.failures or outcome.defects:
        return PARTIAL
    bad = severities_from(fail_on) if fail_on else ()
    return FOUND if any(incident.severity in bad for incident in outcome.incidents) else OK


def severities_from(lowest: str) -> tuple[str, ...]:
    """A severity and all that are worse."""
    return SEVERITIES[SEVERITIES.index(lowest) :]


def now_ms() -> int:
    """The time, as events have it."""
    return int(time.time() * 1000)


_GAUGES = {
    "listed": ("files_listed", "Files there were."),
    "scanned": ("files_scanned", "Files that were new or had changed."),
    "unreadable": ("files_unreadable", "Files that could not be read."),
    "bytes": ("bytes_read", "Bytes read, unpacked."),
    "events": ("events_found", "Events in them."),
    "days": ("dates_written", "Dates whose tables were written anew."),
    "exit_code": ("exit_code", "Exit code of the run."),
}


def prometheus(outcome: Outcome) -> str:
    """The metrics of one run."""
    lines: list[str] = []
    for name, (metric, meaning) in _GAUGES.items():
        lines += _head(metric, meaning)
        lines.append(f"rebalance_forensics_{metric} {outcome.summary[name]}")
    duration = _number(outcome.summary["finished_at"]) - _number(outcome.summary["started_at"])
    for metric, meaning, value in (
        ("duration_seconds", "How long the run took.", duration / 1e6),
        ("last_run_timestamp_seconds", "When it was done.", _number(outcome.summary["finished_at"]) / 1e6),
        ("covered_until_timestamp_seconds", "Up to when the logs count.", outcome.interval.until / 1000),
    ):
        lines += [*_head(metric, meaning), f"rebalance_forensics_{metric} {value:.3f}"]
    lines += _head("incidents", "Incidents of the dates that were written.")
    counted = Counter((i.cluster, i.severity, i.root_causes[0].cause) for i in outcome.incidents)
    for (cluster, severity, cause), number in sorted(counted.items()):
        labels = f'cluster="{_escaped(cluster)}",severity="{severity}",cause="{cause}"'
        lines.append(f"rebalance_forensics_incidents{{{labels}}} {number}")
    return "\n".join(lines) + "\n"


def _head(metric: str, meaning: str) -> list[str]:
    return [f"# HELP rebalance_forensics_{metric} {meaning}", f"# TYPE rebalance_forensics_{metric} gauge"]


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
