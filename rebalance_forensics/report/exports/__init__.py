"""Exports the report for other tools, with one module for each format of `--export`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from rebalance_forensics.report.model import Report

Export = Callable[[Report], str]


def formats() -> dict[str, Export]:
    """Every format in this package, by name."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return dict(sorted(pair for module in modules for pair in module.EXPORTS.items()))
