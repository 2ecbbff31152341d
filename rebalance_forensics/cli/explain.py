"""The `explain` command: explains a cause, a log line field by field, or how an incident was judged."""

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
            help="One quoted log line, with its stack trace if it has one; - reads it from standard input.",
            show_default=False,
        ),
    ] = None,
    patterns: PatternsOption = [],  # noqa: B006 - typer reads the default and makes a new list
    tz: TzOption = [],  # noqa: B006
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
) -> None:
    """Explain a cause, one log line, or how one incident was judged.

    For a cause: how it happens, how to recognize it, what to do. For a log line: what it means, field by field.
    For an incident: every cause considered, with the log lines for and against it.
    """
    from rebalance_forensics.cli.explanations import explanation_of, facts_of_line, is_line  # noqa: PLC0415 - not for help
    from rebalance_forensics.diagnosis.reference.glossary import glossary  # noqa: PLC0415
    from rebalance_forensics.report import terminal  # noqa: PLC0415
    from rebalance_forensics.report.terminal.rich_blocks import labelled, printed  # noqa: PLC0415

    if (not cause) == (line is None):
        known = ", ".join(sorted(glossary().causes))
        raise InputError(f"explain takes a cause, a setting, a log line or LOGS#INCIDENT-ID; causes: {known}.")
    # Causes, settings and incident ids are single words: the catalog is loaded only for several words.
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
