"""One scenario a file: `lab/scenarios/process_crash.py` is run by `python -m lab process-crash`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from lab.run import Scenario


def scenarios() -> dict[str, Scenario]:
    """Every scenario of this folder by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}").SCENARIO for name in modules}
