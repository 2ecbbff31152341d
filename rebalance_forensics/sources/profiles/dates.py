"""Dates logs that print none: by epoch values in the text, related files, the file's name, its modification time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from rebalance_forensics.records import DAY_MS, MINUTE_MS, SECOND_MS, EpochMs
from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.peeler import opened
from rebalance_forensics.sources.profiles.sample import Sample, Sampled
from rebalance_forensics.sources.times.timestamps import DateOrder, Stamp, days_on, written_by
from rebalance_forensics.utc_offsets import QUARTER_HOUR_MS, WESTERNMOST, offset_at

_STARTED = re.compile(r"Kafka startTimeMs: (\d{13})")
_EPOCH = re.compile(r"(?<![\d.])(1[4-9]\d{11})(?![\d.])")
_DATE = r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)"
_NAME_DATE = re.compile(rf"{_DATE}(?!\d)")
_NAME_TIME = re.compile(rf"{_DATE}[T_. -]?([0-2]\d)[-_.:]?([0-5]\d)[-_.:]?([0-5]\d)(?!\d)(Z?)")
_AGREEING = 3
_DAYS_A_YEAR = 366

Range = tuple[EpochMs, EpochMs]


def _stamps(sample: Sample) -> Iterator[tuple[Sampled, Stamp]]:
    for line in sample.lines:
        if line.parsed and line.parsed.stamp:
            yield line, line.parsed.stamp


class Dates(Struct, frozen=True, kw_only=True):
    """The dates that a file itself shows, from which those of related files follow; epoch ms without zone."""

    own: Range | None = None
    """The first and last time of a log with dates."""
    tied: Range | None = None
    """The first and last time of a log without dates, if an epoch value reveals its day."""
    begin: int | None = None
    """The first time that it prints, possibly only a time of day."""
    started: EpochMs | None = None
    order: DateOrder | None = None
    """The order of parts in numeric dates, if an unambiguous one shows it."""
    readings: tuple[tuple[DateOrder, int], ...] = ()
    """The other readings of the first numeric date."""
    clocks: tuple[int, int, int] | None = None
    """The first and last time of day of a log without dates, and the number of midnights between them."""
    midnight: tuple[int, int] | None = None
    """The local midnight before the first of them and the minutes east of UTC, if an epoch value reveals both."""
    at: EpochMs | None = None
    """The first time that an envelope adds to a line."""
    yearless: tuple[int, int] | None = None
    """The first and last date without a year, in its lines or their envelopes."""

    @classmethod
    def of(cls, sample: Sample) -> Dates:
        """The dates in a sample."""
        stamps = [stamp for _, stamp in _stamps(sample)]
        times = [EpochMs(stamp.utc_ms) for stamp in stamps if stamp.form == "full" and len(stamp.readings) < 2]
        own = (min(times), max(times)) if times else None
        clocks = [stamp.local_ms for stamp in stamps if stamp.form == "time-only"]
        midnight = _tied_midnight(sample, clocks) if clocks else None
        started = _STARTED.search(sample.text)
        order, readings = _orders(stamps)
        collected = [line.line.local for line in sample.lines if line.line.local is not None]
        yearless = [stamp.local_ms for stamp in (*stamps, *collected) if stamp.form == "no-year"]
        return cls(
            own=own,
            tied=None if own or midnight is None else _tied_range(clocks, midnight),
            begin=stamps[0].local_ms if stamps else None,
            started=EpochMs(int(started[1])) if started else None,
            order=order,
            readings=readings,
            clocks=(clocks[0], clocks[-1], _rollovers(clocks)) if clocks else None,
            midnight=midnight,
            at=next((line.line.at for line, _ in _stamps(sample) if line.line.at is not None), None),
            yearless=(yearless[0], yearless[-1]) if yearless else None,
        )

    @property
    def first(self) -> int | None:
        """The time by which the files of one log are ordered."""
        return self.own[0] if self.own else self.begin


class Neighbours(Struct, frozen=True):
    """When the other logs of a run were written; `begin` is the start of the first.

    Each of them is within one of the `ranges`; the `instants` include the start, middle and end of each.
    """

    begin: EpochMs | None
    ranges: tuple[Range, ...]
    instants: tuple[int, ...]

    @classmethod
    def of(cls, known: Sequence[Range]) -> Neighbours:
        """Summarize the files, which may be 100,000, as far as it makes a difference."""
        by_day: dict[int, tuple[int, int]] = {}
        for start, end in known:
            for instant in (start, (start + end) // 2, end):
                low, high = by_day.get(instant // DAY_MS, (instant, instant))
                by_day[instant // DAY_MS] = min(low, instant), max(high, instant)
        outer: list[Range] = []
        for span in sorted(set(known), key=lambda each: (each[0], -each[1])):
            if not outer or span[1] > outer[-1][1]:
                outer.append(span)
        instants = tuple(sorted({instant for pair in by_day.values() for instant in pair}))
        return cls(known[0][0] if known else None, tuple(outer), instants)


def _orders(stamps: Sequence[Stamp]) -> tuple[DateOrder | None, tuple[tuple[DateOrder, int], ...]]:
    readings = [stamp.readings for stamp in stamps if stamp.readings]
    sure = Counter(each[0][0] for each in readings if len(each) == 1)
    if sure:
        return sure.most_common(1)[0][0], ()
    return None, tuple(readings[0]) if readings else ()


def order_of(dates: Dates, near: EpochMs) -> DateOrder | None:
    """The order of parts in numeric dates: as an unambiguous one shows, else the one that is closest to `near`."""
    if dates.order or not dates.readings:
        return dates.order
    days = [abs(reading - near) // DAY_MS for _, reading in dates.readings]
    # All readings of a date are within a year, so for an old log none is close: the usual order comes first.
    return dates.readings[days.index(min(days)) if min(days) < _DAYS_A_YEAR else 0][0]


def near_to(file: InputFile, dates: Dates, neighbours: Neighbours) -> EpochMs:
    """An instant close to the records of a file: by its text, related files, its name, its modification time."""
    if dates.started is not None:
        return dates.started
    if neighbours.begin is not None:
        return neighbours.begin
    midnight = _midnight_in(file.path)
    return EpochMs(_age_of(file, dates) if midnight is None else midnight)


def _age_of(file: InputFile, dates: Dates) -> int:
    """When a file was last modified; no line is later, so dates without a year are in the last year that fits."""
    latest = None if dates.yearless is None else written_by(max(dates.yearless), file.mtime_ms)
    return file.mtime_ms if latest is None else latest


def _midnight_in(path: str) -> int | None:
    """The midnight of the date in a file's name; None if there is no valid one, as in `app-20260231.log`."""
    if match := _NAME_DATE.search(path):
        year, month, day = (int(part) for part in match.groups())
        with suppress(ValueError):
            return int(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)
    return None


