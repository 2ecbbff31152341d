"""`explain`: what a cause or a follow-up is, what a line means field by field, how an incident was judged."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rebalance_forensics.cli import analysis_run
from rebalance_forensics.cli.completion import causes
from rebalance_forensics.cli.outcomes import colored, leave, say, width
from rebalance_forensics.cli.parameters import EngineName, EngineOption, JavaHomeOption, PatternsOption, TzOption
from rebalance_forensics.pipeline.refusals import InputError

STDIN = "-"


def explain(
    cause: Annotated[
        list[str] | None,
        typer.Argument(
            help="A cause or follow-up, such as slow-processing or cooperative; a setting, a KIP, a bug such as "
            "KAFKA-14024, an error code, a quoted log line; or LOGS#INCIDENT-ID for one incident.",
            metavar="CAUSE",
            show_default=False,
            autocompletion=causes,
        ),
    ] = None,
    line: Annotated[
        str | None,
        typer.Option(
            "--line",
            metavar="LINE",
            help="One line of a log, quoted, with its stack trace if it has one; - reads it from standard input.",
            show_default=False,
        ),
    ] = None,
    patterns: PatternsOption = [],  # noqa: B006 - typer reads the default and makes a new list
    tz: TzOption = [],  # noqa: B006
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
) -> None:
    """Explain a cause, one log line, or how one incident was judged.

    Of a cause: how it happens, how it shows, what to do. Of a line: what it means, field by field.
    Of an incident: every cause that was considered, what speaks for and against it, with the lines.
    """
    from rebalance_forensics.cli.explanations import explanation_of, facts_of_line, is_line  # noqa: PLC0415 - not for help
    from rebalance_forensics.diagnosis.reference.glossary import glossary  # noqa: PLC0415
    from rebalance_forensics.report import terminal  # noqa: PLC0415
    from rebalance_forensics.report.terminal.rich_blocks import labelled, printed  # noqa: PLC0415

    if (not cause) == (line is None):
        known = ", ".join(sorted(glossary().causes))
        raise InputError(f"explain takes a cause, a setting, a log line or LOGS#INCIDENT-ID; causes: {known}.")
    # A cause, a setting or an incident is one word: the catalog is loaded for what may be a line.
    words = " ".join(cause or ())
    if " " in words and is_line(words, analysis_run.catalog_with(patterns)):
        line, cause = words, None
    path, incident_id = analysis_run.split_incident_id(cause[0]) if cause and len(cause) == 1 else ("", None)
    if incident_id is not None:
        options = analysis_run.options_of(engine=engine, tz=tz, patterns=patterns, java_home=java_home)
        analysis = analysis_run.run([path], options)
        incident = analysis_run.incident_in(analysis.report, path, incident_id)
        say(terminal.render_incident(incident, width=width(), color=colored()))
        leave(analysis_run.exit_code(analysis))
    if line is None:
        say(terminal.render_explain(explanation_of("-".join(cause or ())), width=width(), color=colored()))
        leave(0)
    read = sys.stdin.buffer.read().decode(errors="replace") if line == STDIN else line
    if not read.strip():
        raise InputError("--line is empty; give it one line of a log, quoted, or - and the line on standard input.")
    facts = facts_of_line(read, analysis_run.catalog_with(patterns))
    say(printed([labelled(facts)], width=width(), color=colored()))
    leave(0)
