"""The figures of a run as Prometheus text, for the node exporter's textfile collector or a push gateway."""

from __future__ import annotations

from collections import Counter

from rebalance_forensics.job.run import Outcome

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
