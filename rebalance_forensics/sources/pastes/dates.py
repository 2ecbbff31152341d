"""Rewrites dates with month names of other languages as in English logs."""

from __future__ import annotations

import re

from rebalance_forensics.sources.times.timestamps import month_named

_ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BETWEEN = r"(?:,? (?:um|\u00e0|\u00e0s|a las|alle|om|kl\.?|klo|o|at|\u0432)(?= )|,)?"
_NAMED = re.compile(
    r"(?P<front>[\[(]?(?:[^\W\d_]{2,12}\.?,? )?)(?P<day>\d{1,2})\.?(?: de)?[ -]"
    r"(?P<month>[^\W\d_]{3,10})\.?(?: de)?"
    rf"[ -](?P<year>\d{{4}}){_BETWEEN} (?P<clock>\d\d?[:.]\d\d[:.]\d\d)"
)
_COUNTED = re.compile(
    r"(?P<front>[\[(]?)(?P<year>\d{4})[\u5e74\ub144] ?(?P<month>\d{1,2})[\u6708\uc6d4] ?"
    r"(?P<day>\d{1,2})[\u65e5\uc77c] ?"
    r"(?P<hour>\d\d?)[:\u65f6\u6642\uc2dc] ?(?P<minute>\d\d)[:\u5206\ubd84] ?(?P<second>\d\d)[\u79d2\ucd08]?"
)


def in_english(text: str) -> str:
    """The line with its leading date as an English logger would print it."""
    match = _NAMED.match(text)
    if match is not None and (month := month_named(match["month"])) is not None:
        bracket = match["front"][:1] if match["front"].startswith("[") else ""
        clock = match["clock"].replace(".", ":")
        rest = text[match.end() :].removeprefix(" Uhr")
        return f"{bracket}{int(match['day'])} {_ENGLISH[month - 1]} {match['year']} {clock}{rest}"
    if match := _COUNTED.match(text):
        day = f"{match['year']}-{int(match['month']):02}-{int(match['day']):02}"
        return f"{match['front']}{day} {int(match['hour']):02}:{match['minute']}:{match['second']}{text[match.end() :]}"
    return text
