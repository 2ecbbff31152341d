"""Times as a user writes them: ISO 8601, or how long before the end of the logs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.records import EpochMs

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"(\d+)\s*(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """Either a point in time or a distance back from the last line of the logs.

    The logs and not today's clock are the anchor: the same logs give the same report tomorrow.
    """

    at: EpochMs | None = None
    before_end_ms: int = 0

    def resolve(self, end: EpochMs | None) -> EpochMs | None:
        """The point in time, given when the logs end; None where they have no time at all."""
        if self.at is not None or end is None:
            return self.at
        return EpochMs(end - self.before_end_ms)


def parse_instant(text: str) -> Instant:
    """`2026-11-20T14:00:00Z`, `2026-11-20 14:00` (UTC), `2h`, `1h30m`."""
    written = text.strip()
    if _PART.sub("", written.lower()) == "" and written:
        return Instant(before_end_ms=sum(int(n) * _UNITS[unit] for n, unit in _PART.findall(written.lower())))
    try:
        when = datetime.fromisoformat(written)
    except ValueError:
        raise InputError(
            f"{text!r} is no time: write ISO 8601 (2026-11-20T14:00:00Z) or how long before the last line (2h, 45m)."
        ) from None
    zoned = when if when.tzinfo else when.replace(tzinfo=UTC)
    return Instant(at=EpochMs(int(zoned.timestamp() * 1000)))
