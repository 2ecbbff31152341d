"""Zones the user names with `--tz`, for logs whose times carry none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.records import EpochMs, LogRecord

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)
_QUARTER_MS = 900_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Zones:
    """The zone of everything (`default`) and of single hosts."""

    default: str | None = None
    by_host: tuple[tuple[str, str], ...] = ()

    def of(self, path: str, host: str | None) -> str | None:
        """The zone named for a file: by its host, else by a directory or file name in its path, else the default."""
        names = {host, *PurePosixPath(path).parts, PurePosixPath(path).stem}
        return next((zone for name, zone in self.by_host if name in names), self.default)


def parse_zones(given: Sequence[str]) -> Zones:
    """The zones of `--tz Europe/Berlin --tz broker-2=+01:00`."""
    default, by_host = None, []
    for text in given:
        host, equals, zone = text.rpartition("=")
        zone_of(zone)
        if equals:
            by_host.append((host, zone))
        else:
            default = zone
    return Zones(default=default, by_host=tuple(by_host))


@cache
def zone_of(name: str) -> tzinfo:
    """The zone of an IANA name (`Europe/Berlin`) or an offset (`+02:00`)."""
    offset = _OFFSET.fullmatch(name.strip())
    if offset:
        sign, hours, minutes = offset.groups()
        distance = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if distance < timedelta(hours=24):
            return timezone(-distance if sign == "-" else distance)
    try:
        return UTC if name.upper() in ("UTC", "GMT", "Z") else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(
            f"--tz {name!r} is no zone: write an IANA name (Europe/Berlin) or an offset (+02:00)."
        ) from None


def to_utc(at: EpochMs, zone: str) -> EpochMs:
    """A local time that was read as UTC, put right."""
    return EpochMs(at - _offset_ms(at // _QUARTER_MS, zone))


@cache
def _offset_ms(quarter: int, zone: str) -> int:
    """Local time minus UTC; zones change their offset at quarters of an hour only."""
    local = datetime(1970, 1, 1, tzinfo=zone_of(zone)) + timedelta(milliseconds=quarter * _QUARTER_MS)
    return int((local.utcoffset() or timedelta()).total_seconds() * 1000)


def putting_right(zones: Zones, path: str, host: str | None) -> Callable[[LogRecord], LogRecord] | None:
    """What turns the unzoned records of a file into zoned ones; None where the user named no zone."""
    if zones == Zones():
        return None

    def put_right(record: LogRecord) -> LogRecord:
        zone = zones.of(path, record.host or host)
        if record.at is None or record.zoned or zone is None:
            return record
        return replace(record, at=to_utc(record.at, zone), zoned=True)

    return put_right
