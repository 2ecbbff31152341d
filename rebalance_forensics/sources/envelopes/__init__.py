"""Every envelope the tool opens, one module each, found by walking this package."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from rebalance_forensics.sources.envelopes.base import Envelope


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules that define an ENVELOPE."""
    found = (importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    return tuple(module for module in found if hasattr(module, "ENVELOPE"))


@cache
def by_name() -> dict[str, Envelope]:
    """Envelope by name (the module's, with dashes), the specific before the general."""
    named = {module.__name__.rpartition(".")[2].replace("_", "-"): module.ENVELOPE for module in modules()}
    return dict(sorted(named.items(), key=lambda item: (item[1].rank, item[0])))
