"""The patterns that come with the product, loaded once for all tests of a process."""

from __future__ import annotations

from functools import cache

from rebalance_forensics.catalog.loader import pattern_files, shipped_patterns
from rebalance_forensics.catalog.pattern_checks import Loaded


@cache
def shipped() -> Loaded:
    """Each compiled by itself, with what is wrong with it; not when a test is collected, which each process does."""
    return Loaded({identifier: path for path, identifier in pattern_files([shipped_patterns()])})
