"""Orders the files of a log that was rolled over."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from rebalance_forensics.records import SECOND_MS
from rebalance_forensics.sources.files.walk import InputFile

_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst|lz4)\Z")
_DATE = re.compile(
    r"[._-]?(?P<date>\d{4}-\d\d-\d\d(?:[-T._]\d\d(?:[-:]?\d\d)?)?|20\d{6}(?:[-T._]?(?:\d\d){1,3})?"
    r"|(?P<american>\d\d-\d\d-(?P<year>20\d\d)))(?!\d)"
)
_MSK = re.compile(
    r"(?P<before>.*?)(?P<date>\d{4}-\d\d-\d\d-\d\d)/(?P<name>Broker-\d+)_(?P<minute>\d\d-\d\d)_[0-9a-f]+\.log(?:\.gz)?\Z"
)
_NUMBER = re.compile(r"[._-](?P<number>\d{1,4})(?=\.|\Z)")


def _taken_apart(path: str) -> tuple[str, str, int | None]:
    """The part of the name that all files of a log share, and the date and number in this one."""
    if msk := _MSK.match(path):
        return f"{msk['before']}{msk['name']}", f"{msk['date']}-{msk['minute']}", None
    directory, slash, name = path.rpartition("/")
    name = _PACKED.sub("", name)
    date = _DATE.search(name)
    if date:
        name = name[: date.start()] + name[date.end() :]
    # The last number is the logger's; a number before it belongs to the process (`node-1.2.log`).
    numbers = [*_NUMBER.finditer(name)]
    number = numbers[-1] if numbers else None
    if number:
        name = name[: number.start()] + name[number.end() :]
    return f"{directory}{slash}{name}", _sortable(date), int(number["number"]) if number else None


def _sortable(date: re.Match[str] | None) -> str:
    """A date with its year first."""
    if date is None:
        return ""
    return f"{date['year']}-{date['american'][:5]}" if date["american"] else date["date"]


def chains(
    files: Sequence[InputFile], first_times: Sequence[int | None], ranges: Sequence[tuple[int, int] | None]
) -> list[list[int]]:
    """The indexes of the files of each log, oldest first; single files are left out.

    `ranges` are the first and last time of each file, if known: files written at the same time (`node-1.log`,
    `node-2.log`) belong to different processes, whatever the numbers in their names.
    """
    groups: dict[str, list[tuple[str, int | None, int]]] = {}
    apart = [_taken_apart(file.path) for file in files]
    rolled = {name for name, date, number in apart if date or number is not None}
    for index, (file, taken) in enumerate(zip(files, apart, strict=True)):
        # If others were rolled over from a file, the number in its name is that of the process.
        name, date, number = (file.path, "", None) if file.path in rolled else taken
        groups.setdefault(name, []).append((date, number, index))
    logs = [group for group in groups.values() if len(group) > 1 and not _side_by_side(group, ranges)]
    return [_ordered(group, first_times) for group in logs]


def are_cut_by_size(chain: Sequence[InputFile]) -> bool:
    """True if the files of a log, oldest first, were cut at a fixed size, possibly within a line."""
    # Loggers that finish the line first, and logrotate's copytruncate, leave files of different sizes.
    sizes = [file.size for file in chain[:-1]]
    packed = any(file.codec for file in chain)
    return len(sizes) > 1 and not packed and sizes[0] > 0 and len(set(sizes)) == 1


def _side_by_side(group: list[tuple[str, int | None, int]], ranges: Sequence[tuple[int, int] | None]) -> bool:
    """True if any two of these files were written at the same time for most of the shorter one."""
    spans = sorted(known for _, _, index in group if (known := ranges[index]) is not None)
    return any(
        min(earlier[1], later[1]) - max(earlier[0], later[0])
        > max(2 * SECOND_MS, min(earlier[1] - earlier[0], later[1] - later[0]) / 2)
        for earlier, later in pairwise(spans)
    )


def _ordered(group: list[tuple[str, int | None, int]], first_times: Sequence[int | None]) -> list[int]:
    """By ascending date, then by descending number, unless the times in the files show that numbers ascend."""
    timed: dict[str, list[tuple[int, int]]] = {}
    for date, number, index in group:
        if number is not None and (time := first_times[index]) is not None:
            timed.setdefault(date, []).append((number, time))
    rising = sum(map(_rising, timed.values())) > 0

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


def _rising(timed: Sequence[tuple[int, int]]) -> int:
    """The number of pairs of files with ascending number and time, minus the pairs that contradict."""
    times: list[int] = []
    balance = 0
    for _, same in groupby(sorted(timed), key=itemgetter(0)):
        added = [time for _, time in same]
        for time in added:
            balance += bisect_left(times, time) - (len(times) - bisect_right(times, time))
        for time in added:
            insort(times, time)
    return balance
