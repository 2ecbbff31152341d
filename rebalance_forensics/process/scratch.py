"""Temporary files of this process, removed when it ends, together with those of dead processes."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock

from rebalance_forensics.process.identity import Process

PREFIX = "rebalance-forensics-"
# The directory of multiprocessing's sockets, which only a process that ends normally removes.
SOCKETS_PREFIX = "pymp-"
_OWNER = "owner.json"
_lock = Lock()
_directories: dict[tuple[int, str], Path] = {}
"""By process, since a fork must not remove its parent's directory, and by parent directory."""


def directory(parent: str | None = None) -> Path:
    """A directory that only this user can read, in `parent` or the system's temporary directory."""
    place = parent or tempfile.gettempdir()
    with _lock:
        key = os.getpid(), place
        if key not in _directories:
            _sweep(Path(place))
            _own(Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)), place)
        return _directories[key]


def adopt(made: Path) -> None:
    """Register a directory that a library created, to be removed with our own, even after a kill."""
    with _lock:
        _own(made, str(made))


def _own(made: Path, place: str) -> None:
    (made / _OWNER).write_text(json.dumps(asdict(Process.current())), encoding="utf-8")
    _directories[os.getpid(), place] = made


@atexit.register
def forget() -> None:
    """Remove all temporary files, so that no logs are left behind when the process ends."""
    for pid, place in list(_directories):
        if pid == os.getpid():
            shutil.rmtree(_directories.pop((pid, place)), ignore_errors=True)


def _sweep(place: Path) -> None:
    # Remove the directories of killed processes of this user.
    for left in (*place.glob(f"{PREFIX}*"), *place.glob(f"{SOCKETS_PREFIX}*")):
        with suppress(OSError, ValueError, TypeError):
            is_own = left.lstat().st_uid == os.getuid()
            if is_own and Process(**json.loads((left / _OWNER).read_text(encoding="utf-8"))).is_gone:
                shutil.rmtree(left, ignore_errors=True)
