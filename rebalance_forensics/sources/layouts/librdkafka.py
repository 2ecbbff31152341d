"""librdkafka's lines: on stderr, as log events, and as printed by wrappers and programs."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, Parsed
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text
from rebalance_forensics.sources.layouts.json_layouts import JsonLayout
from rebalance_forensics.sources.times.timestamps import read_stamp

_LINE = re.compile(
    r"%(?P<severity>[0-7])\|(?:(?:(?P<time>\d{10}(?:\.\d+)?)|\.{3}|\u2026)\|)?(?P<facility>[A-Z0-9_]+)\|"
    r"(?P<name>[^|\n]*)\|"
    r" ?(?:(?:\.{3}|\u2026): )?(?P<message>.*)",  # people may replace a time or a thread by three dots, or omit it
    re.DOTALL,
)
# Confluent.Kafka for .NET until 1.0, and applications that print its log messages like this, without a level.
_DATED_LINE = re.compile(
    rf"(?P<time>{DATED})\|(?P<name>[^|\n]*#(?:consumer|producer)-\d+)\|(?P<facility>[A-Z0-9_]+)\| ?(?P<message>.*)",
    re.DOTALL,
)
# The callback of librdkafka's examples, which many programs copied, and that of kafkacat.
_NAMED_LINE = re.compile(
    r"(?:(?P<time>1\d{9}\.\d{3}) )?RDKAFKA-(?P<severity>[0-7])-(?P<facility>[A-Z0-9_]+): "
    r"(?P<name>[^\s|]*#(?:consumer|producer)-\d+): (?P<message>.*)",
    re.DOTALL,
)
# confluent-kafka-go's LogEvent as Go prints it (LogEvent.String); Go's time has its zone twice.
_GO_EVENT = re.compile(
    rf"[^\[\n]{{0,40}}\[(?P<time>{DATED})(?: [A-Z]{{2,5}}| [+-]\d+)?(?: m=[+-][\d.]+)?\]"
    r"\[(?P<name>[^\]\n]*#(?:consumer|producer)-\d+)\]\[(?P<facility>[A-Z0-9_]+)\]\[(?P<severity>[0-7])\](?P<message>.*)",
    re.DOTALL,
)
# librdkafka uses the severities of syslog(3): 0 is LOG_EMERG, 7 is LOG_DEBUG.
_SEVERITY = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_CLIENT = re.compile(r"#(?:consumer|producer)-\d+$")
_BROKER = re.compile(r"^(?:\[thrd:[^\]\n]*\]: )?(?:\S{1,300}/(?:-?\d{1,10}|bootstrap): )?")
_THREAD = re.compile(r"\[thrd:(?P<thread>[^\]\n]*)\]: ")
_WRAPPED = re.compile(
    r"(?:\[[^\]\n]*\] )?(?:(?P<logger>[A-Za-z_][\w.]*)(?::| -)? )?(?:rdkafka#|\[)?(?P<facility>[A-Z0-9_]{4,}):? +"
    r"\[?(?P<name>[\w.#-]+#(?:consumer|producer)-\d+)(?:\]|:)? (?P<message>\[thrd:.*)",
    re.DOTALL,
)
# An event printed as an object, in the notation of Node.js, JSON or Serilog. Strings come first, since they may contain
# such notation.
_FIELD = re.compile(
    r"""["']?\b(?P<key>[A-Za-z]{2,12})["']?\s{0,2}[:=]\s{0,40}
    (?:(?P<quote>["'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)|(?P<bare>[\w.]+))""",
    re.VERBOSE | re.DOTALL,
)
# Where older releases of Node.js wrap a long text.
_CONCATENATED = re.compile(r"['\"`] \+\s+['\"`]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_KEYS = {"facility": "fac", "tag": "fac", "level": "severity", "msg": "message", "timestamp": "time", "client": "name"}
_OF_AN_EVENT = frozenset({"fac", "severity", "message", "name", "time"})
# The fields of an event by name, in any order, the message last. php-rdkafka's examples print the level after it (by
# then the facility before it has been parsed as part of the header).
_PAIRS = re.compile(
    r"(?P<before>[^\n\[]{0,300}?\b(?P<facility>[A-Z][A-Z0-9_]{2,40})[,;]\s[^\[]{0,200}?)?(?P<message>\[thrd:.*)",
    re.DOTALL,
)
_SEVERITY_PAIR = re.compile(r"\b(?:level|lvl|severity)\s?[:=]\s?(?P<severity>[0-7])\b", re.IGNORECASE)
_LEVEL_LAST = re.compile(r" \(level: (?P<severity>[0-7])\)\Z")
_NAME = re.compile(r"[\w.-]{1,250}#(?:consumer|producer)-\d+")


def event_fields(text: str) -> dict[str, str] | None:
    """The fields of a log event that is printed as an object, by the names that node-rdkafka uses.

    None if they do not include a message of librdkafka.
    """
    found: dict[str, str] = {}
    for field in _FIELD.finditer(_CONCATENATED.sub("", text)):
        key = field["key"].lower()
        value = field["bare"] if field["text"] is None else _ESCAPED.sub(r"\1", field["text"])
        found.setdefault(_KEYS.get(key, key), value)
    if "fac" not in found and "[thrd:" not in found.get("message", ""):
        return None
    return {"fac": "", **{key: found[key] for key in _OF_AN_EVENT & found.keys()}} if "message" in found else None


def _canonical(facility: str, name: str, message: str) -> str:
    """The form that the catalog reads, `FAC [name] [thrd:x]: msg`, as printed by confluent-kafka for Python.

    An event without the client's name (node-rdkafka) becomes its message alone.
    """
    return f"{facility} [{name}] {message}" if _CLIENT.search(name) else _BROKER.sub("", message, count=1)


def raw_line(text: str) -> Parsed | None:
    """A record with facility and client; on stderr it has an epoch time, so that no zone is needed."""
    shapes = (_LINE, _DATED_LINE, _NAMED_LINE, _GO_EVENT)
    match = next((found for shape in shapes if (found := shape.match(text))), None)
    if match is None:
        return None
    thread, severity = _THREAD.match(match["message"]), match.groupdict().get("severity")
    return Parsed(
        stamp=read_stamp(match["time"]) if match["time"] else None,
        level=_SEVERITY[int(severity)] if severity else None,
        logger="rdkafka",
        thread=thread["thread"] if thread else None,
        message=_canonical(match["facility"], match["name"], match["message"]),
    )


class EventObject(JsonLayout, frozen=True, kw_only=True):
    """A log event as printed by node-rdkafka and other wrappers: severity, facility and message as JSON.

    Go programs log the fields of confluent-kafka-go's LogEvent next to their own message.
    """

    def parse_fields(self, fields: Fields) -> Parsed | None:
        """Parse a record that is already decoded from JSON."""
        parsed = JsonLayout.parse_fields(self, fields)
        if parsed is None:
            return None
        severity = first_text(fields, ("severity", "Level")) or ""
        level = _SEVERITY[int(severity)] if severity in [*"01234567"] else parsed.level
        name = first_text(fields, ("name", "client", "Name")) or "rdkafka"
        message = _canonical(first_text(fields, ("fac", "Tag")) or "", name, parsed.message)
        return replace(parsed, level=level, logger="rdkafka", message=message)


def with_severity(parsed: Parsed) -> Parsed:
    """Convert the numeric severity of a log event to a level; a log event has no logger."""
    return replace(parsed, level=_SEVERITY[int(parsed.level or 0)], logger="rdkafka")


def unwrapped(parsed: Parsed) -> Parsed:
    """A line logged by a wrapper or syslog (`FAC: name: msg`), in the form that the catalog reads."""
    if "[thrd:" not in parsed.message:
        return parsed
    match = _WRAPPED.match(parsed.message)
    if match is None:
        return _of_object(parsed) or _of_pairs(parsed) or parsed
    message = _canonical(match["facility"], match["name"], match["message"])
    return replace(parsed, logger=parsed.logger or match["logger"], message=message)


def _of_object(parsed: Parsed) -> Parsed | None:
    """A log event that a program printed as an object."""
    fields = event_fields(parsed.message) if "{" in parsed.message.partition("[thrd:")[0] else None
    if fields is None:
        return None
    return replace(parsed, message=_canonical(fields["fac"], fields.get("name", ""), fields["message"]))


def _of_pairs(parsed: Parsed) -> Parsed | None:
    """A log event that a program printed as named fields, or as facility and message with the level last."""
    match = _PAIRS.match(parsed.message)
    if match is None:
        return None
    before, message = match["before"] or "", match["message"]
    closing = _LEVEL_LAST.search(message)
    if closing:
        message = message[: closing.start()]
    elif not before:
        return None
    if "{" in before:
        message = message.rstrip(" }")
    severity = closing or _SEVERITY_PAIR.search(before)
    name = _NAME.search(before)
    return replace(
        parsed,
        level=_SEVERITY[int(severity["severity"])] if severity else parsed.level,
        logger=parsed.logger or "rdkafka",
        message=f"{match['facility']} [{name[0]}] {message}" if name else message,
    )
