"""Reduction of an input to a smaller one that breaks the same law in the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.fuzz import batches
from benchmarks.fuzz.model import Find, Input
from benchmarks.fuzz.snippets import Snippets, workplace

MOST_TRIES = 250
Pieces = list[bytes]


def finds(one: Input) -> list[Find]:
    """All laws, on one input by itself."""
    if one.like is None:
        return batches.finds({0: one}, twice=True, watched=True).get(0, [])
    with workplace() as place:
        return Snippets(Path(place)).finds(one)


def reduced(one: Input, sign: str) -> Input:
    """An input with fewer files, lines and bytes that breaks the same law; the input itself if there is none.

    A log of two groups is not reduced: without some lines of the undamaged group, its report would change.
    """
    if one.kept:
        return one
    tries = MOST_TRIES

    def holds(other: Input) -> bool:
        nonlocal tries
        tries -= 1
        return tries > 0 and any(find.sign == sign for find in finds(other))

    if one.like is not None and holds(replace(one, like=None)):
        one = replace(one, like=None)
    for path in list(one.files):
        fewer = {name: data for name, data in one.files.items() if name != path}
        if fewer and holds(smaller := replace(one, files=fewer)):
            one = smaller
    for path in one.files:
        for cut in (_lines, _halves):
            one = _shrunk(one, path, cut, holds)
    return one


def _lines(data: bytes) -> Pieces:
    return data.splitlines(keepends=True)


def _halves(data: bytes) -> Pieces:
    """Sixteenths, so that each attempt costs little."""
    size = max(1, len(data) // 16)
    return [data[at : at + size] for at in range(0, len(data), size)]


def _shrunk(one: Input, path: str, cut: Callable[[bytes], Pieces], holds: Callable[[Input], bool]) -> Input:
    """Remove pieces, the largest first."""
    pieces = cut(one.files[path])
    stretch = len(pieces) // 2
    while stretch:
        at = 0
        while at < len(pieces):
            rest = pieces[:at] + pieces[at + stretch :]
            smaller = replace(one, files={**one.files, path: b"".join(rest)})
            if rest and holds(smaller):
                one, pieces = smaller, rest
            else:
                at += stretch
        stretch //= 2
    return one
