"""A process's own place for temporary files: gone when it ends, and those of dead processes with it."""

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
# The directory in which Python's multiprocessing keeps its sockets, removed only by a process that ends normally.
SOCKETS_PREFIX = "pymp-"
_OWNER = "owner.json"
_lock = Lock()
_directories: dict[tuple[int, str], Path] = {}
"""By process, for a fork must not remove what is its parent's, and by the directory that they lie in."""


def directory(parent: str | None = None) -> Path:
    """A directory that only this user may look into; in the system's temporary directory, if no other is named."""
    place = parent or tempfile.gettempdir()
    with _lock:
        key = os.getpid(), place
        if key not in _directories:
            _sweep(Path(place))
            _own(Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)), place)
        return _directories[key]


def adopt(made: Path) -> None:
    """Remove a directory that a library made for this process together with our own, also after a kill."""
    with _lock:
        _own(made, str(made))


def _own(made: Path, place: str) -> None:
    (made / _OWNER).write_text(json.dumps(asdict(Process.current())), encoding="utf-8")
    _directories[os.getpid(), place] = made


@atexit.register
def forget() -> None:
    """Remove all of it: nobody's logs stay behind when the process ends."""
    for pid, place in list(_directories):
        if pid == os.getpid():
            shutil.rmtree(_directories.pop((pid, place)), ignore_errors=True)


def _sweep(place: Path) -> None:
    # Remove what killed processes of this user had no time to.
    for left in (*place.glob(f"{PREFIX}*"), *place.glob(f"{SOCKETS_PREFIX}*")):
        with suppress(OSError, ValueError, TypeError):
            is_own = left.lstat().st_uid == os.getuid()
            if is_own and Process(**json.loads((left / _OWNER).read_text(encoding="utf-8"))).is_gone:
                shutil.rmtree(left, ignore_errors=True)
