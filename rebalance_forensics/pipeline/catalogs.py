"""Loads the pattern catalog, once per process."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from rebalance_forensics.catalog.loader import pattern_files
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.catalog.pattern_checks import check
from rebalance_forensics.pipeline.refusals import InputError


@cache
def catalog_of(patterns: tuple[str, ...]) -> Catalog:
    """The shipped patterns and those in the user's directories; cached per process."""
    catalog = Catalog.load([Path(directory) for directory in patterns])
    # The catalog is never freed: without this, a quarter of the time goes to the garbage collector's passes over it.
    gc.freeze()
    return catalog


def checked_catalog(patterns: Sequence[str]) -> Catalog:
    """The catalog with the user's patterns; raises InputError for the first pattern that fails a check."""
    directories = [Path(directory) for directory in patterns]
    for directory in directories:
        if not directory.is_dir():
            raise InputError(f"--patterns {directory}: no such directory.")
        if not pattern_files([directory]):
            raise InputError(f"--patterns {directory}: no pattern in it; a pattern is a file FOLDER/NAME.yaml.")
    if directories and (problems := check(directories)):
        more = f"; {len(problems) - 1} more" if len(problems) > 1 else ""
        problem = f"{str(problems[0]).rstrip('.')}{more}"
        raise InputError(f"{problem}; rebalance-forensics patterns check names every problem.")
    return catalog_of(tuple(patterns))
