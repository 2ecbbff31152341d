"""Layouts: how loggers format a record. Each is a YAML file in this folder, with samples and rejects.

A file defines either the `header` of a record as an expression, with what its first line `starts` with for counting in
bulk, or the `keys` of a JSON object. If that is not enough it names code: `then` parses what the header left, `code` is
a class. If a log has a single layout that defines what is `relevant`, no other line is read unless it is `foreign`.
To add a layout, add a file; tests/sources/test_layouts.py checks all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from msgspec import convert

from rebalance_forensics.sources.layouts.base import FALLBACK, CodedLayout, Layout, Parsed
from rebalance_forensics.sources.layouts.definitions import Definition, Expression, beginnings, definitions_in, in_code
from rebalance_forensics.sources.layouts.header_remainder import (
    begins_as_kafka_does,
    out_of_angle_brackets,
    without_heading,
)
from rebalance_forensics.sources.layouts.inner_lines import line_inside
from rebalance_forensics.sources.layouts.json_layouts import JsonLayout, ObjectLayout
from rebalance_forensics.sources.layouts.kafkajs import with_kafkajs_facts
from rebalance_forensics.sources.layouts.librdkafka import unwrapped
from rebalance_forensics.sources.layouts.repeated_lines import RepeatedLines
from rebalance_forensics.sources.layouts.text_layouts import TextLayout

UNKNOWN = "unknown"
Reader = Callable[[str], Parsed | None]


class LayoutFile(Definition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The YAML file of a layout; `keys` are the fields of JsonLayout."""

    starts: tuple[str, ...] = ()
    header: Expression | None = None
    trailer: Expression | None = None
    then: str | None = None
    relevant: tuple[str, ...] = ()
    foreign: str | None = None
    verbatim: bool = False
    keys: Mapping[str, tuple[str, ...] | str] = {}

    def layout(self) -> Layout:
        """Build the layout that the file describes."""
        settings: dict[str, Any] = {"rank": self.rank, "starts": beginnings(self.starts)}
        kind = in_code(__name__, self.code) if self.code else JsonLayout
        if not self.header and not isinstance(kind, type):
            return CodedLayout(read=kind, **settings)
        if not self.header:
            return cast("Layout", convert({**self.keys, "rank": self.rank}, kind))
        settings["header"], settings["verbatim"] = self.pattern(self.header), self.verbatim
        if self.trailer:
            settings["trailer"] = self.pattern(self.trailer)
        settings["relevant"] = tuple(re.compile(self.pattern(each).pattern.encode()) for each in self.relevant)
        if self.foreign:
            settings["foreign"] = re.compile(self.pattern(self.foreign).pattern.encode())
        if self.then:
            settings["then"] = in_code(__name__, self.then)
        return TextLayout(**settings)


@cache
def definitions() -> Mapping[str, LayoutFile]:
    """The file of each layout by name, the most specific first."""
    return definitions_in(Path(__file__).parent, LayoutFile)


@cache
def by_name() -> Mapping[str, Layout]:
    """Name (that of the file, with dashes) -> layout, the most specific first."""
    return {name: file.layout() for name, file in definitions().items()}


def header_layout(line: str) -> str | None:
    """The layout in which this line starts a record."""
    return next((name for name, layout in by_name().items() if layout.is_header(line)), None)


def is_untimed_output(text: str) -> bool:
    """True for output of the JVM itself, without a time."""
    return by_name()["jvm-output"].is_header(text)


def is_json(name: str) -> bool:
    """True if the records of this layout are JSON objects."""
    return isinstance(by_name().get(name), ObjectLayout)


def begins_record(text: str) -> bool:
    """True if a record certainly starts with this text, which proves that the text before it is an envelope."""
    return not _continues_record(text) and begins_record_in(header_layout(text), text)


def begins_record_in(name: str | None, text: str) -> bool:
    """True if a record certainly starts with this text, whose header has this layout or none."""
    if name is None or _continues_record(text):
        return False
    layout = by_name()[name]
    if layout.rank < FALLBACK:
        return True
    parsed = layout.parse(text)
    return parsed is not None and parsed.stamp is not None and parsed.level is not None


def _continues_record(text: str) -> bool:
    # Checked first, since this decides for most lines of a configuration, a stack trace or a multi-line message.
    return text[:1] in (" ", "\t", "") or begins_as_kafka_does(text)


def end_of_time(line: str) -> int:
    """The end of the time at the start of a line, including a header after it; 0 if there is none."""
    dated = by_name()["dated-message"]
    return dated.end_of_time(line) if isinstance(dated, TextLayout) else 0


def parse(text: str, first: str | None = None) -> tuple[str, Parsed] | None:
    """Parse a record with its expected layout, else with any other."""
    layouts = by_name()
    if first is not None and first in layouts and (parsed := _whole(layouts[first], text)):
        return first, parsed
    for name, layout in layouts.items():
        if name != first and (parsed := _whole(layout, text)):
            return name, parsed
    return None


def inside(message: str) -> Parsed | None:
    """Another logger's record within a message; it has a `stamp` if it includes its own header."""
    return line_inside(message, parse)


def reader(name: str) -> Reader:
    """The parser for the records of one layout; for an unknown layout it parses none."""
    layout = by_name().get(name)
    if layout is None:
        return lambda text: None  # noqa: ARG005 - as all readers
    read = partial(_whole, layout)
    return RepeatedLines(read) if isinstance(layout, TextLayout) else read


def _whole(layout: Layout, text: str) -> Parsed | None:
    """A record without the rest of its header, and librdkafka's and KafkaJS' messages as the catalog reads them."""
    parsed = layout.parse(text)
    if parsed is None or not isinstance(layout, TextLayout) or layout.verbatim:
        return parsed
    return with_kafkajs_facts(unwrapped(out_of_angle_brackets(without_heading(parsed))))
