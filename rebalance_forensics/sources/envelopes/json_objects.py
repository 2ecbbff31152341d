"""JSON objects whatever their keys are called, alone in a line or behind a time, a tag or a key."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line, instant
from rebalance_forensics.sources.layouts.json_field_names import host_in, instant_in, leaves_of, text_in
from rebalance_forensics.sources.layouts.json_fields import Fields, object_of

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


class AnyObject(Struct, frozen=True, kw_only=True):
    """The last envelope for objects: keys are known by their names, in any spelling and at any depth."""

    rank: int
    certain: bool

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        fields = object_of(line.text) if line.fields is None else line.fields
        return line_in_object(line, fields)


class TaggedObject(Struct, frozen=True, kw_only=True):
    """An object behind what Fluent Bit, Fluentd, kcat and bunyan print in front of it."""

    rank: int
    certain: bool

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        if line.fields is not None or not line.text.rstrip().endswith(("}", "]")):
            return None
        match = next((found for shape in _TAGGED if (found := shape.match(line.text))), None)
        fields = object_of(match["text"]) if match is not None else None
        if match is None or fields is None:
            return None
        host = match.groupdict().get("host") or line.host
        return line_in_object(replace(line, at=instant(match["time"]) or line.at, host=host), fields)


def line_in_object(line: Line, fields: Fields | None) -> Sequence[Line] | None:
    """The log line that an object contains, with its time and host; None where there is none."""
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
