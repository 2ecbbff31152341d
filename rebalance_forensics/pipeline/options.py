"""Options of an analysis, and parsers of times and permissions as users write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.records import DAY_MS, EpochMs
from rebalance_forensics.sources.files.budgets import Limits
from rebalance_forensics.sources.times.zones import UnknownZoneError, ZoneRules


def mode_of(option: str, text: str) -> int:
    """Permissions in chmod's octal notation: 640, 0644."""
    if re.fullmatch(r"0?[0-7]{3}", text) and int(text, 8) & 0o600 == 0o600:
        return int(text, 8)
    raise InputError(f"{option} {text}: write permissions as chmod does, with read and write for the owner: 600, 640.")


_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_PART = re.compile(r"(\d+)\s*(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """A point in time, the last occurrence of a time of day in the logs, or a duration before their last line."""

    # Relative to the logs, not to the current time, so that the same logs always give the same report.

    at: EpochMs | None = None
    before_end_ms: int = 0
    of_day_ms: int | None = None
    """Milliseconds since midnight UTC: the last such time within the logs."""

    def resolve(self, end: EpochMs | None) -> EpochMs | None:
        """The point in time, given the time of the last line; None if it is relative and the logs have no times."""
        if self.at is not None or end is None:
            return self.at
        if self.of_day_ms is not None:
            return EpochMs(end - (end - self.of_day_ms) % DAY_MS)
        return EpochMs(end - self.before_end_ms)


def parse_instant(text: str) -> Instant:
    """`2026-11-20T14:00:00Z`, `2026-11-20 14:00` (UTC), `02:00`, `2h`, `1h30m`."""
    written = text.strip()
    if _PART.sub("", written.lower()) == "" and written:
        return Instant(before_end_ms=sum(int(n) * _UNITS[unit] for n, unit in _PART.findall(written.lower())))
    if clock := _CLOCK.fullmatch(written):
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return Instant(of_day_ms=((hours * 60 + minutes) * 60 + seconds) * 1000)
    try:
        when = datetime.fromisoformat(written)
    except ValueError:
        raise InputError(
            f"cannot parse time {text!r}: write ISO 8601 (2026-11-20T14:00:00Z), the latest time of day in UTC "
            "(02:00), or how long before the last line (2h, 45m)."
        ) from None
    zoned = when if when.tzinfo else when.replace(tzinfo=UTC)
    return Instant(at=EpochMs(int(zoned.timestamp() * 1000)))


Engine = Literal["auto", "spark", "local"]
DEFAULT_CLUSTER = "default"


class Wanted(NamedTuple):
    """What the outputs of a run need in addition to incidents and gaps."""

    events: bool = False
    """The events themselves, as rows."""
    lanes: bool = True
    """Swim lanes, which pages and some exports draw; they repeat nearly every line of a group."""


WHOLE_CASES = Wanted()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeOptions:
    """How to analyze; the report depends on all options except `engine`, `split_bytes` and those that start Java."""

    engine: Engine = "spark"
    """`auto`: Spark if a session is running or there is much to read, see `engine_choice`."""
    group: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    zones: ZoneRules = field(default_factory=ZoneRules)
    cluster: str | None = None
    cluster_per_directory: bool = False
    """Whether each directory directly below the input is a separate cluster."""
    patterns: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    """How large a compressed file may become when unpacked."""
    split_bytes: int = 64 << 20
    java_home: str | None = None
    processes: int = 1
    """Number of processes without Spark; more than one only if the caller may spawn processes."""
    keep_warm: bool = False
    lanes: bool = True
    """Whether an output may draw swim lanes."""


def zone_rules(given: Sequence[str]) -> ZoneRules:
    """The zones of `--tz ZONE --tz HOST=ZONE`."""
    try:
        return ZoneRules.of(given)
    except UnknownZoneError as error:
        raise InputError(f"{error}.") from error
