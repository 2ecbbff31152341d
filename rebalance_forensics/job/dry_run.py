"""`job --dry-run`: lists what a run would read, why and how much. Nothing is written, and no lease is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_forensics.job.job_run import check, interval_of
from rebalance_forensics.job.lake.editions import Edition, edition_of
from rebalance_forensics.job.lake.intervals import Interval, date_text, time_text
from rebalance_forensics.job.lake.ledger import read_ledger
from rebalance_forensics.job.lake.losses import Lost, lost_from
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.job.scan import UNDATED, FilesToRead, files_to_read, hours_of, is_known
from rebalance_forensics.job.steps.engines import JobEngine
from rebalance_forensics.pipeline.inputs.log_tables import LogTable
from rebalance_forensics.pipeline.tables.schemas import EVENTS, PENDING
from rebalance_forensics.report.plain_text import printable
from rebalance_forensics.report.wording import count

_NEW, _GROWN, _CHANGED = (
    "not in the tables yet",
    "has grown: read from the end of its settled part",
    "has changed: read again",
)
_RENAMED = "was renamed: read again under its new name"
_OTHERWISE = "read again: other files, --tz or --patterns change how it is read"
_LOST, _SAME = "read again: its events were deleted from the tables", "unchanged: not read"


@dataclass(slots=True)
class _Share:
    names: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, name: str, size: int) -> None:
        self.names.append(name)
        self.size += size


@dataclass(slots=True)
class Planned:
    """The input of a run, by the reason why it would be read or skipped."""

    options: JobOptions
    interval: Interval
    new_dates: list[int]
    """Dates with stored events that no run has covered yet."""
    shares: dict[str, _Share] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, why: str, name: str, size: int) -> None:
        """Add a file and the bytes of it that would be read, or an hour of a table and its rows."""
        self.shares.setdefault(why, _Share()).add(name, size)

    def table(self) -> str:
        """One line per reason, skipped input last; then the interval."""
        lines = [(*(("hours", "rows") if self.options.columns else ("files", "bytes")), "why", "such as")]
        for why, share in sorted(self.shares.items(), key=lambda item: (item[0] == _SAME, item[0])):
            size = "-" if why == _SAME else f"{share.size:,}"
            lines.append((f"{len(share.names):,}", size, why, min(share.names)))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = [f"{n:>{widths[0]}}  {s:>{widths[1]}}  {w:<{widths[2]}}  {e}".rstrip() for n, s, w, e in lines]
        interval = f"interval: {time_text(self.interval.since)} to {time_text(self.interval.until)}"
        if self.new_dates:
            dates = f"{date_text(self.new_dates[0])} to {date_text(self.new_dates[-1])}"
            interval += f", which adds {count(len(self.new_dates), 'date')} with stored events ({dates})"
        return "\n".join(map(printable, [*rows, f"{interval}; nothing was read or written"]))


def planned(options: JobOptions, engine: JobEngine) -> Planned:
    """The input that a run with these options would read now."""
    edition, scope = edition_of(check(options)), options.scope
    lost, before = lost_from(edition, scope), edition.coverage(scope)
    interval = interval_of(options, before)
    after = before.with_(interval)
    known = edition.dates(EVENTS, scope) | edition.dates(PENDING, scope)
    found = Planned(options, interval, sorted(day for day in known if before.gains(after, day)))
    if options.columns:
        for name in dict.fromkeys(options.inputs):
            _add_hours(found, LogTable(name=name, columns=options.columns), engine, edition, lost)
        return found
    files = files_to_read(options, engine, edition, lost, {})
    found.problems = [*files.errors, *files.losses.notes]
    for path, size, why in _reasons(files):
        found.add(why, path, size)
    return found


def _reasons(files: FilesToRead) -> Iterator[tuple[str, int, str]]:
    changes, begins = files.found, files.plan.forgotten_from
    for sight in files.plan.sights:
        path, size = sight.file.path, sight.file.size - begins[sight.file.path]
        if path in changes.again:
            yield path, size, _LOST
        elif path in changes.current:
            yield path, size, _OTHERWISE
        elif path in changes.replaced and changes.replaced[path].path != path:
            yield path, size, _RENAMED
        elif path in changes.replaced:
            yield path, size, _GROWN if path in files.plan.settled else _CHANGED
        else:
            yield path, size, _NEW
    for path in changes.current.keys() - changes.fresh.keys():
        yield path, 0, _SAME


def _add_hours(found: Planned, table: LogTable, engine: JobEngine, edition: Edition, lost: Lost) -> None:
    entries = {entry.path: entry for entry in read_ledger(edition, found.options.scope)}
    for hour in hours_of(table, found.options, found.interval, engine):
        path = table.hour(hour.at)
        if hour.at == UNDATED:
            continue
        why = _SAME if is_known(entries.get(path), hour, lost) else _CHANGED if path in entries else _NEW
        found.add(why, path, hour.rows)
