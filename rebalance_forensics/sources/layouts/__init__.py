"""Layouts: how loggers write a record. Each is a YAML file of this folder, with samples that it reads and rejects.

A file gives either the `header` of a record as an expression, with what its first line `starts` with for the count in
bulk, or the `keys` of a JSON object. Where that is not enough it names code: `then` reads further what a header left,
`code` is a class of its own. Of a log in one layout alone that says what is `relevant`, no other line is looked at, as
long as none is `foreign` to it.
Adding a layout is adding a file; tests/sources/test_layouts.py checks all of them.
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
        """The layout that the file describes."""
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
    """The file of each layout by its name, the specific before the general."""
    return definitions_in(Path(__file__).parent, LayoutFile)


@cache
def by_name() -> Mapping[str, Layout]:
    """Layout by name (the file's, with dashes), the specific before the general."""
    return {name: file.layout() for name, file in definitions().items()}


def header_layout(line: str) -> str | None:
    """The layout in which this line starts a record."""
    return next((name for name, layout in by_name().items() if layout.is_header(line)), None)


def is_untimed_output(text: str) -> bool:
    """True for a line that the JVM prints by itself, without a time."""
    return by_name()["jvm-output"].is_header(text)


def is_json(name: str) -> bool:
    """True if the records of this layout are JSON objects."""
    return isinstance(by_name().get(name), ObjectLayout)


def begins_record(text: str) -> bool:
    """True if a record surely begins with this text, which proves that what stands in front of it is an envelope."""
    return not _continues_record(text) and begins_record_in(header_layout(text), text)


def begins_record_in(name: str | None, text: str) -> bool:
    """True if a record surely begins with this text, whose header is of this layout, or of none."""
    if name is None or _continues_record(text):
        return False
    layout = by_name()[name]
    if layout.rank < FALLBACK:
        return True
    parsed = layout.parse(text)
    return parsed is not None and parsed.stamp is not None and parsed.level is not None


def _continues_record(text: str) -> bool:
    # Asked first, for most lines of a config dump or a trace, and of a message in several lines, are known by this.
    return text[:1] in (" ", "\t", "") or begins_as_kafka_does(text)


def end_of_time(line: str) -> int:
    """Where the time in front of a line ends, with any header after it; 0 where it begins with none."""
    dated = by_name()["dated-message"]
    return dated.end_of_time(line) if isinstance(dated, TextLayout) else 0


def parse(text: str, first: str | None = None) -> tuple[str, Parsed] | None:
    """Take a record apart with the layout it is expected in, else with any other."""
    layouts = by_name()
    if first is not None and first in layouts and (parsed := _whole(layouts[first], text)):
        return first, parsed
    for name, layout in layouts.items():
        if name != first and (parsed := _whole(layout, text)):
            return name, parsed
    return None


def inside(message: str) -> Parsed | None:
    """Another logger's line that a message holds, its `stamp` where that brings its own header along."""
    return line_inside(message, parse)


def reader(name: str) -> Reader:
    """What reads the records of one layout; of an unknown layout it reads none."""
    layout = by_name().get(name)
    if layout is None:
        return lambda text: None  # noqa: ARG005 - as all readers
    read = partial(_whole, layout)
    return RepeatedLines(read) if isinstance(layout, TextLayout) else read


def _whole(layout: Layout, text: str) -> Parsed | None:
    """A record without the rest of its header; librdkafka's and KafkaJS' messages in the form the catalog reads."""
    parsed = layout.parse(text)
    if parsed is None or not isinstance(layout, TextLayout) or layout.verbatim:
        return parsed
    return with_kafkajs_facts(unwrapped(out_of_angle_brackets(without_heading(parsed))))
