"""Explanations of causes, follow-ups, settings, KIPs, known bugs, error codes and single log lines for `explain`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from rebalance_forensics.catalog.errors import ErrorNames
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.cli.analysis_run import catalog_with
from rebalance_forensics.diagnosis.reference.glossary import WHERE, Topic, glossary
from rebalance_forensics.diagnosis.reference.known_bugs import all_bugs
from rebalance_forensics.pipeline.refusals import InputError, meant, near_names
from rebalance_forensics.records import LogRecord
from rebalance_forensics.report.terminal import Explanation
from rebalance_forensics.report.times import iso
from rebalance_forensics.sources.records.record_reader import parse_line, stamp_of


def explanation_of(asked: str) -> Explanation:
    """The explanation of a term; InputError suggests similar names if there is none."""
    known = glossary()
    name = re.sub(r"[\s_-]+", "-", asked.strip().casefold())
    for topics, kind in ((known.causes, ""), (known.follow_ups, " (a follow-up)"), (known.links, " (behind a cause)")):
        if (topic := topics.get(name)) is not None:
            return Explanation(
                cause=f"{name}{kind}",
                usual=topic.usual,
                summary=topic.summary,
                mechanism=topic.mechanism,
                evidence=topic.shows,
                remedy=topic.remedy,
                settings=tuple((setting, known.settings[setting]) for setting in topic.settings),
                neighbours=tuple(known.neighbours_of(name)),
                references=tuple(f"{kip}: {known.kips[kip]}" for kip in topic.kips),
                where=WHERE if topic.kips else "",
            )
    # The prefix of a setting is not an error, even if its words are the same.
    typed = asked.strip().casefold()
    begun = [setting for setting in known.settings if setting.startswith(f"{typed}.")]
    if not begun and (found := _kafka_term(asked.strip())) is not None:
        return found
    if typed[-1:].isdigit():
        # Similar KIP or bug numbers have nothing in common; only a number that was cut off gets suggestions.
        begun = [each for each in (*known.kips, *(bug.jira for bug in all_bugs())) if each.casefold().startswith(typed)]
    else:
        begun = begun or near_names(asked, (*sorted(known.causes), *known.follow_ups, *known.settings))
    near = begun or near_names(asked, (*known.links, *catalog_with([]).compiled.errors))
    takes = "explain takes a cause, a setting, a KIP, a bug, an error or a log line."
    raise InputError(f"no explanation for {asked!r}; {meant(near[:3]) or takes}")


def _kafka_term(asked: str) -> Explanation | None:
    # A setting, a KIP, a known bug or an error code, with the related causes; None for other terms.
    known = glossary()
    if (setting := asked.casefold()) in known.settings:
        concerned = _causes_with(lambda cause: setting in cause.settings)
        return Explanation(cause=setting, summary=known.settings[setting], causes=concerned)
    if (number := asked.upper()) in known.kips:
        concerned = _causes_with(lambda cause: number in cause.kips)
        return Explanation(cause=number, summary=f"{known.kips[number]}.", causes=concerned, where=WHERE)
    for bug in all_bugs():
        if bug.jira == number:
            fixed = f"Fixed in {', '.join(bug.fixed_in)}." if bug.fixed_in else "No release is known to fix it."
            concerned = tuple(pair for pair in _causes_with(lambda _: True) if pair[0] in bug.causes)
            shown = f"{bug.says} {bug.not_matched or ''}".rstrip()
            return Explanation(cause=number, summary=f"{bug.title}. {fixed}", evidence=shown, causes=concerned)
    errors = catalog_with([]).compiled.errors
    code = ErrorNames.of(errors).name(asked)
    if code not in errors:
        return None
    error = errors[code]
    summary = "An exception of clients." if error.code is None else f"Error {error.code} of Kafka's protocol."
    logged = "\n".join(f"- {text}" for text in dict.fromkeys((*error.texts, *error.exceptions)))
    concerned = _causes_with(lambda cause: code in f"{cause.summary} {cause.mechanism} {cause.shows}")
    return Explanation(cause=code, summary=summary, evidence=logged, causes=concerned)


def _causes_with(is_meant: Callable[[Topic], bool]) -> tuple[tuple[str, str], ...]:
    return tuple((name, cause.summary) for name, cause in sorted(glossary().causes.items()) if is_meant(cause))


QUOTES = ("'", '"', "`")
UNKNOWN = "no pattern knows this line; it is not evidence for anything"


def is_line(text: str, catalog: Catalog) -> bool:
    """True if the text looks like a log line: it starts with a time or matches a pattern."""
    line = _unquoted(text)
    return " " in line.strip() and (stamp_of(line) is not None or catalog.match(parse_line(line).message) is not None)


def facts_of_line(text: str, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """The facts of a log line as labels and values; quotes around a copied line are removed."""
    line = _unquoted(text.strip("\r\n"))
    record = parse_line(line)
    match = catalog.match(record.message, logger=record.logger, level=record.level)
    written = (("time", _time(line, record)), ("level", record.level))
    yield from _known(*written, ("thread", record.thread), ("logger", record.logger))
    if match is None:
        yield "meaning", UNKNOWN
        return
    yield "meaning", catalog.compiled.meanings[match.pattern]
    yield "pattern", match.pattern
    yield "event", match.event or "none: the line is known and says nothing about groups"
    yield from _speaker(match)
    yield from _known(("group", match.group))
    yield from ((name, json.dumps(value, ensure_ascii=False)) for name, value in match.fields.items())


def _unquoted(text: str) -> str:
    stripped = text.strip()
    quoted = len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in QUOTES
    return stripped[1:-1].strip() if quoted else text


def _known(*facts: tuple[str, str | None]) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in facts if value)


def _speaker(match: Match) -> Iterator[tuple[str, str]]:
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
    # The time of a line, and which parts of it are unknown.
    if record.at is not None:
        written = str(iso(record.at))
        return written if record.zoned else f"{written.removesuffix('Z')} (zone unknown)"
    stamp = stamp_of(line)
    if stamp is None:
        return None
    written = str(iso(stamp.local_ms)).removesuffix("Z")
    dateless = stamp.form == "time-only"
    return f"{written[11:]} (date and zone unknown)" if dateless else f"{written[5:]} (year and zone unknown)"
