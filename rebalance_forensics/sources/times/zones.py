"""Time zones: what the user says with --tz, and what a file's clock turns out to be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources.times.zone_names import offset_of

QUARTER_MS = 15 * 60_000
_FARTHEST = 14 * 60
"""Minutes that any zone is away from UTC at most (Kiribati)."""
_WESTERNMOST = -12 * 60
_PAST_THE_HOUR = frozenset({
    *(-570, -270, -210, -150),  # the Marquesas, Venezuela until 2016, Newfoundland
    *(210, 270, 330, 345, 390, 510, 525, 570, 630, 765, 825),  # Iran to Burma, North Korea, Australia, Chatham
})  # fmt: skip
"""The zones between full hours since there is Kafka, summer time with them."""
_OFFSET = re.compile(r"(?:UTC|GMT)?(?P<offset>[+-]\d\d?(?::?\d\d)?)\Z")


class UnknownZoneError(ValueError):
    """A zone that no database knows."""


@lru_cache(maxsize=64)
def _database(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZoneError(f"--tz {name}: no such time zone; say +02:00 or a name such as Europe/Berlin") from error


def _fixed(zone: str) -> int | None:
    """Minutes east of UTC of `UTC`, `Z` or `+2`, `+02:00`; None for a name."""
    if zone in ("Z", "UTC", "GMT"):
        return 0
    match = _OFFSET.match(zone)
    if match is None:
        return None
    sign, digits = match["offset"][0], match["offset"][1:].replace(":", "")
    padded = digits.zfill(2) if len(digits) <= 2 else digits.zfill(4)
    offset = offset_of(sign + padded)
    if offset is None or abs(offset) > _FARTHEST:
        raise UnknownZoneError(f"--tz {zone}: no zone is so far from UTC; say +02:00 or a name such as Europe/Berlin")
    return offset


def to_utc(local_ms: int, zone: str) -> EpochMs:
    """The instant of a local time in a zone."""
    offset = _fixed(zone)
    if offset is None:
        local = datetime.fromtimestamp(local_ms / 1000, UTC).replace(tzinfo=_database(zone))
        offset = round((local.utcoffset() or local - local).total_seconds() / 60)
    return EpochMs(local_ms - offset * 60_000)


def checked(zone: str) -> str:
    """The zone, if there is such a zone; raises UnknownZoneError."""
    to_utc(0, zone)
    return zone


def named(offset_minutes: int) -> str:
    """An offset as the report shows it: `UTC`, `+02:00`."""
    if offset_minutes == 0:
        return "UTC"
    sign = "+" if offset_minutes > 0 else "-"
    return f"{sign}{abs(offset_minutes) // 60:02d}:{abs(offset_minutes) % 60:02d}"


def offset_between(local_ms: int, utc_ms: int) -> int | None:
    """How far a local clock is east of UTC, in minutes; None where no zone is so far: lines that were shipped late."""
    minutes = round((local_ms - utc_ms) / QUARTER_MS) * 15
    in_use = minutes in _PAST_THE_HOUR or (minutes % 60 == 0 and _WESTERNMOST <= minutes <= _FARTHEST)
    return minutes if in_use else None


class ZoneRules(Struct, frozen=True):
    """The zones that the user gave: one for all, and one for each host or file named."""

    default: str | None = None
    by_host: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, given: Sequence[str]) -> ZoneRules:
        """Read `ZONE` and `HOST=ZONE`; raises UnknownZoneError."""
        default: str | None = None
        hosts: dict[str, str] = {}
        for rule in given:
            host, equals, zone = rule.rpartition("=")
            if equals:
                hosts[host] = checked(zone)
            else:
                default = checked(rule)
        return cls(default, tuple(sorted(hosts.items())))

    def zone_of(self, host: str | None, path: str) -> str | None:
        """The zone given for a host or a path, else the one for all."""
        named_here = (zone for name, zone in self.by_host if name in (host, path) or name in path.split("/"))
        return next(named_here, self.default)
