"""Commands that ask one thing of the logs: a group's timeline, the identities of a member, the events, the coverage."""

from __future__ import annotations

from typing import Annotated

import typer

from rebalance_forensics.cli.analysis_run import exit_code, options_of, run
from rebalance_forensics.cli.options import (
    ClusterOption,
    EngineName,
    EngineOption,
    JavaHomeOption,
    PathsArgument,
    PatternsOption,
    SinceOption,
    TzOption,
    UntilOption,
)
from rebalance_forensics.cli.outcomes import colored, leave, say, width
from rebalance_forensics.pipeline.refusals import refuse_unknown_group, refuse_unknown_name


def timeline(
    paths: PathsArgument,
    *,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", "-g", metavar="G", help="The consumer group, where there are several.", show_default=False
        ),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    tz: TzOption = [],  # noqa: B006 - typer reads the default and makes a new list
    cluster: ClusterOption = None,
    patterns: PatternsOption = [],  # noqa: B006
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="Unfold what repeats itself.", show_default=False)
    ] = 0,
) -> None:
    """Show every generation of one group, member by member.

    Who joined, who left, who led, what triggered it and how long it took.
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
    paths: PathsArgument,
    name: Annotated[
        str,
        typer.Argument(
            help="A member id, client id, instance id, thread, host, file, broker or topic.", metavar="NAME"
        ),
    ],
    tz: TzOption = [],  # noqa: B006
    cluster: ClusterOption = None,
    patterns: PatternsOption = [],  # noqa: B006
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
) -> None:
    """Show every identity of a member over time.

    Member ids and when they were in the group, client id, instance id, thread, host and file, of every member that
    goes by NAME or a part of it; of a broker the groups it coordinates, of a topic its readers.
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
    paths: PathsArgument,
    tz: TzOption = [],  # noqa: B006
    cluster: ClusterOption = None,
    patterns: PatternsOption = [],  # noqa: B006
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
) -> None:
    """Print the typed events, one line of JSON each.

    docs/events.md lists every event and its fields.
    """
    from rebalance_forensics.pipeline.event_files import event_lines  # noqa: PLC0415

    options = options_of(engine=engine, tz=tz, cluster=cluster, patterns=patterns, java_home=java_home)
    analysis = run(paths, options, keep_events=True)
    for line in event_lines(analysis):
        say(line)
    leave(exit_code(analysis))


def coverage(
    paths: PathsArgument,
    tz: TzOption = [],  # noqa: B006
    cluster: ClusterOption = None,
    patterns: PatternsOption = [],  # noqa: B006
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
) -> None:
    """Show what was understood of each file.

    Layout, component, Kafka version, host and zone; how many lines were matched, unknown and unparsed.
    """
    from rebalance_forensics.report.terminal import render_coverage  # noqa: PLC0415

    options = options_of(engine=engine, tz=tz, cluster=cluster, patterns=patterns, java_home=java_home)
    analysis = run(paths, options)
    report = analysis.report
    say(render_coverage(report.inputs, width=width(), color=colored()))
    leave(exit_code(analysis))
