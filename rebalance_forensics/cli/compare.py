"""`compare`: two inputs, or two incidents, side by side."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli.analysis_run import exit_code, incident_in, options_of, run, split_incident_id
from rebalance_forensics.cli.options import EngineName, EngineOption, JavaHomeOption, PatternsOption, TzOption
from rebalance_forensics.cli.outcomes import colored, leave, say, width

if TYPE_CHECKING:
    from rebalance_forensics.diagnosis.model import Incident
    from rebalance_forensics.report.model import Report

SIDE = "Logs, or LOGS#INCIDENT-ID for one incident of them."


def compare(
    a: Annotated[str, typer.Argument(help=SIDE, metavar="A")],
    b: Annotated[str, typer.Argument(help=SIDE, metavar="B")],
    tz: TzOption = [],  # noqa: B006 - typer reads the default and makes a new list
    patterns: PatternsOption = [],  # noqa: B006
    engine: EngineOption = EngineName.AUTO,
    java_home: JavaHomeOption = None,
) -> None:
    """Show what differs between two inputs or two incidents."""
    options = options_of(engine=engine, tz=tz, patterns=patterns, java_home=java_home)
    inputs = dict.fromkeys(split_incident_id(side)[0] for side in (a, b))
    analyses = {path: run([path], options) for path in inputs}
    reports = {path: analysis.report for path, analysis in analyses.items()}
    say(_compared(_side(a, reports), _side(b, reports), _titles(a, b)))
    leave(max(map(exit_code, analyses.values())))


def _compared(before: Report | Incident, after: Report | Incident, names: tuple[str, str]) -> str:
    from rebalance_forensics.report.terminal import render_compare  # noqa: PLC0415

    return render_compare(before, after, names=names, width=width(), color=colored())


def _titles(a: str, b: str) -> tuple[str, str]:
    """The parts of two names that differ, for the heads of narrow columns."""
    left, right = Path(a).parts, Path(b).parts
    if left == right:
        return a, b
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
    # One may lie within the other; its own name is better than none.
    return str(Path(*(left[alike:] or left[-1:]))), str(Path(*(right[alike:] or right[-1:])))


def _side(text: str, reports: dict[str, Report]) -> Report | Incident:
    path, incident_id = split_incident_id(text)
    report = reports[path]
    return report if incident_id is None else incident_in(report, path, incident_id)
