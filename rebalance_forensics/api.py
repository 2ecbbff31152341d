"""`analyze()` and `tables()` for notebooks and scripts: a report, or the job's tables, as pandas DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
from msgspec import Struct

from rebalance_forensics.defects import DefectError, sentence
from rebalance_forensics.diagnosis.model import Blame, Impact, Incident
from rebalance_forensics.pipeline.event_files import RECORD, event_records
from rebalance_forensics.pipeline.options import AnalyzeOptions, Engine, parse_instant, zone_rules
from rebalance_forensics.pipeline.refusals import InputError, did_you_mean
from rebalance_forensics.pipeline.run import Analysis, analyze_with_events
from rebalance_forensics.records import is_dated
from rebalance_forensics.report.conclusions import conclusion
from rebalance_forensics.report.exports.csv_tables import UNREAD
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.output_files import write_whole
from rebalance_forensics.report.schema import Columns
from rebalance_forensics.report.terminal import render
from rebalance_forensics.report.urgency_order import faults
from rebalance_forensics.report.wording import count
from rebalance_forensics.timeline.model import Generation, GroupHistory, Pause

if TYPE_CHECKING:
    from rebalance_forensics.job.written_tables import WrittenTables

__all__ = ["AnalyzedLogs", "DefectError", "InputError", "analyze", "tables"]

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


def tables(output: str | PathLike[str], version: int | None = None) -> WrittenTables:
    """The job's tables after its last complete run, or after the run that wrote this `version` of the table `runs`.

    Raises:
        InputError: There are no tables, or no such version.

    """
    from rebalance_forensics.job import written_tables  # noqa: PLC0415 - imports Spark

    return written_tables.tables(fspath(output), version)


def analyze(
    paths: Paths,
    *,
    engine: Engine = "auto",
    group: str | None = None,
    since: str | None = None,
    until: str | None = None,
    tz: str | Sequence[str] = (),
    cluster: str | None = None,
    patterns: Sequence[str | PathLike[str]] = (),
    java_home: str | None = None,
) -> AnalyzedLogs:
    """Analyze log files, directories or archives; the options have the same names and meanings as on the command line.

    Args:
        paths: Log files, directories or archives.
        engine: "spark", "local", or "auto": a running Spark session; without one, Spark only if the input is large.
        group: Report on this consumer group only.
        since: Start of the window: "2026-11-20T14:00:00Z", "02:00" (latest, UTC), or "2h" before the last line.
        until: End of the window, in the same format.
        tz: Zone of log times without one: "Europe/Berlin", or "broker-2=+02:00" for one host.
        cluster: Name of the cluster in the report.
        patterns: Directories of your own patterns.
        java_home: Java installation for Spark.

    Raises:
        InputError: The input or an option is invalid; the message says what to correct.
        DefectError: An internal error left no report.

    """
    if engine not in (engines := get_args(Engine)):
        raise InputError(f"there is no engine {engine!r}; {did_you_mean(engine, engines, 'engines')}")
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


@dataclass(frozen=True, repr=False)
class AnalyzedLogs:
    """A report and its tables, each computed on first access."""

    _analysis: Analysis = field(repr=False)

    @property
    def report(self) -> Report:
        """The report as typed objects."""
        return self._analysis.report

    @cached_property
    def events(self) -> pd.DataFrame:
        """One row per event: time, origin, group and type; the fields of its type are a dict in `fields`."""
        return _frame(RECORD, event_records(self._analysis), times=("timestamp",))

    @cached_property
    def generations(self) -> pd.DataFrame:
        """One row per generation of a group."""
        return _table(_GENERATIONS, ((g, generation) for g in self.report.groups for generation in g.generations))

    @cached_property
    def pauses(self) -> pd.DataFrame:
        """One row per pause of a member."""
        return _table(_PAUSES, ((group, pause) for group in self.report.groups for pause in group.pauses))

    @cached_property
    def unread(self) -> pd.DataFrame:
        """One row per period in which no member could read a partition."""
        return _table(UNREAD, ((group, span) for group in self.report.groups for span in group.unread))

    @cached_property
    def incidents(self) -> pd.DataFrame:
        """One row per incident, with its most likely cause."""
        return _table(_INCIDENTS, ((each, each.root_causes[0], each.impact) for each in self.report.incidents))

    def to_json(self) -> str:
        """The report as `analyze --json` writes it."""
        return to_json(self.report)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write the report as `analyze --html` does."""
        write_whole(Path(path), to_html(self.report))

    def __repr__(self) -> str:
        """A summary in one line, for a prompt that shows the value."""
        found = faults(self.report)
        shown = f"{count(len(found), 'fault')}, first: {found[0].summary}" if found else conclusion(self.report)
        return f"<AnalyzedLogs: {shown} print() shows the report>"

    def __str__(self) -> str:
        """The report as a terminal shows it."""
        return render(self.report)

    def _repr_html_(self) -> str:
        # In an iframe, so that the page's styles and scripts do not affect the notebook.
        style = "width: 100%; height: 50rem; border: 0"
        return f'<iframe title="Rebalance report" style="{style}" srcdoc="{escape(to_html(self.report))}"></iframe>'


_GENERATIONS = Columns(
    (GroupHistory, "cluster, group"),
    (
        Generation,
        "generation, started_at, completed_at, trigger, leader, member_names as members, joined, left, outcome",
    ),
)
_PAUSES = Columns(
    (GroupHistory, "cluster, group"),
    (Pause, "client_id, member_id, started_at as from, ended_at as to, lasted_ms as ms, partitions, kind"),
)
_INCIDENTS = Columns(
    (Incident, "id, cluster, scope, group_name as group, started_at, ended_at, severity"),
    (Blame, "cause, confidence, culprit_names as culprits"),
    (Incident, "summary, generations, ongoing"),
    (Impact, "unread_partition_ms, unread_at_least, longest_unread_ms, longest_unread_partition, stopped_ms"),
    (Impact, "pause_ms, members, partitions, rebalances"),
)


def _table(columns: Columns, rows: Iterable[tuple[Struct, ...]]) -> pd.DataFrame:
    cells = (columns.values(*parts) for parts in rows)
    listed = ([list(value) if isinstance(value, tuple) else value for value in row] for row in cells)
    return _frame(columns.names, listed, times=columns.times)


def _frame(names: Sequence[str], rows: Iterable[Sequence[Any]], *, times: Sequence[str]) -> pd.DataFrame:
    # An empty table has its columns as well, so that a notebook need not check for them.
    frame = pd.DataFrame(list(rows), columns=list(names))
    for name in times:
        known = (None if pd.isna(at) or not is_dated(at) else int(at) for at in frame[name])
        stamps = [np.datetime64("NaT" if at is None else at, "ms") for at in known]
        frame[name] = pd.DatetimeIndex(np.array(stamps, dtype="datetime64[ms]"), tz="UTC")
    return frame
