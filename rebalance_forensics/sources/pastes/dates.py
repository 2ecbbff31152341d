"""Dates with the names that months have in other languages, written as in English logs."""

from __future__ import annotations

import re

_ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# By how they begin: in German, French, Spanish, Italian, Portuguese, Dutch, Polish, Czech, Turkish, Russian, and in the
# languages of the north.
_BEGINNINGS = (
    ("jan", "janv", "j\u00e4n", "ene", "gen", "sty", "led", "oca", "\u044f\u043d\u0432"),
    ("feb", "f\u00e9v", "fev", "lut", "\u00fano", "\u015fub", "\u0444\u0435\u0432"),
    ("mar", "m\u00e4r", "mrz", "maart", "mrt", "b\u0159e", "\u043c\u0430\u0440"),
    ("apr", "avr", "abr", "kwi", "dub", "nis", "\u0430\u043f\u0440"),
    ("may", "mai", "mag", "mei", "maj", "kv\u011b", "\u043c\u0430\u044f", "\u043c\u0430\u0439"),
    ("jun", "juin", "giu", "cze", "\u010dervn", "haz", "\u0438\u044e\u043d"),
    ("jul", "juil", "lug", "lip", "\u010dervc", "tem", "\u0438\u044e\u043b"),
    ("aug", "ao\u00fb", "aou", "ago", "sie", "srp", "a\u011fu", "\u0430\u0432\u0433"),
    ("sep", "set", "wrz", "z\u00e1\u0159", "eyl", "\u0441\u0435\u043d"),
    ("oct", "okt", "out", "ott", "pa\u017a", "\u0159\u00edj", "eki", "\u043e\u043a\u0442"),
    ("nov", "lis", "kas", "\u043d\u043e\u044f"),
    ("dec", "dez", "d\u00e9c", "dic", "gru", "pro", "ara", "des", "\u0434\u0435\u043a"),
)
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
    """The line with the date in front written as an English logger would."""
    match = _NAMED.match(text)
    if match is not None and (month := _month(match["month"])) is not None:
        bracket = match["front"][:1] if match["front"].startswith("[") else ""
        clock = match["clock"].replace(".", ":")
        rest = text[match.end() :].removeprefix(" Uhr")
        return f"{bracket}{int(match['day'])} {month} {match['year']} {clock}{rest}"
    if match := _COUNTED.match(text):
        day = f"{match['year']}-{int(match['month']):02}-{int(match['day']):02}"
        return f"{match['front']}{day} {int(match['hour']):02}:{match['minute']}:{match['second']}{text[match.end() :]}"
    return text


def _month(name: str) -> str | None:
    low = name.lower()
    found = [(len(each), index) for index, all_ in enumerate(_BEGINNINGS) for each in all_ if low.startswith(each)]
    return _ENGLISH[max(found)[1]] if found else None
