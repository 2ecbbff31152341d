"""`explain`: what a cause or a follow-up is, what a line means field by field, how an incident was judged."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rebalance_forensics.cli.analysis_run import (
    catalog_with,
    exit_code,
    incident_in,
    options_of,
    run,
    split_incident_id,
)
from rebalance_forensics.cli.completion import causes
from rebalance_forensics.cli.options import EngineName, EngineOption, JavaHomeOption, PatternsOption, TzOption
from rebalance_forensics.cli.outcomes import colored, leave, say, width
from rebalance_forensics.pipeline.refusals import InputError

if TYPE_CHECKING:
    from rebalance_forensics.catalog.match import Match
    from rebalance_forensics.catalog.matcher import Catalog
    from rebalance_forensics.records import LogRecord

QUOTES = ("'", '"', "`")
UNKNOWN = "no pattern knows this line; it is not evidence for anything"


def line_explained(text: str, catalog: Catalog) -> str:
    """Lay out what the line says; quotes around it that came along with the copy are left out."""
    from rebalance_forensics.report.terminal.rich_blocks import labelled, printed  # noqa: PLC0415
    from rebalance_forensics.sources.records.record_reader import parse_line  # noqa: PLC0415

    line = _unquoted(text.strip("\r\n"))
    record = parse_line(line)
    match = catalog.match(record.message, logger=record.logger, level=record.level)
    return printed([labelled(_facts(catalog, line, record, match))], width=width(), color=colored())


def _unquoted(text: str) -> str:
    stripped = text.strip()
    quoted = len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in QUOTES
    return stripped[1:-1].strip() if quoted else text


def _facts(catalog: Catalog, line: str, record: LogRecord, match: Match | None) -> Iterator[tuple[str, str]]:
    yield from (
        (name, str(value))
        for name, value in (
            ("time", _time(line, record)),
            ("level", record.level),
            ("thread", record.thread),
            ("logger", record.logger),
        )
        if value
    )
    if match is None:
        yield "meaning", UNKNOWN
        return
    yield "meaning", catalog.compiled.meanings[match.pattern]
    yield "pattern", match.pattern
    yield "event", match.event or "none: the line is known and says nothing about groups"
    yield from _speaker(match)
    if match.group:
        yield "group", match.group
    yield from ((name, json.dumps(value, ensure_ascii=False)) for name, value in match.fields.items())


def _speaker(match: Match) -> Iterator[tuple[str, str]]:
    """What the prefix of the line says of who wrote it."""
    speaker = match.speaker
    facts = (
        ("broker", speaker.broker),
        ("client id", speaker.client_id),
        ("instance id", speaker.instance_id),
        ("stream thread", speaker.thread),
        ("task", speaker.task),
    )
    yield from ((name, str(value)) for name, value in facts if value is not None)


def _time(line: str, record: LogRecord) -> str | None:
    """The time of a line, and what the line leaves open of it."""
    from rebalance_forensics.report.times import iso  # noqa: PLC0415
    from rebalance_forensics.sources.records.record_reader import stamp_of  # noqa: PLC0415

    if record.at is not None:
        written = str(iso(record.at))
        return written if record.zoned else f"{written.removesuffix('Z')} (zone unknown)"
    stamp = stamp_of(line)
    if stamp is None:
        return None
    written = str(iso(stamp.local_ms)).removesuffix("Z")
    dateless = stamp.form == "time-only"
    return f"{written[11:]} (date and zone unknown)" if dateless else f"{written[5:]} (year and zone unknown)"


if TYPE_CHECKING:
    from rebalance_forensics.diagnosis.cause import Cause
    from rebalance_forensics.diagnosis.model import Incident
    from rebalance_forensics.report.terminal import Explanation

STDIN = "-"


def explain(
    cause: Annotated[
        list[str] | None,
        typer.Argument(
            help="A cause or follow-up, such as slow-processing or cooperative; a setting, a KIP, a bug such as "
            "KAFKA-14024, an error code; or LOGS#INCIDENT-ID for one incident.",
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
        raise InputError(
            f"explain takes a cause, a setting, LOGS#INCIDENT-ID or --line; causes: {', '.join(_causes())}."
        )
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
    from rebalance_forensics.diagnosis.reference.glossary import FOLLOW_UPS  # noqa: PLC0415
    from rebalance_forensics.pipeline.refusals import near_names  # noqa: PLC0415
    from rebalance_forensics.report.terminal import render_explain  # noqa: PLC0415

    name = re.sub(r"[\s_-]+", "-", asked.strip().casefold())
    if name in _causes():
        explanation = _cause(name)
    elif name in FOLLOW_UPS:
        explanation = _follow_up(name)
    elif (found := _kafkas_own(asked.strip())) is not None:
        explanation = found
    else:
        from rebalance_forensics.diagnosis.reference.glossary import SETTINGS  # noqa: PLC0415

        near = near_names(asked, [*_causes(), *FOLLOW_UPS, *SETTINGS], limit=3)
        meant = (
            f"did you mean {' or '.join(near)}?" if near else "it takes a cause, a setting, a KIP, a bug or an error."
        )
        raise InputError(f"nothing is known of {asked!r}; {meant}")
    return render_explain(explanation, width=width(), color=colored())


def _kafkas_own(asked: str) -> Explanation | None:
    """A setting, a KIP, a bug of Kafka's or an error code, with the causes that it belongs to; None for any other."""
    from rebalance_forensics.diagnosis.reference.glossary import (  # noqa: PLC0415
        KIPS,
        SETTINGS,
        WHERE,
    )
    from rebalance_forensics.diagnosis.reference.known_bugs import all_bugs  # noqa: PLC0415
    from rebalance_forensics.report.terminal import Explanation  # noqa: PLC0415

    if (setting := asked.casefold()) in SETTINGS:
        concerned = _causes_with(lambda cause: setting in cause.settings)
        return Explanation(cause=setting, summary=SETTINGS[setting], mechanism="", causes=concerned)
    if (number := asked.upper()) in KIPS:
        concerned = _causes_with(lambda cause: number in cause.kips)
        return Explanation(cause=number, summary=f"{KIPS[number]}.", mechanism="", causes=concerned, where=WHERE)
    for bug in all_bugs():
        if bug.jira == number:
            fixed = f"Fixed in {', '.join(bug.fixed_in)}." if bug.fixed_in else "No release is known to fix it."
            concerned = tuple(pair for pair in _causes_with(lambda _: True) if pair[0] in bug.causes)
            shown = f"{bug.says} {bug.not_matched or ''}".rstrip()
            return Explanation(
                cause=number, summary=f"{bug.title}. {fixed}", mechanism="", evidence=shown, causes=concerned
            )
    errors = catalog_with([]).compiled.errors
    code = re.sub(r"[\s-]+", "_", number)
    carried = {name: code for code, words in errors.items() for name in words.exceptions}
    code = code if code in errors else carried.get(asked, "")
    if not code:
        return None
    texts, exceptions = errors[code].texts, errors[code].exceptions
    logged = "\n".join(f"- {text}" for text in dict.fromkeys((*texts, *exceptions)))
    concerned = _causes_with(lambda cause: code in f"{cause.summary} {cause.mechanism} {cause.shows}")
    return Explanation(cause=code, summary="An error code of Kafka's.", mechanism="", evidence=logged, causes=concerned)


