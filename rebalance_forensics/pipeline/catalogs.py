"""The catalog of this process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rebalance_forensics.catalog.matcher import Catalog


@cache
def catalog_of(patterns: tuple[str, ...]) -> Catalog:
    """The shipped patterns and those of the user's directories; loaded once in each process."""
    return Catalog.load([Path(directory) for directory in patterns])
