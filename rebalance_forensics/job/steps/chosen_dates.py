"""Selects the dates that a run rewrites: those that its interval adds, and those that changed files affect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rebalance_forensics.job.lake.intervals import Coverage, Interval
from rebalance_forensics.job.lake.ledger import Entry
from rebalance_forensics.job.steps.partitioning import Days
from rebalance_forensics.job.steps.scan_step import Spans
from rebalance_forensics.pipeline.tables.rows import millis
from rebalance_forensics.records import DAY_MS

Reach = Iterable[tuple[int, int]]
"""First and last time of changes, each pair within one date."""


def changed_spans(
    spans: Spans,
    replaced: Mapping[str, Entry],
    grown: Collection[str],
    dropped: Iterable[Entry] = (),
    unchanged: Collection[str] = (),
) -> set[tuple[int, int]]:
    """The times at which events are new or may have been removed."""
    # In a log that only grew, earlier events are unchanged; so are all events of one that was reread for lost events.
    found: set[tuple[int, int]] = set()
    for path, days in spans.items():
        if path in unchanged:
            continue
        last = replaced[path].cells["last"] if path in grown else None
        kept_until = millis(last) // DAY_MS if last else -1 << 60
        found.update((a, b) for day, (a, b) in days.items() if int(day) >= kept_until)
    for path, entry in replaced.items():
        if path not in grown and path not in unchanged:
            found.update(_by_day(entry))
    for entry in dropped:
        found.update(_by_day(entry))
    return found


def chosen_days(
    before: Coverage,
    interval: Interval,
    changed: Reach,
    stored: Iterable[int],
    *,
    heard: Reach = (),
    again: Collection[int] = (),
    restored: Collection[int] = (),
    incomplete: Collection[int] = (),
    lookback_ms: int,
    lookahead_ms: int,
) -> Days:
    """All dates to work on; `stored` are those with known events, `again` are investigated in any case.

    Events of `restored` dates are read again; `incomplete` dates are investigated if logs of their own have changed.
    """
    # If only the log spans (`heard`) changed, dates are investigated again because silence has another meaning there.
    coverage = before.with_(interval)
    changed = list(changed)
    touched = {at // DAY_MS for span in changed for at in span}
    # Every row belongs to a date on which its group logged a line, so dates without events have no findings.
    seen = touched.union(stored, restored)
    gained = {day for day in seen if before.gains(coverage, day)}
    near = {
        day
        for first, last in changed
        for day in range((first - lookahead_ms) // DAY_MS, (last + lookback_ms) // DAY_MS + 1)
    }
    adjacent = {
        day
        for day in seen
        if any(a < (day + 1) * DAY_MS + lookahead_ms and b >= day * DAY_MS - lookback_ms for a, b in heard)
    }
    reached = (near & seen | adjacent) - (set(incomplete) - touched)
    investigated = {day for day in gained.union(reached, again) if coverage.touches(day)}
    return Days(
        written=tuple(sorted(touched.union(gained, investigated, restored))),
        investigated=frozenset(investigated),
        coverage=coverage,
        lookback_ms=lookback_ms,
        lookahead_ms=lookahead_ms,
    )


def _by_day(entry: Entry) -> Reach:
    if entry.cells["first"] is None or entry.cells["last"] is None:
        return
    first, last = millis(entry.cells["first"]), millis(entry.cells["last"])
    for day in range(first // DAY_MS, last // DAY_MS + 1):
        yield max(first, day * DAY_MS), min(last, (day + 1) * DAY_MS - 1)
