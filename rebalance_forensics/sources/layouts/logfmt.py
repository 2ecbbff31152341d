"""logfmt, as written by logrus, slog and go-kit: `time="…" level=info msg="…" group=payments`."""

from __future__ import annotations

import json
import re

from rebalance_forensics.sources.layouts.base import DATED, Parsed, level_of
from rebalance_forensics.sources.layouts.client_facts import GO_FACTS, with_facts
from rebalance_forensics.sources.times.timestamps import read_stamp

_KEYS = r"(?:time|ts|t|timestamp|level|lvl|severity|thread|logger|caller)"
_START = re.compile(rf"(?:(?P<time>{DATED})\s+)?{_KEYS}=\S")
_MESSAGE_KEY = re.compile(r" (?:msg|message)=")
_PAIR = re.compile(r'(?<![\w.@-])(?P<key>[\w.@-]++)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>\S*))', re.DOTALL)
_TIME, _LEVEL, _MESSAGE, _LOGGER, _THREAD, _HOST = (
    ("time", "ts", "t", "timestamp"),
    ("level", "lvl", "severity"),
    ("msg", "message"),
    ("logger", "component"),
    ("thread",),
    ("pod", "pod_name", "hostname", "host"),
)
_TRACE = ("stack_trace", "stacktrace", "exception")


def _first(pairs: dict[str, str], keys: tuple[str, ...]) -> str | None:
    return next((pairs[key] for key in keys if key in pairs), None)


def unquoted(text: str) -> str:
    """The unescaped text of a quoted value, escaped like JSON or less strictly."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace('\\"', '"').replace("\\n", "\n")


def pairs_of(text: str, begin: int = 0) -> dict[str, str]:
    """The unquoted values of a line by key."""
    return {
        pair["key"]: pair["bare"] if pair["quoted"] is None else unquoted(pair["quoted"])
        for pair in _PAIR.finditer(text, begin)
    }


def logfmt(text: str) -> Parsed | None:
    """A logfmt record; keys outside the header are added to the message as franz-go prints them: `msg; key: value`."""
    start = _START.match(text)
    if start is None or _MESSAGE_KEY.search(text) is None:
        return None
    pairs = pairs_of(text, start.end("time") if start["time"] else 0)
    message, logger = _first(pairs, _MESSAGE) or "", _first(pairs, _LOGGER)
    if "." not in (logger or ""):
        message = with_facts(message, pairs, GO_FACTS)
    trace = _first(pairs, _TRACE)
    return Parsed(
        stamp=read_stamp(start["time"] or _first(pairs, _TIME) or ""),
        level=level_of(_first(pairs, _LEVEL)),
        logger=logger,
        thread=_first(pairs, _THREAD),
        message=f"{message}\n{trace}" if trace else message,
        host=_first(pairs, _HOST),
    )
