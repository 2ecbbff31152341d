"""`explain`: what a cause or a follow-up is, what a line means, how an incident was judged."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli.analysis_run import catalog_with, exit_code, options_of, run
from rebalance_forensics.cli.completion import causes
from rebalance_forensics.cli.incident_choice import incident_in, split_incident_id
from rebalance_forensics.cli.line_explanation import line_explained
from rebalance_forensics.cli.options import EngineName, EngineOption, JavaHomeOption, PatternsOption, TzOption
from rebalance_forensics.cli.outcomes import colored, leave, say, width
from rebalance_forensics.pipeline.refusals import InputError

if TYPE_CHECKING:
    from rebalance_forensics.diagnosis.model import Incident
    from rebalance_forensics.report.terminal import Explanation

STDIN = "-"


def explain(
    cause: Annotated[
        list[str] | None,
        typer.Argument(
            help="A cause or follow-up, such as slow-processing or cooperative; or LOGS#INCIDENT-ID for one incident.",
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
    if (not cause) == (line is None):
        raise InputError(f"explain takes a cause, LOGS#INCIDENT-ID or --line; causes: {', '.join(_causes())}.")
    path, incident_id = split_incident_id(cause[0]) if cause and len(cause) == 1 else ("", None)
    if incident_id is not None:
        analysis = run([path], options_of(engine=engine, tz=tz, patterns=patterns, java_home=java_home))
        say(_judged(incident_in(analysis.report, path, incident_id)))
        leave(exit_code(analysis))
    if line is not None:
        read = sys.stdin.buffer.read().decode(errors="replace") if line == STDIN else line
        if not read.strip():
            raise InputError("--line is empty; give it one line of a log, quoted, or - and the line on standard input.")
        say(line_explained(read, catalog_with(patterns)))
    else:
        say(_explained("-".join(cause or ())))
    leave(0)


def _judged(incident: Incident) -> str:
    from rebalance_forensics.report.terminal import render_incident  # noqa: PLC0415

    return render_incident(incident, width=width(), color=colored())


def _causes() -> list[str]:
    from rebalance_forensics.diagnosis.engine.discovery import all_causes  # noqa: PLC0415

    return sorted(all_causes())


def _explained(asked: str) -> str:
    from rebalance_forensics.diagnosis.patterns.follow_ups import FOLLOW_UPS  # noqa: PLC0415
    from rebalance_forensics.report.near_names import near_names  # noqa: PLC0415
    from rebalance_forensics.report.terminal import render_explain  # noqa: PLC0415

    name = re.sub(r"[\s_-]+", "-", asked.strip().casefold())
    if name in _causes():
        explanation = _cause(name)
    elif name in FOLLOW_UPS:
        explanation = _follow_up(name)
    else:
        near = near_names(asked, [*_causes(), *FOLLOW_UPS], limit=3)
        meant = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(_causes())}."
        raise InputError(f"{asked!r} is no cause; {meant}")
    return render_explain(explanation, width=width(), color=colored())


def _cause(name: str) -> Explanation:
    from rebalance_forensics.diagnosis.engine.discovery import all_causes  # noqa: PLC0415
    from rebalance_forensics.diagnosis.reference.lookalikes import neighbours_of  # noqa: PLC0415
    from rebalance_forensics.report.terminal import Explanation  # noqa: PLC0415

    cause = all_causes()[name]
    return Explanation(
        cause=name,
        usual=cause.usual,
        summary=cause.summary,
        mechanism=cause.mechanism,
        evidence=cause.shows,
        remedy=cause.remedy,
        settings=_settings(cause.settings),
        neighbours=tuple(neighbours_of(name)),
        references=_kips(cause.kips),
        where=_where(cause.kips),
    )


def _follow_up(name: str) -> Explanation:
    from rebalance_forensics.diagnosis.patterns.follow_ups import FOLLOW_UPS  # noqa: PLC0415
    from rebalance_forensics.report.terminal import Explanation  # noqa: PLC0415

    followup = FOLLOW_UPS[name]
    return Explanation(
        cause=f"{name} (a follow-up)",
        summary=followup.summary,
        mechanism=followup.mechanism,
        remedy=followup.remedy,
        settings=_settings(followup.settings),
        references=_kips(followup.kips),
        where=_where(followup.kips),
    )


def _settings(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from rebalance_forensics.diagnosis.reference.settings import SETTINGS  # noqa: PLC0415

    return tuple((name, SETTINGS[name]) for name in names)


def _kips(kips: tuple[str, ...]) -> tuple[str, ...]:
    from rebalance_forensics.diagnosis.reference.kips import KIPS  # noqa: PLC0415

    return tuple(f"{kip}: {KIPS[kip]}" for kip in kips)


def _where(kips: tuple[str, ...]) -> str:
    from rebalance_forensics.diagnosis.reference.kips import WHERE  # noqa: PLC0415

    return WHERE if kips else ""
