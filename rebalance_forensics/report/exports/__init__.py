"""The report for other tools: one module a format, found by itself; its name with dashes is the format's name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from msgspec import Struct

from rebalance_forensics.report.model import Report


class Format(Struct, frozen=True, kw_only=True):
    """One way to write a report to a file."""

    name: str
    suffix: str
    """How its files end, dot included."""
    summary: str
    export: Callable[[Report], str]


def formats() -> dict[str, Format]:
    """Find every format in this package, by name."""
    return {
        export.name: export for export in map(_format, sorted(module.name for module in pkgutil.iter_modules(__path__)))
    }


def _format(module_name: str) -> Format:
    module = importlib.import_module(f"{__name__}.{module_name}")
    summary = (module.__doc__ or "").strip().splitlines()[0]
    return Format(name=module_name.replace("_", "-"), suffix=module.SUFFIX, summary=summary, export=module.export)
