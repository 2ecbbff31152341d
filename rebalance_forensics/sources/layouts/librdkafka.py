"""librdkafka on stderr: `%4|epoch|FAC|name| msg`; from programs: `time|name|FAC| msg`, `RDKAFKA-4-FAC: name: msg`."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import DATED, YEARS, Parsed, level_of
from rebalance_forensics.sources.times.timestamps import read_stamp

SAMPLE = (
    "%4|1795169730.678|SESSTMOUT|orders#consumer-1| [thrd:main]: Consumer group session timed out (in "
    "join-state steady) after 45000 ms"
)
REJECT = "4|1795169730.678|orders|paid"

_LINE = re.compile(
    r"%(?P<severity>[0-7])\|(?P<time>\d{10}(?:\.\d+)?)\|(?P<facility>[A-Z0-9_]+)\|(?P<name>[^|\n]*)\| ?(?P<message>.*)",
    re.DOTALL,
)
_DATED_LINE = re.compile(
    rf"(?P<time>{DATED})\|(?P<name>[^|\n]*#(?:consumer|producer)-\d+)\|(?P<facility>[A-Z0-9_]+)\| ?(?P<message>.*)",
    re.DOTALL,
)
"""Confluent.Kafka for .NET until 1.0, and applications that print its log messages so; it has no level."""
_NAMED_LINE = re.compile(
    r"(?:(?P<time>1\d{9}\.\d{3}) )?RDKAFKA-(?P<severity>[0-7])-(?P<facility>[A-Z0-9_]+): "
    r"(?P<name>[^\s|]*#(?:consumer|producer)-\d+): (?P<message>.*)",
    re.DOTALL,
)
"""The callback that many programs copied from librdkafka's examples, and kafkacat's."""
SEVERITY = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_CLIENT = re.compile(r"#(?:consumer|producer)-\d+$")
_PLACE = re.compile(r"^(?:\[thrd:[^\]\n]*\]: )?(?:\S{1,300}/(?:-?\d{1,10}|bootstrap): )?")
_THREAD = re.compile(r"\[thrd:(?P<thread>[^\]\n]*)\]: ")


def canonical(facility: str, name: str, message: str) -> str:
    """One wording for librdkafka's lines whoever printed them: `FAC [name] [thrd:x]: msg`, as in Python.

    An event without the client's name (node-rdkafka) is its message alone.
    """
    return f"{facility} [{name}] {message}" if _CLIENT.search(name) else _PLACE.sub("", message, count=1)


def _match(line: str) -> re.Match[str] | None:
    return _LINE.match(line) or _DATED_LINE.match(line) or _NAMED_LINE.match(line)


class _Librdkafka:
    """The raw form carries its own clock, so it needs no zone."""

    rank = 5
    starts = (*(b"%%%d|" % severity for severity in range(8)), *YEARS, b"RDKAFKA-", b"1")

    def is_header(self, line: str) -> bool:
        """Whether a record starts with this line."""
        return _match(line) is not None

    def parse(self, text: str) -> Parsed | None:
        """Take a whole record apart."""
        match = _match(text)
        if match is None:
            return None
        thread, severity = _THREAD.match(match["message"]), match.groupdict().get("severity")
        return Parsed(
            stamp=read_stamp(match["time"]) if match["time"] else None,
            level=level_of(SEVERITY[int(severity)]) if severity else None,
            logger="rdkafka",
            thread=thread["thread"] if thread else None,
            message=canonical(match["facility"], match["name"], match["message"]),
        )


_WRAPPED = re.compile(
    r"(?:\[[^\]\n]*\] )?(?:(?P<logger>[A-Za-z_][\w.]*)(?::| -)? )?(?:rdkafka#|\[)?(?P<facility>[A-Z0-9_]{4,}):? +"
    r"\[?(?P<name>[\w.#-]+#(?:consumer|producer)-\d+)(?:\]|:)? (?P<message>\[thrd:.*)",
    re.DOTALL,
)


def unwrapped(parsed: Parsed) -> Parsed:
    """Put a line that a wrapper or syslog logged (`FAC: name: msg`) into librdkafka's one wording."""
    match = _WRAPPED.match(parsed.message) if "[thrd:" in parsed.message else None
    if match is None:
        return parsed
    message = canonical(match["facility"], match["name"], match["message"])
    return replace(parsed, logger=parsed.logger or match["logger"], message=message)


LAYOUT = _Librdkafka()
