"""What the program's commands take from parts that the command line itself does not know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalance_forensics.pipeline.options import Instant
    from rebalance_forensics.report.fleet import FleetTables


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The scheduled job by its arguments, and the reader of the tables that it wrote."""

    job: Callable[[Sequence[str]], int]
    fleet_tables: Callable[[str, Instant | None], FleetTables]
