"""The commands `timeline`, `whois`, `events`, `coverage` and `compare`."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli import parameters
from rebalance_forensics.cli.analysis_run import exit_code, incident_in, options_of, run, split_incident_id
from rebalance_forensics.cli.outcomes import colored, leave, say, width
from rebalance_forensics.pipeline.refusals import refuse_unknown_group, refuse_unknown_name


def timeline(
    paths: parameters.PathsArgument,
    *,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            metavar="G",
            help="The consumer group; required if the logs contain several.",
            show_default=False,
        ),
    ] = None,
    since: parameters.SinceOption = None,
    until: parameters.UntilOption = None,
    tz: parameters.TzOption = [],  # noqa: B006 - typer reads the default and makes a new list
    cluster: parameters.ClusterOption = None,
    patterns: parameters.PatternsOption = [],  # noqa: B006
    engine: parameters.EngineOption = parameters.EngineName.AUTO,
    java_home: parameters.JavaHomeOption = None,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, help="Show repetitive generations and every member.", show_default=False
        ),
    ] = 0,
) -> None:
    """Show every generation of a group, member by member.

    Which members joined and left, which one led, what triggered the rebalance, and how long it took.
    """
    from rebalance_forensics.report.terminal import render_timeline  # noqa: PLC0415

    options = options_of(
        engine=engine, tz=tz, cluster=cluster, patterns=patterns, java_home=java_home, since=since, until=until
    )
    analysis = run(paths, options)
    report = analysis.report
    histories = [history for history in report.groups if group in (None, history.group)]
    if not histories or (group is None and len(histories) > 1):
        refuse_unknown_group(group, [history.group for history in report.groups])
    laid_out = (render_timeline(history, width=width(), color=colored(), verbosity=verbose) for history in histories)
    say("\n".join(laid_out))
    leave(exit_code(analysis))


def whois(
    paths: parameters.PathsArgument,
    name: Annotated[
        str,
        typer.Argument(
            help="A member id, client id, instance id, thread, host, file, broker or topic.", metavar="NAME"
        ),
    ],
    tz: parameters.TzOption = [],  # noqa: B006
    cluster: parameters.ClusterOption = None,
    patterns: parameters.PatternsOption = [],  # noqa: B006
    engine: parameters.EngineOption = parameters.EngineName.AUTO,
    java_home: parameters.JavaHomeOption = None,
) -> None:
    """Show every identity of a member over time.

    NAME or a part of it may be a member id, client id, instance id, thread, host or file. For each matching member, all
    of these are shown, and when it was in the group. For a broker: the groups it coordinates. For a topic: its readers.
    """
    from rebalance_forensics.report.terminal import all_names, is_known, render_whois  # noqa: PLC0415

    options = options_of(engine=engine, tz=tz, cluster=cluster, patterns=patterns, java_home=java_home)
    analysis = run(paths, options)
    report = analysis.report
    if not is_known(report, name):
        refuse_unknown_name(name, all_names(report))
    say(render_whois(report, name, width=width(), color=colored()))
    leave(exit_code(analysis))


def events(
    paths: parameters.PathsArgument,
    tz: parameters.TzOption = [],  # noqa: B006
    cluster: parameters.ClusterOption = None,
    patterns: parameters.PatternsOption = [],  # noqa: B006
    engine: parameters.EngineOption = parameters.EngineName.AUTO,
    java_home: parameters.JavaHomeOption = None,
) -> None:
    """Print all typed events as lines of JSON.

    docs/events.md lists every event and its fields.
    """
    from rebalance_forensics.pipeline.event_files import event_lines  # noqa: PLC0415

    options = options_of(engine=engine, tz=tz, cluster=cluster, patterns=patterns, java_home=java_home)
    analysis = run(paths, options, keep_events=True)
    for line in event_lines(analysis):
        say(line)
    leave(exit_code(analysis))


def coverage(
    paths: parameters.PathsArgument,
    tz: parameters.TzOption = [],  # noqa: B006
    cluster: parameters.ClusterOption = None,
    patterns: parameters.PatternsOption = [],  # noqa: B006
    engine: parameters.EngineOption = parameters.EngineName.AUTO,
    java_home: parameters.JavaHomeOption = None,
) -> None:
    """Show how each file was recognized.

    Layout, component, Kafka version, host and time zone, and how many lines were matched, unknown or unparsed.
    """
    from rebalance_forensics.report.terminal import render_coverage  # noqa: PLC0415

    options = options_of(engine=engine, tz=tz, cluster=cluster, patterns=patterns, java_home=java_home)
    analysis = run(paths, options)
    say(render_coverage(analysis.report.inputs, width=width(), color=colored()))
    leave(exit_code(analysis))


if TYPE_CHECKING:
    from rebalance_forensics.diagnosis.model import Incident
    from rebalance_forensics.report.model import Report

SIDE = "Logs, or LOGS#INCIDENT-ID for a single incident."


def compare(
    a: Annotated[str, typer.Argument(help=SIDE, metavar="A")],
    b: Annotated[str, typer.Argument(help=SIDE, metavar="B")],
    tz: parameters.TzOption = [],  # noqa: B006 - typer reads the default and makes a new list
    patterns: parameters.PatternsOption = [],  # noqa: B006
    engine: parameters.EngineOption = parameters.EngineName.AUTO,
    java_home: parameters.JavaHomeOption = None,
) -> None:
    """Show what differs between two inputs or two incidents."""
    options = options_of(engine=engine, tz=tz, patterns=patterns, java_home=java_home)
    inputs = dict.fromkeys(split_incident_id(side)[0] for side in (a, b))
    analyses = {path: run([path], options) for path in inputs}
    reports = {path: analysis.report for path, analysis in analyses.items()}
    from rebalance_forensics.report.terminal import render_compare  # noqa: PLC0415 - `--help` needs none of it

    sides = (_side(a, reports), _side(b, reports))
    say(render_compare(*sides, names=_titles(a, b), width=width(), color=colored()))
    leave(max(map(exit_code, analyses.values())))


def _titles(a: str, b: str) -> tuple[str, str]:
    # Column headings: the parts of the two paths that differ.
    left, right = Path(a).parts, Path(b).parts
    if left == right:
        return a, b
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
    # If one path contains the other, its last part is kept.
    return str(Path(*(left[alike:] or left[-1:]))), str(Path(*(right[alike:] or right[-1:])))


def _side(text: str, reports: dict[str, Report]) -> Report | Incident:
    path, incident_id = split_incident_id(text)
    report = reports[path]
    return report if incident_id is None else incident_in(report, path, incident_id)