def time_in(path: str) -> tuple[EpochMs | None, bool]:
    """The time of day in a file's name (`threaddump-2026-11-20T10-15-30Z.json`), and whether its zone is known."""
    name = path.rpartition("/")[2]
    if found := _NAME_TIME.search(name):
        with suppress(ValueError):
            moment = datetime.strptime("".join(found.groups()[:6]), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
            return int(moment.timestamp() * 1000), bool(found[7])
    epoch = re.search(r"(?<!\d)1[4-9]\d{11}(?!\d)", name)
    return (int(epoch[0]), True) if epoch else (None, False)


Tie = tuple[str | None, int, int, bool]
"""A host, a local time, an epoch value on the same line, and whether the value is certainly of that moment."""


def _ties(sample: Sample) -> Iterator[Tie]:
    """Local times with the epoch values printed on the same line."""
    for started in _STARTED.finditer(sample.text):
        line_start = sample.text.rfind("\n", 0, started.start()) + 1
        for line in opened(Line(text=sample.text[line_start : started.end()])):
            found = layouts.parse(line.text)
            if found and (stamp := found[1].stamp) and _naive(stamp):
                yield line.host, stamp.local_ms, int(started[1]), True
    for sampled, stamp in _stamps(sample):
        if _naive(stamp) and sampled.parsed and (value := _EPOCH.search(sampled.parsed.message)):
            yield sampled.line.host, stamp.local_ms, int(value[1]), False


def _naive(stamp: Stamp) -> bool:
    return stamp.offset_minutes is None and stamp.form != "no-year"


def _offset(local_ms: int, utc_ms: int) -> int | None:
    """How far a local time is east of an instant, in minutes; None if they are not of the same moment."""
    east = local_ms - utc_ms
    if local_ms < DAY_MS:
        westernmost = WESTERNMOST * MINUTE_MS
        east = (east - westernmost) % DAY_MS + westernmost
    return offset_at(utc_ms + east, utc_ms)


def _agreed(sample: Sample, host: str | None) -> tuple[int, int, int] | None:
    """The offset on which the pairs of times of a host agree, with the first pair that shows it."""
    found = [
        (offset, local, utc, sure)
        for name, local, utc, sure in _ties(sample)
        if name == host and (offset := _offset(local, utc)) is not None
    ]
    found = [tie for tie in found if tie[3]] or found
    votes = Counter(offset for offset, *_ in found)
    if not votes or not (found[0][3] or len(found) >= _AGREEING):
        return None
    best, count = votes.most_common(1)[0]
    if count * 10 < votes.total() * 8:
        return None
    return next((offset, local, utc) for offset, local, utc, _ in found if offset == best)


def tied_offsets(sample: Sample) -> dict[str | None, int]:
    """Host -> minutes east of UTC of its local times, by the epoch values that it prints."""
    hosts = {host for host, *_ in _ties(sample)}
    return {host: agreed[0] for host in hosts if (agreed := _agreed(sample, host))}


def _tied_midnight(sample: Sample, times: Sequence[int]) -> tuple[int, int] | None:
    """The local midnight before the first of some times of day, if an epoch value printed with one reveals it."""
    agreed = _agreed(sample, sample.lines[0].line.host)
    if agreed is None:
        return None
    offset, local, utc = agreed
    days_before = _rollovers(times[: times.index(local) + 1] if local in times else [times[0], local])
    at_local = utc + offset * 60_000
    return at_local - at_local % DAY_MS - days_before * DAY_MS, offset


def _tied_range(clocks: Sequence[int], tied: tuple[int, int]) -> Range:
    """The first and last time of a sample without dates, if an epoch value reveals its day."""
    midnight = tied[0] - tied[1] * 60_000
    return EpochMs(midnight + clocks[0]), EpochMs(midnight + clocks[-1] + _rollovers(clocks) * DAY_MS)


def midnight_of(
    file: InputFile, dates: Dates, neighbours: Neighbours
) -> tuple[int | None, int | None, Literal["shown", "age"]]:
    """The local midnight before the first record of a file without dates, and the offset of its zone if known.

    `age` if nothing shows the day: then it is the day on which the file was last written, possibly as a copy.
    """
    if dates.clocks is None:
        return None, None, "shown"
    first, last, midnights = dates.clocks
    if dates.midnight:
        return *dates.midnight, "shown"
    if dates.at is not None:
        return _nearest_midnight(first, dates.at), None, "shown"
    if neighbours.instants:
        return _best(first, last, neighbours), None, "shown"
    if (midnight := _midnight_in(file.path)) is not None:
        return midnight, None, "shown"
    midnight = _nearest_midnight(last, file.mtime_ms) - midnights * DAY_MS
    # A log that was not copied was last modified at the time of its last line or a moment later, and offsets of zones
    # are multiples of a quarter of an hour. One copy in 450 fits by chance.
    late_ms = (file.mtime_ms - last) % QUARTER_HOUR_MS
    return midnight, None, "shown" if late_ms <= 2 * SECOND_MS else "age"


def shown_day(file: InputFile, dates: Dates) -> Range | None:
    """The first and last time of a file without dates whose name or modification time shows its day."""
    midnight, _, day_from = midnight_of(file, dates, Neighbours.of([]))
    if midnight is None or dates.clocks is None or day_from == "age":
        return None
    first, last, midnights = dates.clocks
    return EpochMs(midnight + first), EpochMs(midnight + last + midnights * DAY_MS)


def _best(first: int, last: int, neighbours: Neighbours) -> int:
    """The midnight for which the times are within, or closest to, the ranges of related files."""

    def distance(midnight: int) -> int:
        return min(
            sum(max(start - (midnight + time), midnight + time - end, 0) for time in (first, last))
            for start, end in neighbours.ranges
        )

    return min(sorted({_nearest_midnight(first, instant) for instant in neighbours.instants}), key=distance)


def _rollovers(times: Sequence[int]) -> int:
    """The number of midnights in a sequence of times of day."""
    days = 0
    for before, after in pairwise(times):
        days = days_on(before, after, days)
    return days


def _nearest_midnight(time_of_day: int, instant: int) -> int:
    """The midnight that brings a time of day closest to an instant."""
    return round((instant - time_of_day) / DAY_MS) * DAY_MS
