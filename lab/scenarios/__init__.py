"""One scenario per file: `python -m lab process-crash` runs `lab/scenarios/process_crash.py`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from lab.run import Scenario


def scenarios() -> dict[str, Scenario]:
    """All scenarios of this folder by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}").SCENARIO for name in modules}
