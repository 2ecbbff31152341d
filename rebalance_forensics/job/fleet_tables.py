"""Reads the rows for the fleet report, all groups over weeks, from the job's tables."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rebalance_forensics.job.lake.editions import Edition, written_edition
from rebalance_forensics.job.lake.intervals import Coverage, Interval
from rebalance_forensics.job.lake.layout import EVERY_CLUSTER, batches_of
from rebalance_forensics.pipeline.options import Instant
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.schemas import GENERATIONS, INCIDENT_GROUPS, INCIDENTS, Cells, Table
from rebalance_forensics.records import DAY_MS, EpochMs
from rebalance_forensics.report.fleet import FleetIncident, FleetTables, GroupCost, Period, Rebalanced
from rebalance_forensics.report.times import WEEK, utc

Rows = Iterator[tuple[str, Cells]]
_COSTS = ("incident_id", "group", "severity", "unread_partition_ms", "unread_at_least")
# A rebalance that only a client's log shows has no known start; its end is used instead.
_STARTS = ("started_at", "completed_at")


def fleet_tables(uri: str, since: Instant | None) -> FleetTables:
    """The rows from `since`, or from four weeks before, to the end of the job's last run."""
    edition = written_edition(uri)
    scopes = (edition.coverage(scope) for scope in edition.named.covered)
    covered = Coverage.of(interval for scope in scopes for interval in scope.intervals)
    if covered.end is None:
        raise InputError(f"TABLES {uri}: no run of the job has finished; run it first.")
    # A run may be asked for an interval that ends in the future.
    period = _period(covered.intervals[0].since, min(covered.end, int(time.time() * 1000)), since)
    if period.start >= period.end:
        raise InputError(f"TABLES {uri}: the job's runs end at {utc(period.end)} UTC, before --since.")
    reader = _Reader(edition, period)
    costs: dict[tuple[str, str], dict[str, GroupCost]] = defaultdict(dict)
    for cluster, row in reader.rows(INCIDENT_GROUPS, _COSTS):
        cost = GroupCost(
            group=row["group"],
            severity=row["severity"],
            unread_ms=row["unread_partition_ms"],
            unread_at_least=bool(row["unread_at_least"]),
        )
        costs[cluster, row["incident_id"]][cost.group] = cost
    named = ("id", "started_at", "severity", "cause", "culprits")
    incidents = {
        (cluster, row["id"]): _incident(cluster, row, tuple(costs[cluster, row["id"]].values()))
        for cluster, row in reader.rows(INCIDENTS, named)
        if row["started_at"] is not None
    }
    rebalances = {
        (cluster, row["id"]): Rebalanced(cluster=cluster, group=row["group"], started_at=at)
        for cluster, row in reader.rows(GENERATIONS, ("id", "group", *_STARTS))
        if (at := next((_ms(row[name]) for name in _STARTS if row[name] is not None), None)) is not None
    }
    return FleetTables(
        period=period,
        uncovered_ms=_uncovered_ms(covered, period.start, period.end),
        is_comparable=not _uncovered_ms(covered, period.end - 2 * WEEK, period.end),
        incidents=tuple(incidents.values()),
        rebalances=tuple(rebalances.values()),
        unreadable=tuple(reader.unreadable),
    )


def _period(first: int, end: int, since: Instant | None) -> Period:
    asked = since.resolve(EpochMs(end)) if since else None
    return Period(start=max(end - 4 * WEEK if asked is None else asked, first), end=end)


def _uncovered_ms(covered: Coverage, start: int, end: int) -> int:
    return end - start - sum(interval.until - interval.since for interval in covered.within(Interval(start, end)))


class _Reader:
    def __init__(self, edition: Edition, period: Period) -> None:
        self.edition, self.period = edition, period
        self.unreadable: list[str] = []

    def rows(self, table: Table, columns: Sequence[str]) -> Rows:
        """Each row with its cluster; a file that cannot be read is added to `unreadable`."""
        # The date of a row is from the clock of its log, which may be a day off.
        first = min(self.period.start, self.period.end - 2 * WEEK) // DAY_MS - 1
        days = [day for day in self.edition.dates(table, EVERY_CLUSTER) if day >= first]
        for (_, cluster), files in sorted(self.edition.partitions(table, days, EVERY_CLUSTER).items()):
            for path in files:
                try:
                    batches = list(batches_of(self.edition.store, path, columns))
                except FileNotFoundError:
                    place = f"TABLES {self.edition.store.uri}: {path}"
                    self.unreadable.append(f"{place} no longer exists; run the job again to restore its rows.")
                    continue
                except InputError as error:
                    self.unreadable.append(str(error).replace("--output", "TABLES", 1))
                    continue
                yield from ((cluster, row) for batch in batches for row in batch.to_pylist())


def _incident(cluster: str, row: Mapping[str, Any], costs: tuple[GroupCost, ...]) -> FleetIncident:
    return FleetIncident(
        id=row["id"],
        cluster=cluster,
        started_at=_ms(row["started_at"]),
        severity=row["severity"],
        cause=row["cause"],
        culprits=tuple(row["culprits"] or ()),
        costs=costs,
    )


def _ms(at: datetime) -> EpochMs:
    return EpochMs(round(at.timestamp() * 1000))
