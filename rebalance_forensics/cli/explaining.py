"""`explain`: what a cause is, or what one log line says."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli.options import PatternsOption
from rebalance_forensics.cli.outcomes import colored, leave, say, width
from rebalance_forensics.cli.running import catalog_with
from rebalance_forensics.pipeline.refusals import InputError

if TYPE_CHECKING:
    from rebalance_forensics.catalog.matcher import Catalog, Match
    from rebalance_forensics.records import LogRecord


def explain(
    cause: Annotated[
        str | None, typer.Argument(help="A cause id, such as slow-processing.", metavar="CAUSE", show_default=False)
    ] = None,
    line: Annotated[
        str | None, typer.Option("--line", metavar="LINE", help="One line of a log, quoted.", show_default=False)
    ] = None,
    patterns: PatternsOption = [],  # noqa: B006 - typer reads the default and makes a new list
) -> None:
    """Explain a cause, or what one log line says.

    Of a cause: how it comes about, how it shows, what to do. Of a line: what it means, field by field.
    """
    if (cause is None) == (line is None):
        raise InputError(f"explain takes a cause or --line; causes: {', '.join(_causes())}.")
    say(_line_explained(line, catalog_with(patterns)) if line is not None else _cause_explained(str(cause)))
    leave(0)


def _causes() -> list[str]:
    from rebalance_forensics.diagnosis.registry import all_rules  # noqa: PLC0415

    return sorted(all_rules())


def _cause_explained(cause: str) -> str:
    from rebalance_forensics.diagnosis.kafka_settings import SETTINGS  # noqa: PLC0415
    from rebalance_forensics.diagnosis.kips import KIPS, WHERE  # noqa: PLC0415
    from rebalance_forensics.diagnosis.neighbours import neighbours_of  # noqa: PLC0415
    from rebalance_forensics.diagnosis.registry import all_rules  # noqa: PLC0415
    from rebalance_forensics.report.terminal import Explanation, render_explain  # noqa: PLC0415

    rule = all_rules().get(cause)
    if rule is None:
        near = difflib.get_close_matches(cause, _causes(), n=1)
        meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(_causes())}."
        raise InputError(f"{cause!r} is no cause; {meant}")
    kips = tuple(f"{kip}: {KIPS[kip]}" for kip in rule.kips)
    explanation = Explanation(
        cause=cause,
        usual=rule.usual,
        summary=rule.summary,
        mechanism=rule.mechanism,
        evidence=rule.signs,
        remedy=rule.remedy,
        settings=tuple((setting, SETTINGS[setting]) for setting in rule.settings),
        neighbours=tuple(neighbours_of(cause)),
        references=kips,
        where=WHERE if kips else "",
    )
    return render_explain(explanation, width=width(), color=colored())


def _line_explained(line: str, catalog: Catalog) -> str:
    from rebalance_forensics.report.plain_text import printable  # noqa: PLC0415
    from rebalance_forensics.sources.reading import parse_line  # noqa: PLC0415

    record = parse_line(line)
    match = catalog.match(record.message, logger=record.logger, level=record.level)
    return "".join(f"{name:<12} {printable(value)}\n" for name, value in _facts(catalog, line, record, match))


def _time(line: str, record: LogRecord) -> str | None:
    """The time of a line, and what the line leaves open of it."""
    from rebalance_forensics.report.times import iso  # noqa: PLC0415
    from rebalance_forensics.sources.reading import stamp_of  # noqa: PLC0415

    if record.at is not None:
        written = str(iso(record.at))
        return written if record.zoned else f"{written.removesuffix('Z')} (zone unknown)"
    stamp = stamp_of(line)
    if stamp is None:
        return None
    written = str(iso(stamp.local_ms)).removesuffix("Z")
    dateless = stamp.form == "time-only"
    return f"{written[11:]} (date and zone unknown)" if dateless else f"{written[5:]} (year and zone unknown)"


def _facts(catalog: Catalog, line: str, record: LogRecord, match: Match | None) -> Iterator[tuple[str, str]]:
    yield from (
        (name, str(told))
        for name, told in (
            ("time", _time(line, record)),
            ("level", record.level),
            ("thread", record.thread),
            ("logger", record.logger),
        )
        if told
    )
    if match is None:
        yield "meaning", "no pattern knows this line; it is not evidence for anything"
        return
    yield "meaning", catalog.compiled.meanings[match.pattern]
    yield "pattern", match.pattern
    yield "event", match.event or "none: the line is known and says nothing about groups"
    if match.group:
        yield "group", match.group
    yield from ((name, json.dumps(value)) for name, value in match.fields.items())
