"""The `analyze` command: reads logs, reports incidents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli import parameters
from rebalance_forensics.cli.analysis_run import exit_code, options_of, run
from rebalance_forensics.cli.clipboard import clipboard_file
from rebalance_forensics.cli.outcomes import OK, PARTIAL, colored, leave, say, status, warn, warn_all, width
from rebalance_forensics.defects import sentence
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.process.timings import stage, taken

if TYPE_CHECKING:
    from rebalance_forensics.pipeline.options import AnalyzeOptions
    from rebalance_forensics.pipeline.run import Analysis
    from rebalance_forensics.report.model import Report

JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="F", help="Write the report as JSON; - is standard output.", show_default=False),
]
EventsOption = Annotated[
    Path | None,
    typer.Option("--events", metavar="DIR", help="Write the typed events as Parquet into DIR.", show_default=False),
]
TablesOption = Annotated[
    Path | None,
    typer.Option(
        "--tables",
        metavar="DIR",
        help="Write generations, pauses, unread, incidents and findings as Parquet into DIR.",
        show_default=False,
    ),
]
ExportOption = Annotated[
    list[str],
    typer.Option(
        "--export",
        metavar="FORMAT=F",
        help="Write the report for another tool: markdown, sarif, slack, pagerduty, timesketch, chrome-trace, "
        "incidents-csv, generations-csv, unread-csv, pauses-csv. Repeatable.",
        show_default=False,
    ),
]
VerboseOption = Annotated[
    int, typer.Option("--verbose", "-v", count=True, help="Show every line of proof.", show_default=False)
]
AnonymizeOption = Annotated[
    bool,
    typer.Option(
        "--anonymize",
        help="Write pseudonyms for groups, topics, members, hosts and addresses, the same in every output.",
        show_default=False,
    ),
]
LinkOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Address at which the --html file will be served: Slack and PagerDuty messages link to it.",
        show_default=False,
    ),
]
OutputModeOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODE",
        help="Permissions of output files, such as 640. New files get 600 by default, because they quote logs.",
        show_default=False,
    ),
]
FollowOption = Annotated[
    bool,
    typer.Option(
        "--follow",
        help="Keep reading logs that are still being written, or standard input; print incidents as they occur.",
    ),
]
TimingsOption = Annotated[
    bool, typer.Option("--timings", help="Print to standard error how long each stage took.", show_default=False)
]
KeepWarmOption = Annotated[
    bool,
    typer.Option(
        "--keep-warm",
        help="Leave Spark running for the next command. It stops when idle for half an hour, or with warmup --stop.",
        show_default=False,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print the verdicts only.", show_default=False)]
TopOption = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="N",
        min=1,
        help="List at most N incidents, and N groups per incident. Defaults: 8 and 12.",
        show_default=False,
    ),
]
WhyOption = Annotated[
    bool, typer.Option("--why", help="Show how each incident was judged: every cause against every sign.")
]


ClipboardOption = Annotated[
    bool, typer.Option("--clipboard", help="Read the clipboard, instead of or in addition to files.")
]


def analyze(
    paths: parameters.PathsArgument = [],  # noqa: B006 - typer reads the default and makes a new list
    *,
    clipboard: ClipboardOption = False,
    json: JsonOption = None,
    html: parameters.HtmlOption = None,
    events: EventsOption = None,
    tables: TablesOption = None,
    export: ExportOption = [],  # noqa: B006
    link: LinkOption = None,
    output_mode: OutputModeOption = None,
    group: parameters.GroupOption = None,
    since: parameters.SinceOption = None,
    until: parameters.UntilOption = None,
    tz: parameters.TzOption = [],  # noqa: B006
    cluster: parameters.ClusterOption = None,
    cluster_per_directory: parameters.ClusterPerDirectoryOption = False,
    patterns: parameters.PatternsOption = [],  # noqa: B006
    anonymize: AnonymizeOption = False,
    fail_on: parameters.FailOnOption = None,
    engine: parameters.EngineOption = parameters.EngineName.AUTO,
    java_home: parameters.JavaHomeOption = None,
    follow: FollowOption = False,
    keep_warm: KeepWarmOption = False,
    unpack_ratio: parameters.UnpackRatioOption = 1000,
    verbose: VerboseOption = 0,
    quiet: QuietOption = False,
    top: TopOption = None,
    why: WhyOption = False,
    timings: TimingsOption = False,
) -> None:
    """Find out why consumer groups rebalanced, and prove it.

    The report names the root cause and the culprit, and shows the log lines that prove it. Pass the logs
    of brokers or clients, ideally both: a directory, or an archive as you received it. The logs are not
    changed, and nothing leaves this machine.
    """
    from rebalance_forensics.cli.output_files import Outputs, shown, write_outputs  # noqa: PLC0415 - renderers load slowly

    outputs = Outputs.checked(
        json=json, html=html, events=events, tables=tables, export=export,
        anonymize=anonymize, link=link, mode=output_mode,
    )  # fmt: skip
    options = options_of(
        engine=engine, tz=tz, cluster=cluster, cluster_per_directory=cluster_per_directory, patterns=patterns,
        java_home=java_home, keep_warm=keep_warm, unpack_ratio=unpack_ratio, group=group, since=since, until=until,
        lanes=html is not None or bool(export) or anonymize,  # the names in lanes need pseudonyms too
    )  # fmt: skip

    def written(analysis: Analysis) -> Analysis:
        """Write all other outputs; returns the analysis with the report to print."""
        return replace(analysis, report=write_outputs(analysis, shown(analysis, outputs), outputs))

    verbosity = -1 if quiet else verbose
    rendered = None if outputs.fills_stdout else partial(_as_text, verbosity=verbosity, why=why, top=top, so_far=follow)
    keep_events, read = events is not None or anonymize, _inputs(paths, clipboard=clipboard)
    request = _Request(read, options, written, rendered, fail_on, keep_events=keep_events)
    report = partial(_follow, request) if follow else partial(_report_once, request, alone=not outputs.any_files)
    leave(_timed(report, wanted=timings))


@dataclass(frozen=True)
class _Request:
    """The input and its options; `write` writes the output files, `rendered` is None if one of them goes to stdout."""

    paths: Sequence[str]
    options: AnalyzeOptions
    write: Callable[[Analysis], Analysis]
    rendered: Callable[[Report], str] | None
    fail_on: parameters.SeverityName | None
    keep_events: bool = field(kw_only=True)


def _inputs(paths: list[str], *, clipboard: bool) -> list[str]:
    if clipboard:
        return [*paths, clipboard_file()]
    if not paths:
        raise InputError("nothing to read: name logs, - for standard input, or --clipboard.")
    return paths


def _report_once(request: _Request, *, alone: bool) -> int:
    analysis = request.write(run(request.paths, request.options, keep_events=request.keep_events))
    return _show(analysis.report, request.rendered, exit_code(analysis, request.fail_on), alone=alone)


def _timed(report: Callable[[], int], *, wanted: bool) -> int:
    with taken(wanted=wanted) as spent:
        code = report()
        if spent is not None:
            warn(f"where the time went\n{spent.table()}")
    return code


def _show(report: Report, rendered: Callable[[Report], str] | None, code: int, *, alone: bool) -> int:
    # If an internal error prevents printing, the files already written are kept, and the exit code shows it.
    if rendered is None:
        return code
    with stage("print"):
        try:
            text = rendered(report)
        except Exception as error:
            if alone:
                raise
            warn(f"{sentence('the report could not be printed', error)}.")
            return PARTIAL
        say(text)
    return code


def _as_text(report: Report, *, verbosity: int, why: bool, top: int | None, so_far: bool) -> str:
    from rebalance_forensics.report.terminal import render  # noqa: PLC0415

    return render(report, width=width(), color=colored(), verbosity=verbosity, why=why, top=top, so_far=so_far)


EVERY_S = 1.0
State = tuple[object, ...]


def _follow(request: _Request) -> int:
    """Print each incident when it is new or its verdict changes; rewrite all outputs on each change."""
    from rebalance_forensics.pipeline import live  # noqa: PLC0415 - `--help` needs no pyarrow
    from rebalance_forensics.report.incident_facts import state_of  # noqa: PLC0415
    from rebalance_forensics.report.terminal import at_this_moment  # noqa: PLC0415

    states: dict[str, State] = {}
    codes = [OK]

    def show(analysis: Analysis) -> None:
        shown = request.write(analysis)
        status("")
        changed = [incident for incident in analysis.report.incidents if states.get(incident.id) != state_of(incident)]
        states.update({incident.id: state_of(incident) for incident in changed})
        warn_all(error for log in analysis.report.inputs for error in log.errors)
        codes.append(exit_code(shown, request.fail_on))
        if changed and request.rendered is not None:
            try:
                text = request.rendered(_only(shown.report, {incident.id for incident in changed}))
            except Exception as error:  # noqa: BLE001 - later incidents can still be printed
                warn(f"{sentence('an incident could not be printed', error)}.")
                codes[-1] = PARTIAL
            else:
                say(text)
        status(at_this_moment(shown.report))

    live.refuse_unfollowable(request.paths, request.options)
    warn("following; Ctrl-C ends.")
    stdin, keep = sys.stdin.buffer, request.keep_events
    live.follow(request.paths, request.options, show, every_s=EVERY_S, stdin=stdin, keep_events=keep)
    status("")
    return codes[-1]


def _only(report: Report, ids: set[str]) -> Report:
    from msgspec.structs import replace  # noqa: PLC0415 - `--help` needs none

    incidents = tuple(incident for incident in report.incidents if incident.id in ids)
    groups = {(incident.cluster, group) for incident in incidents for group in incident.group_names}
    return replace(
        report,
        incidents=incidents,
        groups=tuple(group for group in report.groups if (group.cluster, group.group) in groups),
        gaps=(),
    )
