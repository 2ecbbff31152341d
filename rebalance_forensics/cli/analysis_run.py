"""Runs an analysis for a command: builds the options, shows progress, determines the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rebalance_forensics.cli.outcomes import FOUND, OK, PARTIAL, warn, warn_all
from rebalance_forensics.cli.parameters import EngineName, SeverityName
from rebalance_forensics.defects import ASK
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.process.progress import shown
from rebalance_forensics.process.resources import cores
from rebalance_forensics.records import is_dated

if TYPE_CHECKING:
    from rebalance_forensics.catalog.matcher import Catalog
    from rebalance_forensics.diagnosis.model import Incident
    from rebalance_forensics.pipeline.options import AnalyzeOptions
    from rebalance_forensics.pipeline.run import Analysis
    from rebalance_forensics.pipeline.stats import Failure
    from rebalance_forensics.report.model import Report


def split_incident_id(text: str) -> tuple[str, str | None]:
    """Split LOGS#INCIDENT-ID; the id is None if there is none, as in the name of a file that contains a #."""
    path, hash_sign, incident_id = text.rpartition("#")
    return (path, incident_id) if hash_sign and not Path(text).exists() else (text, None)


def incident_in(report: Report, path: str, incident_id: str) -> Incident:
    """The incident whose id starts with `incident_id`; InputError lists the ids if no incident or several match."""
    found = [incident for incident in report.incidents if incident_id and incident.id.startswith(incident_id)]
    if len(found) != 1:
        known = ", ".join(incident.id for incident in report.incidents) or "none"
        which = "no incident" if not found else "several incidents"
        raise InputError(f"{path} has {which} {incident_id!r}; its incidents: {known}.")
    return found[0]


def options_of(
    *,
    engine: EngineName,
    tz: Sequence[str] = (),
    cluster: str | None = None,
    cluster_per_directory: bool = False,
    patterns: Sequence[Path] = (),
    java_home: str | None = None,
    keep_warm: bool = False,
    unpack_ratio: int | None = None,
    group: str | None = None,
    since: str | None = None,
    until: str | None = None,
    lanes: bool = False,
) -> AnalyzeOptions:
    """The options of an analysis, checked; `lanes` are needed only for HTML pages and exports."""
    from rebalance_forensics.pipeline.options import AnalyzeOptions, parse_instant, zone_rules  # noqa: PLC0415
    from rebalance_forensics.sources.files.budgets import Limits  # noqa: PLC0415

    return AnalyzeOptions(
        engine=engine.value,
        group=group,
        since=parse_instant(since) if since else None,
        until=parse_instant(until) if until else None,
        zones=zone_rules(tz),
        cluster=cluster,
        cluster_per_directory=cluster_per_directory,
        patterns=_resolved(patterns),
        java_home=java_home,
        keep_warm=keep_warm,
        lanes=lanes,
        processes=cores(),
        limits=Limits.of(unpack_ratio) if unpack_ratio else Limits(),
    )


def catalog_with(patterns: Sequence[Path]) -> Catalog:
    """The catalog with the user's own patterns, checked."""
    from rebalance_forensics.pipeline.catalogs import checked_catalog  # noqa: PLC0415

    return checked_catalog(_resolved(patterns))


def _resolved(directories: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(directory.resolve()) for directory in directories)


def run(paths: Sequence[str], options: AnalyzeOptions, *, keep_events: bool = False) -> Analysis:
    """Analyze the logs, with a progress bar on a terminal; warn about input that could not be read."""
    from rebalance_forensics.pipeline.run import analyze_with_events  # noqa: PLC0415

    options = _with_engine(paths, options)
    with shown(transient=True) as show:
        analysis = analyze_with_events(
            paths, options, keep_events=keep_events,
            progress=lambda done, total: show("reading logs", done, total, "bytes"),
        )  # fmt: skip
    refuse_empty_window(options, analysis.report)
    warn_all(
        error if log.path in error else f"{log.path}: {error}" for log in analysis.report.inputs for error in log.errors
    )
    warn_all(_skipped_reports(analysis.plan.reports))
    warn_all(_failed(analysis.failures))
    warn_all(_internal_errors(analysis))
    warn_all(_unmatched_options(options, analysis.report))
    return analysis


