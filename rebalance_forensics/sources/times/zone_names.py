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
# As Java, Windows and browsers write them out.
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
"""What Java takes for an offset."""
ZONE = (
    r"(?=[A-Z+-])(?:(?:(?:UTC|GMT)[+-]\d{1,2}|[+-]\d\d)(?::?\d\d)?(?:\[[\w/+-]+\])?|Z|[A-Z]{2,4}T|UTC|MSK|MESZ|MEZ|"
    rf"{'|'.join(_SPELLED_OUT)})(?![\w:])"
)
"""An offset, perhaps with the name behind it (`+01:00[Europe/Berlin]`), or a name."""


def offset_of(zone: str | None) -> int | None:
    """Minutes east of UTC of `Z`, `UTC`, `CEST`, `+02:00`, `+0200` or `+02`; None for names of many and `+99:99`."""
    if not zone:
        return None
    if (named := _NAMED.get(zone, _SPELLED_OUT.get(zone))) is not None:
        return named
    offset = zone.partition("[")[0].removeprefix("UTC").removeprefix("GMT")
    hour, colon, minute = offset[1:].partition(":")
    if not colon:
        hour, minute = hour[:2], hour[2:]
    if offset[:1] not in ("+", "-") or not f"{hour}{minute}".isdecimal():
        return None
    hours, minutes = int(hour), int(minute or 0)
    if hours > _MOST_HOURS or minutes >= _MINUTES_AN_HOUR:
        return None
    return (-1 if offset[0] == "-" else 1) * (hours * 60 + minutes)
