"""The files below a directory, in an order that is the same on every machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path


def files_below(root: Path, unlisted: Callable[[OSError], None]) -> Iterator[Path]:
    """Whatever is no directory in a tree, by name; a directory that several links lead to is walked once.

    `unlisted` is given the error of each directory that cannot be listed.
    """
    seen: set[str] = set()
    for directory, below, names in os.walk(root, onerror=unlisted, followlinks=True):
        real = os.path.realpath(directory)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()
        yield from (Path(directory, name) for name in sorted(names))
