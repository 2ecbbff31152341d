"""Files that a logger rolled over: one log in several files, in the order in which they were written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebalance_forensics.sources.files import InputFile

_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|lz4)\Z")
_DATE = re.compile(
    r"[._-]?(?P<date>\d{4}-\d\d-\d\d(?:[-T._]\d\d(?:[-:]?\d\d)?)?|20\d{6}(?:[-T._]?(?:\d\d){1,3})?"
    r"|(?P<american>\d\d-\d\d-(?P<year>20\d\d)))(?!\d)"
)
_MSK = re.compile(
    r"(?P<before>.*?)(?P<date>\d{4}-\d\d-\d\d-\d\d)/(?P<name>Broker-\d+)_(?P<minute>\d\d-\d\d)_[0-9a-f]+\.log(?:\.gz)?\Z"
)
_NUMBER = re.compile(r"[._-](?P<number>\d{1,4})(?=\.|\Z)")

Place = tuple[str, int, str]
"""Where a file stands in its chain: date, number and name."""


def _taken_apart(path: str) -> tuple[str, str, int | None]:
    """The name that all files of a log share, and the date and number in this one's."""
    if msk := _MSK.match(path):
        return f"{msk['before']}{msk['name']}", f"{msk['date']}-{msk['minute']}", None
    directory, slash, name = path.rpartition("/")
    name = _PACKED.sub("", name)
    date = _DATE.search(name)
    if date:
        name = name[: date.start()] + name[date.end() :]
    number = _NUMBER.search(name)
    if number:
        name = name[: number.start()] + name[number.end() :]
    return f"{directory}{slash}{name}", _sortable(date), int(number["number"]) if number else None


def _sortable(date: re.Match[str] | None) -> str:
    """A date with its year first."""
    if date is None:
        return ""
    return f"{date['year']}-{date['american'][:5]}" if date["american"] else date["date"]


def chains(files: Sequence[InputFile], first_times: Sequence[int | None]) -> list[list[int]]:
    """The indexes of the files of each log, oldest first; files that stand alone are left out."""
    groups: dict[str, list[tuple[str, int | None, int]]] = {}
    for index, file in enumerate(files):
        name, date, number = _taken_apart(file.path)
        groups.setdefault(name, []).append((date, number, index))
    return [_ordered(group, first_times) for group in groups.values() if len(group) > 1]


def _ordered(group: list[tuple[str, int | None, int]], first_times: Sequence[int | None]) -> list[int]:
    """Dates go up; numbers go down to the file without one, unless the times in the files say that they go up."""
    timed = [
        (date, number, time)
        for date, number, index in group
        if number is not None and (time := first_times[index]) is not None
    ]
    pairs = [
        (one[1] < other[1]) == (one[2] < other[2])
        for one in timed
        for other in timed
        if one[0] == other[0] and one[1] != other[1] and one[2] != other[2]
    ]
    rising = bool(pairs) and sum(pairs) * 2 > len(pairs)

    def place(entry: tuple[str, int | None, int]) -> tuple[bool, str, int, int]:
        date, number, index = entry
        current = not date and number is None
        order = 0 if number is None else (number if rising else -number)
        return (
            current,
            date or "9999",
            1 if number is None and not rising else 0,
            order if number is not None else index * 0,
        )

    return [index for _, _, index in sorted(group, key=place)]
