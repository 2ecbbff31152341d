"""Why won't this Kafka consumer group stop rebalancing? Logs in, proven root cause out."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalance_forensics.api import AnalyzedLogs, DefectError, InputError, analyze, tables

__version__ = "1.0.0"
__all__ = ["AnalyzedLogs", "DefectError", "InputError", "__version__", "analyze", "tables"]


def _unpacked(inside: Path) -> Path:
    """Unpack the package: patterns and templates cannot be read from the zip file that Spark ships to executors."""
    import atexit  # noqa: PLC0415 - only if the package is in a zip
    import shutil  # noqa: PLC0415
    import tempfile  # noqa: PLC0415
    import zipfile  # noqa: PLC0415

    target = Path(tempfile.mkdtemp(prefix="rebalance-forensics-"))
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    with zipfile.ZipFile(inside.parent) as archive:
        archive.extractall(target, [name for name in archive.namelist() if name.startswith(f"{inside.name}/")])
    return target / inside.name


if (_inside := Path(__file__).parent).parent.is_file():
    __path__ = [str(_unpacked(_inside))]
    sys.path_importer_cache.clear()


def __getattr__(name: str) -> object:
    """Import the API on first use, so that importing the package is fast."""
    if name in __all__:
        return getattr(import_module("rebalance_forensics.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
