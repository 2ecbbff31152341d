"""What a path leads to: the files below a directory, or no file at all but a pipe, a socket, a device."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path


def special(mode: int) -> str | None:
    """What a mode is of, if not of a regular file; pipes, sockets and devices may never end or never begin."""
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a disk"),
        (stat.S_ISDIR, "a directory"),
    )
    return next((name for is_it, name in kinds if is_it(mode)), None)


def streams(path: Path) -> bool:
    """Whether a path that the user named is to be read once, as it comes: `<(…)`, /dev/stdin, a named pipe."""
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        return True
    if not stat.S_ISCHR(mode):
        return False
    # /dev/stdin may be a terminal, at which somebody pastes.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def files_below(root: Path, unlisted: Callable[[OSError], None]) -> Iterator[Path]:
    """All but directories in a tree, in the same order on every machine; a directory with several links is walked once.

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
