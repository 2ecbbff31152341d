"""What comes with the product, loaded once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rebalance_forensics.catalog.loader import pattern_files, shipped_patterns
from rebalance_forensics.catalog.pattern_checks import Loaded


@cache
def shipped() -> Loaded:
    """Each compiled by itself, with what is wrong with it; not when a test is collected, which each process does."""
    return Loaded({identifier: path for path, identifier in pattern_files([shipped_patterns()])})


def document(path: Path) -> Any:  # noqa: ANN401 - whatever a YAML file holds
    """A YAML file as plain values; libyaml parses all patterns in a tenth of the time that PyYAML itself takes."""
    return yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - it is safe
