"""Output files: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


class OutputError(OSError):
    """An output that could not be written; its text is the one sentence the reader gets."""

    @classmethod
    def of(cls, path: Path, error: OSError) -> OutputError:
        """Name the file, what is wrong, and the remedy."""
        # Arrow puts its own words before those of the system.
        why = (os.strerror(error.errno) if error.errno else error.strerror or str(error)).lower()
        return cls(f"cannot write {path}: {why}; choose another place or make this one writable")


def write_whole(path: Path, text: str) -> None:
    """Replace a file by a new text in one step; raise OutputError and leave the old one where that fails."""
    try:
        _replace(path, text)
    except OSError as error:
        raise OutputError.of(path, error) from error


def _replace(path: Path, text: str) -> None:
    if path.exists() and not path.is_file():
        # A pipe or /dev/stdout has no half file to guard against, and a rename would replace it.
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        return
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.write(text)
        Path(name).chmod(_permissions(target))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _permissions(target: Path) -> int:
    """Keep a replaced file's permissions; a new one gets those any program of this user would give it."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
