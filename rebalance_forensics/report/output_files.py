"""Writes output files completely or not at all, readable only by their owner, since they quote logs."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

from rebalance_forensics.process import scratch

PRIVATE = 0o600
MOST_IN_MEMORY = 1 << 24
"""Maximum number of characters held in memory until a text is complete."""
PIECE = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class OutputError(OSError):
    """An output that could not be written; the message is the sentence for the user."""

    @classmethod
    def of(cls, path: Path, error: OSError) -> OutputError:
        """Name the file, what is wrong, and the remedy."""
        # Arrow puts its own words before those of the system.
        why = (os.strerror(error.errno) if error.errno else error.strerror or str(error)).lower()
        return cls(f"cannot write {path}: {why}; {remedy(error)}")


def remedy(error: OSError) -> str:
    """What to do about a full or unwritable file system."""
    if error.errno in FULL:
        return "free some space there or choose another place"
    return "choose another place or make this one writable"


def write_whole(path: Path, text: Iterable[str], mode: int | None = None) -> None:
    """Replace a file by a text atomically; on OutputError the old file stays."""
    # If producing the pieces fails, nothing is written.
    chunks = [text] if isinstance(text, str) else text
    try:
        if path.exists() and not path.is_file():
            # A pipe or /dev/stdout is written directly: a rename would replace it.
            _write(path, held_back(chunks))
            return
        with replacing(path, mode) as unfinished:
            _write(unfinished, chunks)
    except OSError as error:
        raise OutputError.of(path, error) from error


def held_back(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, once all of them are complete, for outputs that cannot be undone; many are buffered in a file."""
    waiting: list[str] = []
    size = 0
    left = iter([pieces] if isinstance(pieces, str) else pieces)
    for piece in left:
        waiting.append(piece)
        size += len(piece)
        if size > MOST_IN_MEMORY:
            return _through_a_file(chain(waiting, left))
    return iter(waiting)


def _through_a_file(pieces: Iterable[str]) -> Iterator[str]:
    file = tempfile.TemporaryFile(  # noqa: SIM115 - open until its last piece is read
        "w+", encoding="utf-8", errors="surrogatepass", newline="", dir=scratch.directory()
    )
    try:
        file.writelines(pieces)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return _pieces_of(file)


def _pieces_of(file: IO[str]) -> Iterator[str]:
    with file:
        while piece := file.read(PIECE):
            yield piece


def _write(path: Path, text: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.writelines(text)


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[Path]:
    """A temporary file next to a path, which replaces the path on success and is removed otherwise."""
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    unfinished = Path(name)
    try:
        yield unfinished
        # A replaced file keeps its permissions, which were chosen once; a new file is its owner's alone.
        kept = target.stat().st_mode & 0o777 if target.exists() else PRIVATE
        unfinished.chmod(kept if mode is None else mode)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
