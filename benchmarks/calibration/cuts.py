"""Cuts logs as users do: by level, to the end of each file, to lines with a name, or by losing random records."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

Cut = Literal["warnings", "tail", "grep", "dropped"]
CUTS: tuple[Cut, ...] = ("warnings", "tail", "grep", "dropped")
TAIL_LINES = 300
"""Number of lines for `tail -n`."""
SHARE_LOST = 0.1
"""Share of records that an overloaded log shipper drops."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
_LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_PACKED = (b"\x1f\x8b", b"PK", b"\x28\xb5", b"\xfd7")
Keeps = Callable[[int, str, int], bool]
"""True for a record that is kept, by the number of its first line, that line and the number of all lines."""


def cut_down(cut: Cut, hosts: Path, into: Path, *, group: str, brokers: frozenset[str], name: str) -> bool:
    """Write the cut logs of all hosts; returns False if nothing was cut, as in compressed files."""
    chance = random.Random(f"{name} {cut}")
    changed = False
    for host in sorted(hosts.iterdir()):
        shutil.copytree(host, into / host.name)
        for file in sorted(p for p in (into / host.name).rglob("*") if p.is_file()):
            keeps = _keeps(cut, chance, group, of_broker=host.name in brokers)
            changed |= keeps is not None and _rewritten(file, keeps)
    return changed


def _keeps(cut: Cut, chance: random.Random, group: str, *, of_broker: bool) -> Keeps | None:
    match cut:
        case "warnings":
            return None if of_broker else lambda _at, line, _all: _is_a_warning(line)
        case "tail":
            return lambda at, _line, lines: at >= lines - TAIL_LINES
        case "grep":
            return lambda _at, line, _all: group in line
        case "dropped":
            return lambda _at, _line, _all: chance.random() >= SHARE_LOST


def _is_a_warning(line: str) -> bool:
    level = _LEVEL.search(line)
    return level is None or level[0] in ("WARN", "ERROR", "FATAL")


def _rewritten(file: Path, keeps: Keeps) -> bool:
    raw = file.read_bytes()
    if raw.startswith(_PACKED):
        return False
    lines = raw.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    kept = "".join(_kept(lines, keeps)).encode("utf-8", "surrogateescape")
    file.write_bytes(kept)
    return kept != raw


def _kept(lines: list[str], keeps: Keeps) -> Iterator[str]:
    """The lines of the records that are kept; a line without a time belongs to the record before it."""
    stays = True
    for at, line in enumerate(lines):
        if _TIME.search(line[:60]):
            stays = keeps(at, line, len(lines))
        if stays:
            yield line
