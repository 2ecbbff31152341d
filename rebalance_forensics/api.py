"""`analyze()` for notebooks and scripts: the report with its tables as pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pandas as pd

from rebalance_forensics.defects import DefectError, sentence
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.event_files import event_records
from rebalance_forensics.pipeline.instants import parse_instant
from rebalance_forensics.pipeline.options import AnalyzeOptions, Engine, zone_rules
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import Analysis, analyze_with_events
from rebalance_forensics.records import is_timed
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.output_files import write_whole
from rebalance_forensics.report.terminal import render

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


def analyze(
    paths: Paths,
    *,
    engine: Engine = "spark",
    group: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | Sequence[str] = (),
    cluster: str | None = None,
    patterns: Sequence[str | PathLike[str]] = (),
    java_home: str | None = None,
) -> AnalyzedLogs:
    """Analyze logs; the options are those of the command line. A running Spark session is used as it is.

    InputError says what to put right; DefectError is a mistake of ours that left no report.
    """
    options = AnalyzeOptions(
        engine=engine,
        group=group,
        since=parse_instant(since) if since else None,
        until=parse_instant(until) if until else None,
        zones=zone_rules([tz] if isinstance(tz, str) else tz),
        cluster=cluster,
        patterns=tuple(str(Path(directory).resolve()) for directory in patterns),
        java_home=java_home,
    )
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    names = [fspath(path) for path in given]
    try:
        return AnalyzedLogs(analyze_with_events(names, options, keep_events=True))
    except (InputError, DefectError, OSError):
        raise
    except Exception as error:
        raise DefectError(sentence(f"the analysis of {', '.join(names)} broke off", error)) from error


@dataclass(frozen=True)
class AnalyzedLogs:
    """A report and its tables, each made when it is first looked at."""

    _analysis: Analysis = field(repr=False)

    @property
    def report(self) -> Report:
        """The report as typed objects."""
        return self._analysis.report

    @cached_property
    def events(self) -> pd.DataFrame:
        """One row an event: when, where, which group, what; its own fields as a dict in `fields`."""
        return _frame(event_records(self._analysis), times=("timestamp",))

    @cached_property
    def generations(self) -> pd.DataFrame:
        """One row a generation of a group."""
        rows = (
            {
                "cluster": group.cluster,
                "group": group.group,
                "generation": generation.generation,
                "started_at": generation.started_at,
                "completed_at": generation.completed_at,
                "trigger": generation.trigger,
                "leader": generation.leader,
                "members": [member.client_id or member.member_id for member in generation.members],
                "joined": list(generation.joined),
                "left": list(generation.left),
                "outcome": generation.outcome,
            }
            for group in self.report.groups
            for generation in group.generations
        )
        return _frame(rows, times=("started_at", "completed_at"))

    @cached_property
    def pauses(self) -> pd.DataFrame:
        """One row a pause of a member."""
        rows = (
            {
                "cluster": group.cluster,
                "group": group.group,
                "client_id": pause.client_id,
                "member_id": pause.member_id,
                "from": pause.started_at,
                "to": pause.ended_at,
                "ms": pause.lasted_ms,
                "partitions": list(pause.partitions),
                "kind": pause.kind,
            }
            for group in self.report.groups
            for pause in group.pauses
        )
        return _frame(rows, times=("from", "to"))

    @cached_property
    def unread(self) -> pd.DataFrame:
        """One row a stretch in which nobody could read a partition."""
        rows = (
            {
                "cluster": group.cluster,
                "group": group.group,
                "partition": span.partition,
                "client_id": span.client_id,
                "from": span.started_at,
                "to": span.ended_at,
                "ms": span.lasted_ms,
                "why": span.why,
                "certain": span.certain,
                "from_earliest": span.from_earliest,
                "incident": span.incident,
            }
            for group in self.report.groups
            for span in group.unread
        )
        return _frame(rows, times=("from", "to", "from_earliest"))

    @cached_property
    def incidents(self) -> pd.DataFrame:
        """One row an incident, with its most likely cause."""
        return _frame(map(_incident, self.report.incidents), times=("started_at", "ended_at"))

    def to_json(self) -> str:
        """The report as `analyze --json` writes it."""
        return to_json(self.report)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write the report as `analyze --html` does."""
        write_whole(Path(path), to_html(self.report))

    def __str__(self) -> str:
        """The report as a terminal shows it."""
        return render(self.report)


def _incident(incident: Incident) -> dict[str, Any]:
    cause = incident.root_causes[0]
    return {
        "id": incident.id,
        "cluster": incident.cluster,
        "group": incident.group,
        "started_at": incident.started_at,
        "ended_at": incident.ended_at,
        "severity": incident.severity,
        "cause": cause.cause,
        "confidence": cause.confidence,
        "culprits": [culprit.name for culprit in cause.culprits],
        "summary": incident.summary,
        "generations": list(incident.generations),
        "ongoing": incident.ongoing,
        "unread_partition_ms": incident.impact.unread_partition_ms,
        "unread_at_least": incident.impact.unread_at_least,
        "longest_unread_ms": incident.impact.longest_unread_ms,
        "longest_unread_partition": incident.impact.longest_unread_partition,
        "stopped_ms": incident.impact.stopped_ms,
        "pause_ms": incident.impact.pause_ms,
        "members": incident.impact.members,
        "partitions": incident.impact.partitions,
        "rebalances": incident.impact.rebalances,
    }


def _frame(rows: Iterable[dict[str, Any]], *, times: Sequence[str]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows))
    for name in times:
        if name in frame:
            known = [at if is_timed(at) else None for at in frame[name].astype(object).where(frame[name].notna(), None)]
            frame[name] = pd.to_datetime(pd.array(known, dtype="Int64"), unit="ms", utc=True)
    return frame
