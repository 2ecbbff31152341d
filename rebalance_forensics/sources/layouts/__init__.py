"""Every layout the tool reads, one module a family, found by walking this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache, partial
from types import ModuleType

from rebalance_forensics.sources.layouts.angle_brackets import out_of_angle_brackets
from rebalance_forensics.sources.layouts.base import Layout, Parsed, TextLayout
from rebalance_forensics.sources.layouts.header_remainder import without_heading
from rebalance_forensics.sources.layouts.kafkajs_text import with_kafkajs_facts
from rebalance_forensics.sources.layouts.librdkafka import unwrapped

UNKNOWN = "unknown"
Reader = Callable[[str], Parsed | None]


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules that define a LAYOUT."""
    found = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return tuple(module for module in found if hasattr(module, "LAYOUT"))


@cache
def by_name() -> dict[str, Layout]:
    """Layout by name (the module's, with dashes), the specific before the general."""
    named = {module.__name__.rpartition(".")[2].replace("_", "-"): module.LAYOUT for module in modules()}
    return dict(sorted(named.items(), key=lambda item: (item[1].rank, item[0])))


def header_layout(line: str) -> str | None:
    """The layout in which this line starts a record."""
    return next((name for name, layout in by_name().items() if layout.is_header(line)), None)


def parse(text: str, first: str | None = None) -> tuple[str, Parsed] | None:
    """Take a record apart with the layout it is expected in, else with any other."""
    layouts = by_name()
    if first in layouts and (parsed := _whole(layouts[first], text)):
        return first, parsed
    for name, layout in layouts.items():
        if name != first and (parsed := _whole(layout, text)):
            return name, parsed
    return None


def reader(name: str) -> Reader:
    """What reads the records of one layout; of one that nobody knows it reads none."""
    layout = by_name().get(name)
    return partial(_whole, layout) if layout is not None else lambda text: None  # noqa: ARG005 - as all readers


def _whole(layout: Layout, text: str) -> Parsed | None:
    """What a layout reads, and what it leaves of the header; librdkafka's and KafkaJS' lines in their own wording."""
    parsed = layout.parse(text)
    if parsed is None or not isinstance(layout, TextLayout):
        return parsed
    return with_kafkajs_facts(unwrapped(out_of_angle_brackets(without_heading(parsed))))
