"""Time zones: as printed in logs, as given with --tz, and as inferred for a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from rebalance_forensics.records import EpochMs
from rebalance_forensics.utc_offsets import EASTERNMOST

# Only unambiguous names: IST, CST, BST, AST and the like are used in several parts of the world.
_NAMED = {
    "Z": 0, "UTC": 0, "GMT": 0, "UCT": 0, "WET": 0, "WEST": 60, "CET": 60, "CEST": 120, "MEZ": 60, "MESZ": 120,
    "EET": 120, "EEST": 180, "MSK": 180, "EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360,
    "PST": -480, "PDT": -420, "AKST": -540, "AKDT": -480, "HST": -600, "BRT": -180, "ART": -180, "SAST": 120,
    "PKT": 300, "SGT": 480, "HKT": 480, "JST": 540, "KST": 540, "AWST": 480, "ACST": 570, "AEST": 600, "AEDT": 660,
    "NZST": 720, "NZDT": 780,
}  # fmt: skip
# Full names printed by Java, Windows and browsers.
_SPELLED_OUT = {
    "Coordinated Universal Time": 0, "Greenwich Mean Time": 0, "British Summer Time": 60,
    "Western European Time": 0, "Western European Standard Time": 0, "Western European Summer Time": 60,
    "Central European Time": 60, "Central European Standard Time": 60, "Central European Summer Time": 120,
    "Eastern European Time": 120, "Eastern European Standard Time": 120, "Eastern European Summer Time": 180,
    "Moscow Standard Time": 180, "India Standard Time": 330, "China Standard Time": 480,
    "Singapore Standard Time": 480, "Hong Kong Standard Time": 480, "Hong Kong Time": 480,
    "Japan Standard Time": 540, "Korean Standard Time": 540, "Korea Standard Time": 540,
    "Australian Eastern Standard Time": 600, "Australian Eastern Daylight Time": 660,
    "New Zealand Standard Time": 720, "New Zealand Daylight Time": 780, "South Africa Standard Time": 120,
    "Brasilia Standard Time": -180, "Brasilia Time": -180,
    "Eastern Standard Time": -300, "Eastern Daylight Time": -240, "Central Standard Time": -360,
    "Central Daylight Time": -300, "Mountain Standard Time": -420, "Mountain Daylight Time": -360,
    "Pacific Standard Time": -480, "Pacific Daylight Time": -420,
}  # fmt: skip
_MOST_HOURS, _MINUTES_AN_HOUR = 18, 60
"""Java's limits for an offset."""
ZONE = (
    r"(?=[A-Z+-])(?:(?:(?:UTC|GMT)[+-]\d{1,2}|[+-]\d\d)(?::?\d\d)?(?:\[[\w/+-]+\]|Z)?|Z|[A-Z]{2,4}T|UTC|MSK|MESZ|MEZ|"
    rf"{'|'.join(_SPELLED_OUT)})(?![\w:])"
)
"""An offset, optionally followed by a name (`+01:00[Europe/Berlin]`) or a literal Z (Phobos), or a name."""
_OFFSET = re.compile(r"(?:UTC|GMT)?(?P<offset>[+-]\d\d?(?::?\d\d)?)\Z")


def offset_of(zone: str | None) -> int | None:
    """Minutes east of UTC of `Z`, `UTC`, `CEST`, `+02:00`, `+0200` or `+02`; None for ambiguous names and `+99:99`."""
    if not zone:
        return None
    if (named := _NAMED.get(zone, _SPELLED_OUT.get(zone))) is not None:
        return named
    offset = zone.partition("[")[0].removesuffix("Z").removeprefix("UTC").removeprefix("GMT")
    hour, colon, minute = offset[1:].partition(":")
    if not colon:
        hour, minute = hour[:2], hour[2:]
    if offset[:1] not in ("+", "-") or not f"{hour}{minute}".isdecimal():
        return None
    hours, minutes = int(hour), int(minute or 0)
    if hours > _MOST_HOURS or minutes >= _MINUTES_AN_HOUR:
        return None
    return (-1 if offset[0] == "-" else 1) * (hours * 60 + minutes)


class UnknownZoneError(ValueError):
    """A zone that is not in the time zone database."""


@lru_cache(maxsize=64)
def _database(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZoneError(f"--tz {name}: no such time zone; say +02:00 or a name such as Europe/Berlin") from error


@lru_cache(maxsize=64)
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
    if offset is None or abs(offset) > EASTERNMOST:
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
    """The zone if it exists; UnknownZoneError if not."""
    to_utc(0, zone)
    return zone


class ZoneRules(Struct, frozen=True):
    """The user's zones: one for everything, and one for each named host or file."""

    default: str | None = None
    by_host: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, given: Sequence[str]) -> ZoneRules:
        """Parse `ZONE` and `HOST=ZONE`; UnknownZoneError if a zone does not exist."""
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
        """The zone of a host or a path, else the one for everything."""
        matching = (zone for name, zone in self.by_host if name in (host, path) or name in path.split("/"))
        return next(matching, self.default)
