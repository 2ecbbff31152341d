"""The options of a run of the job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rebalance_forensics.job.lake.layout import EVERY_CLUSTER
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.options import DEFAULT_CLUSTER, AnalyzeOptions
from rebalance_forensics.records import HOUR_MS
from rebalance_forensics.report.output_files import PRIVATE


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """The options of a run; the tables depend on input, interval, clusters, zones, patterns, lookback and lookahead."""

    inputs: tuple[str, ...]
    output: str
    columns: tuple[tuple[str, str], ...] = ()
    """The mapping of table columns; if given, the inputs are tables."""
    since: int | None = None
    until: int | None = None
    """Epoch ms. Without `since` the job continues where it stopped, without `until` it runs up to now."""
    reading: AnalyzeOptions = field(default_factory=AnalyzeOptions)
    dry_run: bool = False
    """Print what would be read, and change nothing."""
    table_format: Literal["delta", "iceberg"] = "delta"
    catalog: str | None = None
    """The prefix of the Iceberg tables' names; without it they are directories in the output."""
    lookback_ms: int = 24 * HOUR_MS
    lookahead_ms: int = 2 * HOUR_MS
    stream: Literal["available-now", "continuous"] | None = None
    every_ms: int = 10_000
    checkpoint: str | None = None
    tasks: int | None = None
    fail_on: str | None = None
    reports_from: str | None = None
    """The lowest severity for which incidents get their own report."""
    link: str | None = None
    """The address at which the directory of these reports is opened in a browser."""
    webhooks: tuple[str, ...] = ()
    alert_from: str = "critical"
    metrics: str | None = None
    wait_ms: int = 300_000
    """How long to wait for another job that writes the same tables."""
    lease_ms: int = 60_000
    """A job that does not renew its lease for this long loses its tables."""

    output_mode: int = PRIVATE
    """Permissions of new files if the tables are in a file system."""

    @property
    def store(self) -> Store:
        """The store of the tables."""
        return Store(self.output, self.output_mode)

    @property
    def scope(self) -> str:
        """The partitions that the run may change: those of one cluster, or all with a cluster per directory or row."""
        several = self.reading.cluster_per_directory or "cluster" in dict(self.columns)
        return EVERY_CLUSTER if several else self.reading.cluster or DEFAULT_CLUSTER
