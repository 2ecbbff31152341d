"""LogRecords from the framed lines of a file, with times completed by its date, year and zone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.records import DAY_MS, HOUR_MS, LEFT_OUT, MINUTE_MS, EpochMs, LogRecord, Origin
from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.message_trailer import without_suffix
from rebalance_forensics.sources.layouts.split_messages import below
from rebalance_forensics.sources.lines.cut_lines import is_cut
from rebalance_forensics.sources.lines.line_counts import SplitCounts
from rebalance_forensics.sources.profiles.dates import time_in
from rebalance_forensics.sources.profiles.peeler import parse_fields
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.profiled_peeler import DATED, Peeler
from rebalance_forensics.sources.times import zones
from rebalance_forensics.sources.times.timestamps import Stamp, days_on, read_stamp, with_year


class Clock:
    """Reads the stamps of one split in file order; without dates it counts midnights, host by host.

    Where only some of the records have dates, the others are taken to be near them.
    """

    def __init__(self, profile: FileProfile) -> None:
        self.profile = profile
        self._zones = dict(profile.zones)
        self._zone_of = cache(self._known_zone)
        self._last: dict[str | None, tuple[int, int]] = {}
        self._dated: EpochMs | None = None

    def time_of(
        self, stamp: Stamp | None, envelope_at: EpochMs | None, host: str | None, envelope_local: Stamp | None = None
    ) -> tuple[EpochMs | None, bool]:
        """The time of a record, and whether its zone is known; `envelope_local` is its envelope's, without a zone."""
        if stamp is None:
            stamp, envelope_local = envelope_local, None
        if stamp is None:
            return envelope_at, envelope_at is not None
        if stamp.form == "full":
            local = stamp.in_order(self.profile.date_order).local_ms if stamp.readings else stamp.local_ms
            at, zoned = self._instant(stamp, local, envelope_at, host)
            self._dated = at
            return at, zoned
        near = envelope_at
        if near is None and envelope_local is not None and envelope_local.form != "time-only":
            near = self._local(envelope_local, None, host)
        undated = self._local(stamp, near, host)
        if undated is None:
            return envelope_at, envelope_at is not None
        return self._instant(stamp, undated, envelope_at, host)

    def _instant(self, stamp: Stamp, local: int, envelope_at: EpochMs | None, host: str | None) -> tuple[EpochMs, bool]:
        if stamp.offset_minutes is not None:
            return EpochMs(local - stamp.offset_minutes * 60_000), True
        zone = self._zone_of(host)
        if zone is None:
            return EpochMs(local), False
        at = zones.to_utc(local, zone)
        return at if envelope_at is None else _in_season(at, envelope_at), True

    def _known_zone(self, host: str | None) -> str | None:
        zone = self.profile.zone if host in (None, self.profile.host) or not self._zones else None
        return self._zones.get(host or "") or zone

    def _local(self, stamp: Stamp, near: int | None, host: str | None) -> int | None:
        """The stamp with the date that brings it nearest to another time."""
        if stamp.form == "full":
            return stamp.in_order(self.profile.date_order).local_ms
        if stamp.form == "no-year":
            # The year that brings a date nearest to its envelope's time, or to what else is known of the file.
            return with_year(stamp.local_ms, near if near is not None else self.profile.near_ms)
        if near is None and self.profile.midnight_ms is None:
            near = self._after_last_dated(host)
        if near is not None:
            return round((near - stamp.local_ms) / DAY_MS) * DAY_MS + stamp.local_ms
        return self._with_date(stamp.local_ms, host)

    def _after_last_dated(self, host: str | None) -> int | None:
        """The approximate local time of a host that prints no dates, from the record before."""
        if self._dated is None:
            return self.profile.near_ms
        zone = self._zone_of(host)
        return self._dated if zone is None else 2 * self._dated - zones.to_utc(self._dated, zone)

    def _with_date(self, time_of_day: int, host: str | None) -> int | None:
        if self.profile.midnight_ms is None:
            return None
        before, days = self._last.get(host, (time_of_day, 0))
        if self.profile.newest_first:
            days -= time_of_day - before > DAY_MS // 2
        else:
            days = days_on(before, time_of_day, days)
        self._last[host] = (time_of_day, days)
        return self.profile.midnight_ms + days * DAY_MS + time_of_day


def _in_season(at: EpochMs, envelope_at: EpochMs) -> EpochMs:
    """The time, moved by an hour where it is an hour from its envelope's: summer time has begun or ended since."""
    if abs(abs(at - envelope_at) - HOUR_MS) < MINUTE_MS:
        return EpochMs(at + (HOUR_MS if envelope_at > at else -HOUR_MS))
    return at


MAX_LINES = 5_000
MAX_BYTES = 1 << 20
_BATCH_BYTES = 1 << 20
# As many as each record counts for at least: a batch is 512 of them, or fewer.
_LEAST_BYTES = 1 << 11
# The last characters of a message by which it is found in a line; its beginning may be worded differently there.
_RECOGNIZED = 20
# Envelopes whose stream is the program or unit that wrote the line.
_WITH_PROGRAM = frozenset(
    ("journald", "journal-text", "papertrail", "syslog-3164", "syslog-5424", "syslog-iso", "syslog-unnumbered")
)


Place = tuple[int, int]
"""Byte offset and line number of a line."""