def _with_engine(paths: Sequence[str], options: AnalyzeOptions) -> AnalyzeOptions:
    # Spark takes a while to start: if the user did not ask for it, a line on standard error says why it is used.
    from rebalance_forensics.pipeline.engine_choice import engine_for  # noqa: PLC0415
    from rebalance_forensics.pipeline.read_plan import refuse_missing  # noqa: PLC0415

    if options.engine != "auto":
        return options
    # A warm session is faster than starting processes, and --java-home makes sense only for Spark.
    if options.keep_warm or options.java_home:
        return replace(options, engine="spark")
    refuse_missing(paths)
    choice = engine_for(paths)
    if choice.engine == "spark":
        warn(f"{choice.why}, so on Spark (--engine local: without).")
    return replace(options, engine=choice.engine)


def _internal_errors(analysis: Analysis) -> Iterator[str]:
    # Gaps caused by internal errors, other than groups that could not be investigated.
    failed = {failure.what for failure in analysis.failures}
    return (f"{gap.what}; {ASK}." for gap in analysis.report.gaps if gap.is_defect and gap.what not in failed)


def _skipped_reports(reports: Sequence[str]) -> Iterator[str]:
    reason = "written by an earlier run of this program, so not read as"
    if len(reports) == 1:
        yield f"{reports[0]}: {reason} a log."
    elif reports:
        yield f"{reports[0]} and {len(reports) - 1} more: {reason} logs."


def refuse_empty_window(options: AnalyzeOptions, report: Report) -> None:
    """Raise InputError if no line of the logs falls into the time window: "no incidents" would be misleading."""
    from rebalance_forensics.report.times import utc  # noqa: PLC0415 - `--help` needs none of it

    first = min((log.first for log in report.inputs if log.first is not None), default=None)
    last = max((log.last for log in report.inputs if log.last is not None), default=None)
    dated = any(given and given.at is not None for given in (options.since, options.until))
    if dated and first is not None and not is_dated(first):
        raise InputError("These logs print no date: --since and --until take how long before their end (2h, 45m).")
    since = options.since.resolve(last) if options.since else None
    until = options.until.resolve(last) if options.until else None
    if since is not None and until is not None and since >= until:
        raise InputError(f"--since {utc(since)} is not before --until {utc(until)}; nothing lies in this window.")
    if last is not None and since is not None and since > last:
        raise InputError(f"--since {utc(since)}: nothing in this window; the logs end at {utc(last)} UTC.")
    if first is not None and until is not None and until <= first:
        raise InputError(f"--until {utc(until)}: nothing in this window; the logs begin at {utc(first)} UTC.")


def _unmatched_options(options: AnalyzeOptions, report: Report) -> Iterator[str]:
    # Without this warning, users would take the report to be in the zone they asked for.
    from rebalance_forensics.pipeline.refusals import did_you_mean  # noqa: PLC0415 - `--help` needs none of it

    hosts = [log.host for log in report.inputs if log.host]
    yield from (
        f"--tz {name}={zone}: no file is of that name or host; {did_you_mean(name, hosts, 'hosts')}"
        for name, zone in options.zones.by_host
        if not any(name in (log.host, log.path, *log.path.split("/")) for log in report.inputs)
    )


def exit_code(analysis: Analysis, fail_on: SeverityName | None = None) -> int:
    """3 if input could not be read, 1 if an incident is at least as severe as `fail_on`, otherwise 0."""
    report = analysis.report
    if analysis.failures or any(log.errors for log in report.inputs) or any(gap.is_defect for gap in report.gaps):
        return PARTIAL
    if fail_on is None:
        return OK
    from rebalance_forensics.report.urgency_order import severities_from  # noqa: PLC0415 - `--help` needs none of it

    bad = severities_from(fail_on.value)
    return FOUND if any(incident.severity in bad for incident in report.lazy_incidents.outlines) else OK


def _failed(failures: Iterable[Failure]) -> Iterator[str]:
    # Each internal error once: it may affect every group.
    found: dict[str, list[Failure]] = {}
    for failure in failures:
        found.setdefault(failure.error, []).append(failure)
    for first, *others in found.values():
        alike = f" ({len(others):,} more for the same reason)" if others else ""
        yield f"{first.what}{alike}; {ASK}."
