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
            made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            (made / _OWNER).write_text(json.dumps(asdict(Process.current())), encoding="utf-8")
            _directories[key] = made
        return _directories[key]


@atexit.register
def forget() -> None:
    """Remove all of it: nobody's logs stay behind when the process ends."""
    for pid, place in list(_directories):
        if pid == os.getpid():
            shutil.rmtree(_directories.pop((pid, place)), ignore_errors=True)


def _sweep(place: Path) -> None:
    """Remove what killed processes of this user had no time to."""
    for left in place.glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError, TypeError):
            mine = left.lstat().st_uid == os.getuid()
            if mine and Process(**json.loads((left / _OWNER).read_text(encoding="utf-8"))).is_gone:
                shutil.rmtree(left, ignore_errors=True)
