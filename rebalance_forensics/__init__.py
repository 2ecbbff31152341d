"""Why does this Kafka consumer group not stop rebalancing? Logs in, proven root cause out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalance_forensics.api import AnalyzedLogs, analyze

__version__ = "0.1.0"
__all__ = ["AnalyzedLogs", "__version__", "analyze"]


def __getattr__(name: str) -> object:
    """Load what a notebook uses when it is first used; the import itself stays instant."""
    if name in ("analyze", "AnalyzedLogs"):
        return getattr(import_module("rebalance_forensics.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
