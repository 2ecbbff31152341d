"""The meaning of keys in objects of log stores and shippers: message, time, host, level and logger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources.files.hosts import is_generic
from rebalance_forensics.sources.layouts.base import LEVEL
from rebalance_forensics.sources.lines.text import whole_characters
from rebalance_forensics.sources.times.timestamps import Stamp, read_stamp, stamp_at

Leaf = tuple[str, str]
"""The normalized path of a text or number (words and dots), and its value."""

_DEEPEST = 6
_MOST = 200
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_KEYS = ("key", "field", "name", "k")
_VALUES = ("value", "v")
_TAG = re.compile(r"(?P<key>[A-Za-z][\w./-]*):(?P<value>\S.*)")
_HOST = re.compile(r"/?[A-Za-z0-9_][\w.:@/\[\]$-]*(?<!\.log)\Z")
LABEL = re.compile(r'(?<![\w.])([\w.]++)="((?:[^"\\]|\\.)*)"')
_LEVEL = re.compile(rf"(?:{LEVEL}|[A-Za-z]+ormation(?:al)?)\Z", re.IGNORECASE)
_CLASS = re.compile(r"(?:[A-Za-z_]\w*\.)+[\w$]+\Z|[A-Z][a-z0-9]+[A-Z][\w$]*\Z")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_SHORTEST = 40
_NEAR_THE_FRONT = 80
# A name this short is not matched at the end of another.
_WHOLE_NAME = 2
_SURE_LOGGERS = 4
_LONGEST_COUNT = 19

# The most specific first; a name also matches the end of a path (`kubernetes.pod_name`, `resource.labels.pod_name`).
TEXTS = (
    "raw", "message", "log", "line", "logmessage", "logentry", "logline", "rawmessage", "msg", "textpayload", "body",
    "stringvalue", "eventline", "eventoriginal", "original", "event", "content", "text", "fullmessage",
    "shortmessage", "formattedmessage", "renderedmessage", "logevent", "messagetemplate", "m", "mt", "payload", "data",
)  # fmt: skip
TIMES = (
    "timestamp", "messagetime", "eventtime", "time", "timegenerated", "timegeneratedutc", "datetime", "asctime", "ts",
    "timeunixnano", "date", "timemillis", "epochmillis", "tsns", "t", "syslogtimestamp", "observedtimeunixnano",
    "ibmdatetime", "receivetimestamp", "ingestiontime",
)  # fmt: skip
HOSTS = (
    "podname", "pod", "instancename", "taskname", "containername", "container", "logstreamname", "logstream",
    "sourcehost", "hostname", "host", "computer", "instance", "instanceid", "node", "nodename", "server", "source",
)  # fmt: skip
OWN_HOSTS = ("podname", "pod", "hostname", "containername", "serviceinstanceid")
"""Names that can only denote the place where the process itself runs."""
LEVELS = (
    "level", "loglevel", "levelname", "severity", "severitytext", "lvl", "priority", "status", "l",
)  # fmt: skip
LOGGERS = (
    "loggername", "logger", "loggerclass", "sourcecontext", "classname", "class", "category", "module", "name", "c",
)  # fmt: skip
THREADS = ("threadname", "thread", "processthreadname", "th")
TRACES = ("stacktrace", "stack", "exception", "throwable", "excinfo", "thrown", "trace")


@lru_cache(maxsize=4096)
def _words(name: str) -> str:
    """Normalize a name: `@timestamp`, `TimeGenerated [UTC]`, `pod_name`, `podName`."""
    return "".join(f"{word.lower()}." for word in _WORD.findall(name))


@lru_cache(maxsize=4096)
def _endings(path: str) -> frozenset[str]:
    """The short names of a path: `podname` and `name` for `kubernetes.pod.name`."""
    words = path.split(".")
    return frozenset(ending for at in range(len(words)) if len(ending := "".join(words[at:])) > _WHOLE_NAME)


def is_called(name: str, known: Sequence[str]) -> bool:
    """True if a name equals or ends with a known one."""
    words = _words(name)
    return words.replace(".", "") in known or not _endings(words).isdisjoint(known)


class Leaves(Struct, frozen=True):
    """Every text and number in an object, in order, indexed by full path and by the end of the path."""

    texts: list[str]
    by_name: dict[str, list[str]]
    by_ending: dict[str, list[str]]


def leaves_of(value: object) -> Leaves:
    """Every text and number in an object."""
    found = Leaves([], {}, {})
    for path, text in islice(_leaves("", value, _DEEPEST), _MOST):
        found.texts.append(text)
        name, endings = _names(path)
        found.by_name.setdefault(name, []).append(text)
        for ending in endings:
            found.by_ending.setdefault(ending, []).append(text)
    return found


@lru_cache(maxsize=4096)
def _names(path: str) -> tuple[str, frozenset[str]]:
    """A path as one word, and its short names; the message of an error is not that of the line."""
    return path.replace(".", ""), frozenset() if "error" in path else _endings(path)


def _leaves(path: str, value: object, deep: int) -> Iterator[Leaf]:
    if isinstance(value, str):
        yield path, value
        if value.startswith("{") and _endings(path).isdisjoint(TEXTS):
            yield from _leaves(path, _written(value), deep - 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, repr(value)
    elif isinstance(value, Mapping) and deep:
        for key, inner in value.items():
            yield from _leaves(path + _words(str(key)), inner, deep - 1)
    elif isinstance(value, Sequence) and deep:
        yield from _in_list(path, value, deep)


def _written(text: str) -> object:
    """The object in a text: JSON, or labels of Loki and Prometheus."""
    with suppress(ValueError, RecursionError):
        return json.loads(whole_characters(text))
    return dict(LABEL.findall(text))


def _in_list(path: str, values: Sequence[object], deep: int) -> Iterator[Leaf]:
    """The leaves of a list: one of a single element is that element; pairs and `key:value` are read as an object."""
    if len(values) == 1 and isinstance(values[0], (str, int, float)):
        yield from _leaves(path, values[0], deep - 1)
        return
    for value in values:
        if isinstance(value, Mapping) and (pair := pair_of(value)):
            yield from _leaves(path + _words(pair[0]), pair[1], deep - 1)
        elif isinstance(value, str) and (tag := _TAG.match(value)):
            yield path + _words(tag["key"]), tag["value"]


def pair_of(value: Mapping[str, object]) -> tuple[str, object] | None:
    """The key and value of an object such as `{"key": "pod", "value": …}`."""
    if not 2 <= len(value) <= 3:
        return None
    key = next((value[name] for name in _KEYS if isinstance(value.get(name), str)), None)
    inner = next((value[name] for name in _VALUES if name in value), None)
    if isinstance(inner, Mapping) and len(inner) == 1:
        inner = next(iter(inner.values()))
    return None if key is None or inner is None else (str(key), inner)


def first_called(leaves: Leaves, names: Sequence[str], fits: Callable[[str], bool] = bool) -> str | None:
    """The first text under one of these names, each a full path or the end of one."""
    whole, ending = leaves.by_name, leaves.by_ending
    for name in names:
        if name in whole or name in ending:
            for text in [*whole.get(name, []), *ending.get(name, [])]:
                if fits(text):
                    return text
    return None


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= _LONGEST_COUNT


def stamp_in(leaves: Leaves) -> Stamp | None:
    """The time in an object."""
    read: list[Stamp] = []

    def is_full(text: str) -> bool:
        read[:] = [stamp] if (stamp := read_stamp(text)) is not None and stamp.form == "full" else []
        return bool(read)

    if first_called(leaves, TIMES, is_full) is not None:
        return read[0]
    seconds = first_called(leaves, ("timestampseconds", "epochsecond"), _is_count)
    if seconds is None:
        return None
    nanos = first_called(leaves, ("timestampnanos", "nanoofsecond"), _is_count)
    return stamp_at(int(seconds), int(nanos or 0))


def instant_in(leaves: Leaves) -> EpochMs | None:
    """The time in an object as an instant: log stores use UTC unless they name another zone."""
    stamp = stamp_in(leaves)
    return None if stamp is None else EpochMs(stamp.utc_ms)


def host_in(leaves: Leaves) -> str | None:
    """The pod, container or host in an object; generic names such as `kafka` only if there is no other."""
    named, vague = HOSTS[:-1], HOSTS[-1:]
    found = first_called(leaves, named, lambda text: _HOST.match(text) is not None and not is_generic(text.lstrip("/")))
    found = found or first_called(leaves, vague, lambda text: "/" not in text and _HOST.match(text) is not None)
    found = found or first_called(leaves, named, lambda text: _HOST.match(text) is not None)
    return found.lstrip("/") if found else None


def text_in(leaves: Leaves, begins_record: Callable[[str], bool]) -> str | None:
    """The log line in an object: under a usual name, else the text that starts a record."""
    usual = first_called(leaves, TEXTS, lambda text: True)  # noqa: ARG005 - an empty line is a line
    if usual is not None and begins_record(usual):
        return usual
    others = (text for text in leaves.texts if len(text) > _SHORTEST and _CLOCK.search(text, 0, _NEAR_THE_FRONT))
    return next((text for text in others if text is not usual and begins_record(text)), usual)


def level_in(leaves: Leaves) -> str | None:
    """The level, if it is a word."""
    return first_called(leaves, LEVELS, lambda text: _LEVEL.match(text) is not None)


def logger_in(leaves: Leaves) -> str | None:
    """The logger: the value of that name, or a class name under a less specific one."""
    sure, vague = LOGGERS[:_SURE_LOGGERS], LOGGERS[_SURE_LOGGERS:]
    return first_called(leaves, sure) or first_called(leaves, vague, lambda text: _CLASS.match(text) is not None)


@lru_cache(maxsize=4096)
def _names_trace(name: str) -> bool:
    return not _endings(_words(name)).isdisjoint(TRACES)


def trace_in(value: object, deep: int = _DEEPEST) -> str | None:
    """A stack trace, given as text or as a list of lines."""
    if not isinstance(value, Mapping) or not deep:
        return None
    for key, inner in value.items():
        if _names_trace(str(key)):
            if isinstance(inner, str) and "\n" in inner:
                return inner
            if isinstance(inner, list) and inner and all(isinstance(line, str) for line in inner):
                return "\n".join(inner)
        if found := trace_in(inner, deep - 1):
            return found
    return None
