"""What a path leads to that is no file: pipes, sockets and devices, which may never end or never begin."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def special(mode: int) -> str | None:
    """What it is, of a file's mode; None for a file that can be read as one."""
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a disk"),
        (stat.S_ISDIR, "a directory"),
    )
    return next((name for is_it, name in kinds if is_it(mode)), None)


def streams(path: Path) -> bool:
    """Whether a path that somebody named is one to read once, as it comes: `<(…)`, /dev/stdin, a named pipe."""
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
