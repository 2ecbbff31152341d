"""`explain`: what a cause or a follow-up is."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli.explaining_lines import line_explained
from rebalance_forensics.cli.options import PatternsOption
from rebalance_forensics.cli.outcomes import colored, leave, say, width
from rebalance_forensics.cli.running import catalog_with
from rebalance_forensics.pipeline.refusals import InputError

if TYPE_CHECKING:
    from rebalance_forensics.report.terminal import Explanation

STDIN = "-"


def explain(
    cause: Annotated[
        list[str] | None,
        typer.Argument(
            help="A cause or follow-up, such as slow-processing or cooperative.", metavar="CAUSE", show_default=False
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
) -> None:
    """Explain a cause, or what one log line says.

    Of a cause: how it comes about, how it shows, what to do. Of a line: what it means, field by field.
    """
    if (not cause) == (line is None):
        raise InputError(f"explain takes a cause or --line; causes: {', '.join(_causes())}.")
    if line is not None:
        read = sys.stdin.buffer.read().decode(errors="replace") if line == STDIN else line
        if not read.strip():
            raise InputError("--line is empty; give it one line of a log, quoted, or - and the line on standard input.")
        say(line_explained(read, catalog_with(patterns)))
    else:
        say(_explained("-".join(cause or ())))
    leave(0)


def _causes() -> list[str]:
    from rebalance_forensics.diagnosis.engine.discovery import all_causes  # noqa: PLC0415

    return sorted(all_causes())


def _explained(asked: str) -> str:
    from rebalance_forensics.diagnosis.follow_ups import FOLLOW_UPS  # noqa: PLC0415
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
    from rebalance_forensics.diagnosis.neighbours import neighbours_of  # noqa: PLC0415
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
    from rebalance_forensics.diagnosis.follow_ups import FOLLOW_UPS  # noqa: PLC0415
    from rebalance_forensics.report.terminal import Explanation  # noqa: PLC0415

    told = FOLLOW_UPS[name]
    return Explanation(
        cause=f"{name} (a follow-up)",
        summary=told.summary,
        mechanism=told.mechanism,
        remedy=told.remedy,
        settings=_settings(told.settings),
        references=_kips(told.kips),
        where=_where(told.kips),
    )


def _settings(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from rebalance_forensics.diagnosis.kafka_settings import SETTINGS  # noqa: PLC0415

    return tuple((name, SETTINGS[name]) for name in names)


def _kips(kips: tuple[str, ...]) -> tuple[str, ...]:
    from rebalance_forensics.diagnosis.kips import KIPS  # noqa: PLC0415

    return tuple(f"{kip}: {KIPS[kip]}" for kip in kips)


def _where(kips: tuple[str, ...]) -> str:
    from rebalance_forensics.diagnosis.kips import WHERE  # noqa: PLC0415

    return WHERE if kips else ""
