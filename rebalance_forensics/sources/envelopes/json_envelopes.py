"""Envelopes that are JSON objects, with known or any keys, alone on a line or after a time, a tag or a key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Envelope, Line, instant
from rebalance_forensics.sources.layouts.json_field_names import host_in, instant_in, leaves_of, text_in
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text, lookup, object_of
from rebalance_forensics.sources.layouts.logfmt import pairs_of

_TAGGED = tuple(
    re.compile(shape, re.DOTALL)
    for shape in (
        r"\[\d+\] \S+: \[\[?(?P<time>\d+\.\d+)(?:, \{[^}]*\}\])?, (?P<text>\{.*\})\]\s*\Z",
        (
            r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)"
            r"(?:\t[^\t{]*\t| [^\s{]+: )(?P<text>\{.*\})\s*\Z"
        ),
        (
            r"\[(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z)\] +[A-Z]+: [\w.@/-]+/\d+ on (?P<host>[\w.-]+)"
            r"(?: \([^()]*\))?: (?P<text>\{.*\})\s*\Z"
        ),
        r"(?P<time>)(?P<host>[^\s{\"]*)\t(?P<text>\{.*\})\s*\Z",
    )
)
# Pairs before a quoted line, which more pairs may follow.
_IN_PAIRS = re.compile(r'(?:[\w.@-]{1,60}=(?:"[^"\\]*"|[^\s"]*) )*[\w.@-]{1,60}="(?=[^"\\]{9}|[^"]*\\)')


def any_object(line: Line) -> Sequence[Line] | None:
    """The log line in an object of no known envelope: keys are matched by name, in any spelling and at any depth."""
    return line_in_object(line, object_of(line.text) if line.fields is None else line.fields)


def pairs(line: Line) -> Sequence[Line] | None:
    """The log line in a logfmt value, as agents write it together with their own fields."""
    if line.fields is not None or _IN_PAIRS.match(line.text) is None:
        return None
    found = line_in_object(line, pairs_of(line.text))
    return found and tuple(replace(each, fields=None) for each in found)


def tagged_object(line: Line) -> Sequence[Line] | None:
    """The log line in an object after the text that Fluent Bit, Fluentd, kcat and bunyan print before it."""
    if line.fields is not None or not line.text.rstrip().endswith(("}", "]")):
        return None
    match = next((found for shape in _TAGGED if (found := shape.match(line.text))), None)
    fields = object_of(match["text"]) if match is not None else None
    if match is None or fields is None:
        return None
    host = match.groupdict().get("host") or line.host
    return line_in_object(replace(line, at=instant(match["time"]) or line.at, host=host), fields)


def line_in_object(line: Line, fields: Fields | None) -> Sequence[Line] | None:
    """The log line in an object, with its time and host; None if there is none."""
    leaves = leaves_of(fields)
    text = text_in(leaves, layouts.begins_record)
    if text is None:
        return None
    return (
        replace(
            line,
            text=text.removesuffix("\n"),
            fields=fields,
            at=instant_in(leaves) or line.at,
            host=host_in(leaves) or line.host,
        ),
    )


class JsonEnvelope(Envelope, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object with every path of `requires` and, if given, all paths of one list of `either`.

    For text, time, host and stream, the first path with a text or a number counts. `entries` is the path of the list in
    an object that wraps several lines; each of them gets the outer values named by `shared`. An object with the values
    of `empty` wraps none. `inner` is the path of a nested object that may itself be a record (Elasticsearch's
    `_source`). A line is partial if a value starts as `partial` specifies.
    """

    requires: tuple[str, ...] = ()
    either: tuple[tuple[str, ...], ...] = ()
    text: tuple[str, ...] = ("message",)
    time: tuple[str, ...] = ("@timestamp", "timestamp", "time")
    host: tuple[str, ...] = ("host.name", "host", "hostname")
    stream: tuple[str, ...] = ("stream",)
    inner: str | None = None
    entries: str | None = None
    shared: tuple[str, ...] = ()
    empty: Mapping[str, str] = {}
    partial: Mapping[str, str] = {}

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line or lines inside; None if the object does not match."""
        fields = object_of(line.text) if line.fields is None else line.fields
        if fields is None or any(lookup(fields, path) is None for path in self.requires):
            return None
        either = [paths for paths in self.either if all(lookup(fields, path) is not None for path in paths)]
        if self.either and (not either or first_text(fields, self.text) is None):
            return None
        return tuple(self._line(line, entry) for entry in self.entries_of(fields))

    def entries_of(self, fields: Fields) -> Sequence[Fields]:
        """The objects inside, or the object itself if it wraps a single line."""
        if self.entries is None:
            return (fields,)
        entries = lookup(fields, self.entries)
        if not isinstance(entries, list) or any(fields.get(key) == value for key, value in self.empty.items()):
            return ()
        shared = {key: fields.get(key) for key in self.shared}
        return tuple({**shared, **entry} for entry in entries if isinstance(entry, Mapping))

    def is_partial(self, fields: Fields) -> bool:
        """True if the line continues in the next entry."""
        return any(str(fields.get(key, "")).startswith(value) for key, value in self.partial.items())

    def _line(self, line: Line, fields: Fields) -> Line:
        inner = lookup(fields, self.inner) if self.inner else None
        content = inner if isinstance(inner, dict) else fields
        text = first_text(content, self.text)
        return replace(
            line,
            text=(text or "").removesuffix("\n"),
            fields=content,
            at=instant(first_text(content, self.time)) or instant(first_text(fields, self.time)) or line.at,
            host=first_text(content, self.host) or first_text(fields, self.host) or line.host,
            stream=f"{line.stream}{first_text(fields, self.stream) or ''}",
            partial=self.is_partial(fields),
        )


class DockerEntry(JsonEnvelope, frozen=True, kw_only=True):
    """Docker's json-file driver cuts a line at 16 KiB; only its last part ends with a newline."""

    def is_partial(self, fields: Fields) -> bool:
        """True if the line continues in the next entry; shippers that add their own keys remove the newline."""
        return not str(fields.get("log")).endswith("\n") and "date" not in fields and "kubernetes" not in fields


class JournalEntry(JsonEnvelope, frozen=True, kw_only=True):
    """A journal entry, whose fields are bytes and may be repeated (systemd's Journal JSON Format)."""

    def entries_of(self, fields: Fields) -> Sequence[Fields]:
        """The entry with its message as text: non-UTF-8 bytes are a list of numbers, repeated fields a list."""
        message = fields.get("MESSAGE")
        if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in message):
            message = bytes(message).decode("utf-8", "replace")
        elif isinstance(message, list):
            message = "\n".join(str(part) for part in message)
        return ({**fields, "MESSAGE": "" if message is None else message},)
