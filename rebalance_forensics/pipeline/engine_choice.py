"""`--engine auto`: local processes if they finish before Spark would have started, else Spark."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rebalance_forensics.sources.files.budgets import UNPACKED

# Up to this size, local processes are faster (benchmarks/RESULTS.md) and their data fits in memory.
UP_TO_BYTES = 512 << 20
_SMALL_BYTES = 50_000
_PACKED = frozenset({".gz", ".tgz", ".zip", ".zst", ".xz", ".bz2", ".lz4", ".txz", ".tbz2", ".tzst"})


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Which engine runs, and why, as the start of a sentence."""

    engine: Literal["spark", "local"]
    why: str


def engine_for(paths: Sequence[str]) -> EngineChoice:
    """The engine for these inputs: Spark if a session is already running."""
    return EngineChoice("spark", "a Spark session is running") if _session_runs() else engine_by_size(paths)


def engine_by_size(paths: Sequence[str]) -> EngineChoice:
    """The engine for these inputs if no Spark session is running."""
    if any("://" in path for path in paths):
        return EngineChoice("spark", "the input is remote")
    size = bytes_below(paths, unpacked=True)
    if size > UP_TO_BYTES:
        return EngineChoice("spark", f"about {_megabytes(size)} to read")
    return EngineChoice("local", f"about {_megabytes(size)} to read" if size > _SMALL_BYTES else "little to read")


def bytes_below(paths: Sequence[str], *, unpacked: bool = False) -> int:
    """Estimated bytes to read, by file sizes alone; if `unpacked`, by the estimated unpacked size of archives."""
    roots = [Path(path) for path in paths if path != "-" and "://" not in path]
    files = (file for root in roots for file in (root.rglob("*") if os.path.isdir(root) else [root]))  # noqa: PTH112
    return sum(_size_of(file) * (UNPACKED if unpacked and file.suffix.lower() in _PACKED else 1) for file in files)


def _session_runs() -> bool:
    if "pyspark.sql" not in sys.modules:
        return False
    from rebalance_forensics.pipeline.spark.session import active_session  # noqa: PLC0415 - Spark only if it is running

    return active_session() is not None


def _size_of(path: Path) -> int:
    # The size of a file; 0 if it is not a regular file or cannot be accessed.
    try:
        status = path.stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 10_000_000 else f"{size / 1e6:.1f} MB"
