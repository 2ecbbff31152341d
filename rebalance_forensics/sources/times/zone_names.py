"""Names and offsets of time zones as logs print them."""

from __future__ import annotations

# Only names that mean one offset: IST, CST, BST, AST and their like are written in several parts of the world.
_NAMED = {
    "Z": 0, "UTC": 0, "GMT": 0, "UCT": 0, "WET": 0, "WEST": 60, "CET": 60, "CEST": 120, "MEZ": 60, "MESZ": 120,
    "EET": 120, "EEST": 180, "MSK": 180, "EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360,
    "PST": -480, "PDT": -420, "AKST": -540, "AKDT": -480, "HST": -600, "BRT": -180, "ART": -180, "SAST": 120,
    "PKT": 300, "SGT": 480, "HKT": 480, "JST": 540, "KST": 540, "AWST": 480, "ACST": 570, "AEST": 600, "AEDT": 660,
    "NZST": 720, "NZDT": 780,
}  # fmt: skip
_MOST_HOURS, _MINUTES_AN_HOUR = 18, 60
"""What Java takes for an offset."""
ZONE = r"(?:(?:UTC|GMT)?[+-]\d\d(?::?\d\d)?(?:\[[\w/+-]+\])?|Z|[A-Z]{2,4}T|UTC|MSK|MESZ|MEZ)(?![\w:])"
"""An offset, perhaps with the name behind it (`+01:00[Europe/Berlin]`), or a name."""


def offset_of(zone: str | None) -> int | None:
    """Minutes east of UTC of `Z`, `UTC`, `CEST`, `+02:00`, `+0200` or `+02`; None for names of many and `+99:99`."""
    if not zone:
        return None
    if zone in _NAMED:
        return _NAMED[zone]
    offset = zone.partition("[")[0].removeprefix("UTC").removeprefix("GMT")
    digits = offset[1:].replace(":", "")
    if offset[:1] not in ("+", "-") or not digits.isdigit():
        return None
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > _MOST_HOURS or minutes >= _MINUTES_AN_HOUR:
        return None
    return (-1 if offset[0] == "-" else 1) * (hours * 60 + minutes)
