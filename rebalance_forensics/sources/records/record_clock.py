"""The times of records: their stamps, completed by the date, year and zone of the file."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_forensics.records import DAY_MS, HOUR_MS, MINUTE_MS, EpochMs
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.times import zones
from rebalance_forensics.sources.times.timestamps import Stamp, days_on, with_year


@dataclass(slots=True)
class Clock:
    """Reads the stamps of one split in file order; without dates it counts midnights, host by host.

    Where only some of the records have dates, the others are taken to be near them.
    """

    profile: FileProfile
    _zones: dict[str, str] = field(init=False)
    _zone_by_host: dict[str | None, str | None] = field(default_factory=dict)
    _last: dict[str | None, tuple[int, int]] = field(default_factory=dict)
    _dated: EpochMs | None = None

    def __post_init__(self) -> None:  # noqa: D105
        self._zones = dict(self.profile.zones)

    def time_of(
        self, stamp: Stamp | None, envelope_at: EpochMs | None, host: str | None, envelope_local: Stamp | None = None
    ) -> tuple[EpochMs | None, bool]:
        """The time of a record, and whether its zone is known; `envelope_local` is its envelope's, without a zone."""
        if stamp is None:
            stamp, envelope_local = envelope_local, None
        if stamp is None:
            return envelope_at, envelope_at is not None
        if stamp.form == "full":
            local = self._dated_local(stamp) if stamp.readings else stamp.local_ms
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
        return _in_season(zones.to_utc(local, zone), envelope_at), True

    def _zone_of(self, host: str | None) -> str | None:
        if host not in self._zone_by_host:
            self._zone_by_host[host] = self._zones.get(host or "") or (
                self.profile.zone if host in (None, self.profile.host) or not self._zones else None
            )
        return self._zone_by_host[host]

    def _dated_local(self, stamp: Stamp) -> int:
        return stamp.in_order(self.profile.date_order).local_ms if stamp.readings else stamp.local_ms

    def _local(self, stamp: Stamp, near: int | None, host: str | None) -> int | None:
        """The stamp with the date that brings it nearest to another time."""
        if stamp.form == "full":
            return self._dated_local(stamp)
        if stamp.form == "no-year":
            return self._with_year(stamp.local_ms, near)
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

    def _with_year(self, local_ms: int, near: int | None) -> int | None:
        """The year that brings a date nearest to its envelope's time, or to what else is known of the file."""
        return with_year(local_ms, near if near is not None else self.profile.near_ms)


def _in_season(at: EpochMs, envelope_at: EpochMs | None) -> EpochMs:
    """The time, moved by an hour where it is an hour from its envelope's: summer time has begun or ended since."""
    if envelope_at is not None and abs(abs(at - envelope_at) - HOUR_MS) < MINUTE_MS:
        return EpochMs(at + (HOUR_MS if envelope_at > at else -HOUR_MS))
    return at