class Framed(Struct, gc=False):
    """The lines of one record, its first peeled; `more` are the lines that continue it, in reading order.

    `above` is the header above a record that the JVM printed without a time: it was written then or later.
    """

    offset: int
    number: int
    line: Line
    more: list[str] = []
    places: list[Place] = []
    size: int = 0
    above: Line | None = None

    def text(self) -> str:
        """The whole record."""
        return "\n".join((self.line.text, *self.more)) if self.more else self.line.text

    def append(self, rest: str) -> None:
        """Add the rest of a line that was cut into parts."""
        if self.more:
            self.more[-1] += rest
        else:
            self.line = replace(self.line, text=self.line.text + rest, partial=False)

    def takes(self, text: str, place: Place) -> bool:
        """Add a line; False if the record has reached its maximum length."""
        if len(self.more) >= MAX_LINES or self.size > MAX_BYTES:
            return False
        self.more.append(text)
        self.places.append(place)
        self.size += len(text)
        return True


Batch = list[Framed]
"""Records that go through each step together, so that its code and tables stay in the processor's cache."""


def in_batches(framed: Iterable[Framed]) -> Iterator[Batch]:
    """Framed records in batches; where framing fails, the records before are passed on first."""
    batch: Batch = []
    size = 0
    try:
        for each in framed:
            batch.append(each)
            size += len(each.line.text) + each.size + _LEAST_BYTES
            if size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


class Recorder:
    """Makes the records of one split, in file order."""

    def __init__(self, path: str, profile: FileProfile, counts: SplitCounts) -> None:
        self.path, self.profile, self.counts = path, profile, counts
        self._wrapped = bool(profile.document or profile.envelopes)
        self._may_name_hosts = self._wrapped or profile.hosts_in_records
        self._clock = Clock(profile)
        self._peeler = Peeler(profile)
        self._reader = layouts.reader(profile.layout)
        self._above: tuple[Line | None, Stamp | None] = None, None

    def records(self, batches: Iterable[Batch]) -> Iterator[list[LogRecord]]:
        """The LogRecords of framed records; one on which a defect of ours raises is noted, the others are read."""
        for batch in batches:
            found: list[LogRecord] = []
            for each in batch:
                self.counts.reached = each.offset
                try:
                    found.append(self.record(each))
                except Exception as error:  # noqa: BLE001 - whatever it was, it is reported with the record's place
                    self.counts.spoil(each.offset, error)
            yield found

    def record(self, framed: Framed) -> LogRecord:
        """The LogRecord of a framed record."""
        line = framed.line
        if self.profile.cut_at is not None and is_cut(line.text, self.profile.cut_at):
            line = replace(line, text=line.text + LEFT_OUT)
        text = "\n".join((line.text, *framed.more)) if framed.more else line.text
        parsed = self._parsed(line, text)
        host = self._host(line, parsed) if self._may_name_hosts or line.envelopes else None
        at, zoned = self._clock.time_of(parsed.stamp, line.at, host, line.local)
        borrows_time = at is None and framed.above is not None
        if at is None and (above := framed.above) is not None:
            # One line stands above all threads of a dump.
            if self._above[0] is not above:
                self._above = above, self._parsed(above, above.text).stamp
            at, zoned = self._clock.time_of(self._above[1], above.at, host, above.local)
        elif at is None and line.envelopes[-1:] == ("thread-dump",):
            at, zoned = time_in(self.path)
        self.counts.times.saw(at, framed.offset)
        return LogRecord(
            origin=Origin(path=self.path, byte_offset=framed.offset, line=framed.number),
            at=at,
            zoned=zoned,
            level=parsed.level,
            logger=parsed.logger,
            thread=parsed.thread,
            message=without_suffix(parsed.message) if self.profile.suffixed else parsed.message,
            text=_shown(line, framed.more, parsed.message) if text is not line.text or "\n" in text else text,
            host=host,
            bare=line.begins and not self._peeler.knows(line),
            uptime_ms=parsed.uptime_ms,
            pid=parsed.pid,
            program=line.stream if line.envelopes[-1:] and line.envelopes[-1] in _WITH_PROGRAM else None,
            borrows_time=borrows_time,
        )

    def see(self, framed: Framed) -> None:
        """Note the time of a record that is not read further."""
        self.counts.reached = framed.offset
        try:
            parsed = self._parsed(framed.line, framed.line.text)
            host = self._host(framed.line, parsed)
            at, _ = self._clock.time_of(parsed.stamp, framed.line.at, host, framed.line.local)
            self.counts.times.saw(at, framed.offset)
        except Exception as error:  # noqa: BLE001
            self.counts.spoil(framed.offset, error)

    def _host(self, line: Line, parsed: Parsed) -> str | None:
        host = line.host if self._wrapped or line.envelopes else None
        return host or (parsed.host if self.profile.hosts_in_records else None)

    def _parsed(self, line: Line, text: str) -> Parsed:
        if line.fields is not None:
            found = parse_fields(line.fields, self.profile.layout)
        elif (parsed := self._reader(text)) is not None:
            return parsed
        else:
            found = layouts.parse(text, self.profile.layout)
        if found is None and line.text[:1] == "{" and text != line.text:
            # An object ends with its line: lines after it were printed by others and are no part of the message.
            found = layouts.parse(line.text, self.profile.layout)
        if found is not None:
            return found[1]
        # jstack prints the time in a line of its own above the dump.
        stamp = read_stamp(text) if DATED.fullmatch(text.encode()) else None
        return Parsed(stamp=stamp, level=None, logger=None, thread=None, message=text)


def _shown(line: Line, more: Sequence[str], message: str) -> str:
    """The line that reports show for a record: its header, with the next line where the message begins there."""
    first = line.text.partition("\n")[0] if "\n" in line.text else line.text
    if more and line.fields is None and message.partition("\n")[0][-_RECOGNIZED:].rstrip() not in first:
        return below(first, more[0])
    return first
