"""Clients' logs as other loggers print them: inside lines of their own, cut at a column, with other levels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

_HEADERS = tuple(re.compile(shape, re.DOTALL) for shape in (
    r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?P<level>[A-Z]+) (?P<text>.*?)(?: \((?P<logger>[\w.$]+)\))?",
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) (?P<level>[A-Z]+) (?P<logger>[\w.]+): (?P<text>.*)",
    r"time=(?P<at>\S+) level=(?P<level>\w+) msg=(?P<text>.*)",
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \[(?P<level>\w+)\] (?P<text>.*)",
    r"(?:\[(?P<logger>sarama)\] )?(?P<at>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) (?P<text>.*)",
    r"%(?P<level>\d)\|(?P<at>\d+\.\d+)\|(?P<text>.*)",
    r'(?P<text>\{"level":"(?P<level>\w+)","timestamp":"(?P<at>[^"]+)".*)',
))  # fmt: skip
_SYSLOG = {"3": "ERROR", "4": "WARN", "5": "INFO", "6": "INFO", "7": "DEBUG"}
_GERMAN = {"INFO": "INFORMATION", "WARN": "WARNUNG", "WARNING": "WARNUNG", "ERROR": "FEHLER"}


class Line(NamedTuple):
    """A client's line and what its header says; `text` is what stands behind that."""

    whole: str
    at: str
    level: str
    logger: str
    text: str


def lines_of(log: str) -> Iterator[Line]:
    """The records of a log that print their time, each with the lines that continue it."""
    for record in re.split(r"\n(?=\S)", log.rstrip("\n")):
        match = next((found for header in _HEADERS if (found := header.fullmatch(record))), None)
        if match is not None:
            parts = match.groupdict()
            level = parts.get("level") or "INFO"
            logger = parts.get("logger") or "kafka.client"
            yield Line(record, _iso(parts["at"]), _SYSLOG.get(level, level.upper()), logger, parts["text"])


def _iso(at: str) -> str:
    if re.fullmatch(r"\d+\.\d+", at):
        time = datetime.fromtimestamp(float(at), UTC)
    else:
        time = datetime.fromisoformat(at.replace("/", "-").replace(",", ".").rstrip("Z"))
    return f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03d}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _each(write: Callable[[Line], str]) -> Callable[[str], str]:
    return lambda log: "".join(f"{write(line)}\n" for line in lines_of(log))


def _cut(columns: int) -> Callable[[str], str]:
    return lambda log: "".join(f"{line[:columns]}\n" for line in log.splitlines())


OUTER: dict[str, Callable[[str], str]] = {
    "output of a process": _each(lambda r: f"{r.at.replace('.', ',')} INFO runner: [stdout] {r.whole}"),
    "a line in JSON": _each(lambda r: json.dumps({"ts": f"{r.at}Z", "severity": "INFO", "line": r.whole})),
    "behind a word": _each(lambda r: f"{r.at} [worker-1] {r.level} c.a.Bridge - kafka: {r.text}"),
    "level and logger inside": _each(
        lambda r: f"{r.at} [worker-1] INFO c.a.Bridge - [{r.level}] [{r.logger}] {r.text}"
    ),
    "in quotes": _each(lambda r: f"{r.at} [worker-1] {r.level} c.a.Bridge - client: {_quoted(r.text)}"),
    "key=value": _each(
        lambda r: f"{r.at}Z INFO kafka_log level={r.level.lower()} logger={r.logger} message={_quoted(r.text)}"
    ),
    "a JSON field": _each(
        lambda r: json.dumps({"@timestamp": f"{r.at}Z", "kafka": {"logger": r.logger, "message": r.text}})
    ),
    "no levels": _each(lambda r: f"{r.at} {r.text}"),
    "one letter for a level": _each(lambda r: f"{r.at} {r.level[0]} {r.logger}: {r.text}"),
    "levels in German": _each(lambda r: f"{r.at} {_GERMAN.get(r.level, r.level)} {r.logger}: {r.text}"),
    "everything at INFO": _each(lambda r: f"{r.at} INFO {r.logger}: {r.text}"),
    "cut at 100": _cut(100),
    "cut at 140": _cut(140),
    "cut at 180": _cut(180),
    "cut at 250": _cut(250),
}
"""By name, what prints a client's log."""
