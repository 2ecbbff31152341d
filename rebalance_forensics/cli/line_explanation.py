"""`explain --line`: what one log line says, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rebalance_forensics.cli.outcomes import colored, width

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
