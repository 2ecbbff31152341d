"""Functions of the job that commands call without importing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalance_forensics.pipeline.options import Instant
    from rebalance_forensics.report.fleet import FleetTables


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """`job` runs the scheduled job with its arguments; `fleet_tables` reads the tables that it wrote."""

    job: Callable[[Sequence[str]], int]
    fleet_tables: Callable[[str, Instant | None], FleetTables]
