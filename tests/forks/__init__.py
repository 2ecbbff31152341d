"""The program as a user runs it, loaded once: half of what a short run takes is to load it.

Each run is a fork with the arguments, the directory, the environment and the three streams of its caller, and goes
through `python -m rebalance_forensics` from its first line. What the program keeps, such as the catalog and temporary
files, is each run's own: the parent imports, and does nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
STARTED_ANEW = [sys.executable, "-m", "rebalance_forensics"]
ON_START = ("PYTHON", "LC_", "LANG", "LD_", "OMP_", "OPENBLAS_")
"""What an interpreter or a library reads when it starts: a run that changes it has to start."""


@contextmanager
def loaded_program() -> Iterator[list[str]]:
    """How to call it: a command that takes the program's arguments."""
    if not hasattr(os, "pidfd_open"):
        yield STARTED_ANEW
        return
    with tempfile.TemporaryDirectory(prefix="program-") as place:
        socket = Path(place) / "socket"
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.forks.parent", str(socket)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert parent.stdout
            assert parent.stdout.readline() == b"loaded\n", "the program could not be loaded; stderr says why"
            yield [sys.executable, "-S", "-E", str(FOLDER / "caller.py"), str(socket)]
        finally:
            parent.communicate()


def starts_alike(env: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether an interpreter would start in the same way in both environments."""

    def read_on_start(names: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in names.items() if name.startswith(ON_START) and name != "PYTHONPATH"}

    return read_on_start(env) == read_on_start(other)