def _causes_with(is_meant: Callable[[Cause], bool]) -> tuple[tuple[str, str], ...]:
    from rebalance_forensics.diagnosis.engine.discovery import all_causes  # noqa: PLC0415

    return tuple((name, cause.summary) for name, cause in sorted(all_causes().items()) if is_meant(cause))


def _cause(name: str) -> Explanation:
    from rebalance_forensics.diagnosis.engine.discovery import all_causes  # noqa: PLC0415
    from rebalance_forensics.diagnosis.reference.glossary import neighbours_of  # noqa: PLC0415
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
    from rebalance_forensics.diagnosis.reference.glossary import FOLLOW_UPS  # noqa: PLC0415
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
    from rebalance_forensics.diagnosis.reference.glossary import SETTINGS  # noqa: PLC0415

    return tuple((name, SETTINGS[name]) for name in names)


def _kips(kips: tuple[str, ...]) -> tuple[str, ...]:
    from rebalance_forensics.diagnosis.reference.glossary import KIPS  # noqa: PLC0415

    return tuple(f"{kip}: {KIPS[kip]}" for kip in kips)


def _where(kips: tuple[str, ...]) -> str:
    from rebalance_forensics.diagnosis.reference.glossary import WHERE  # noqa: PLC0415

    return WHERE if kips else ""
