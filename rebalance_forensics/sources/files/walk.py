"""Finds the files to read: directories, files, archives, standard input."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from rebalance_forensics.process import scratch
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.sources.files.budgets import Limits
from rebalance_forensics.sources.files.contents import Findings, InputFile, Unreadable, look_into
from rebalance_forensics.sources.files.places import files_below, special, streams

__all__ = ["Discovery", "InputFile", "discover", "discover_stored"]

# /dev/stdin is different in each process; /dev/shm contains files like any other directory.
_OF_THIS_PROCESS = ("/dev/fd/*", "/dev/stdin", "/proc/*/fd/*")


_CHUNK = 1 << 20


class NoRoom(OSError):  # noqa: N818 - it is about the temporary directory, not about what is read
    """There is no space to store input that can be read only once."""


class Discovery(Struct, frozen=True, kw_only=True):
    """All files found, by path, what cannot be read, and the reports of earlier runs."""

    files: tuple[InputFile, ...]
    errors: tuple[Unreadable, ...]
    reports: tuple[str, ...] = ()


def discover(paths: Sequence[str], limits: Limits | None = None) -> Discovery:
    """Find all files under the given paths; whatever is skipped is noted."""
    search = _Search(limits or Limits())
    names = _root_names(paths)
    with held_open():
        for given, name in dict(zip(paths, names, strict=True)).items():
            if given == "-":
                search.standard_input()
            else:
                search.root(Path(given), name)
    found = search.found
    if found.reports and not found.files and not found.errors:
        report = found.reports[0]
        found.errors.append(Unreadable(report, f"{report} was written by this program; name the logs"))
    unique = {(file.path, file.location, file.members): file for file in found.files}
    return Discovery(
        files=tuple(sorted(unique.values(), key=lambda file: (file.path, file.location))),
        errors=tuple(sorted(set(found.errors))),
        reports=tuple(sorted(set(found.reports))),
    )


def discover_stored(location: str, name: str, *, size: int, mtime_ms: int, limits: Limits | None = None) -> Discovery:
    """The contents of a file in a store; `location` is its URI, `name` its name in the report."""
    found = Findings()
    try:
        file = InputFile(path=name, location=location, size=size, mtime_ms=mtime_ms)
        look_into(file, limits or Limits(), found)
    except OSError as error:
        why = (error.strerror or str(error)).strip().splitlines()[0]
        sentence = f"{location} cannot be read ({why}); check its permissions and that it is whole"
        found.errors.append(Unreadable(name, sentence))
    return Discovery(files=tuple(found.files), errors=tuple(found.errors))


def _root_names(paths: Sequence[str]) -> list[str]:
    """The prefix of paths under each root: empty for a single root, else the part of its name that distinguishes it."""
    unique = sorted(set(paths))
    if len(unique) == 1:
        return ["" for _ in paths]
    parts = {path: Path(os.path.abspath(path)).parts for path in unique}  # noqa: PTH100 - a link keeps its own name
    depth = 1
    while len({parts[path][-depth:] for path in unique}) < len(unique) and depth < max(map(len, parts.values())):
        depth += 1
    return ["/".join(parts[path][-depth:]).lstrip("/") for path in paths]


@dataclass(slots=True)
class _Search:
    """A search through the given paths."""

    limits: Limits
    found: Findings = field(default_factory=Findings)

    def root(self, root: Path, name: str) -> None:
        """Add a root: a file, or a directory with everything below it."""
        try:
            mode = root.stat().st_mode
            if kind := special(mode):
                if stat.S_ISDIR(mode):
                    self._directory(root, name)
                    return
                if not streams(root):
                    remedy = "name a file, a directory or an archive, or - for standard input"
                    self._complain(name or str(root), f"{root} is {kind}, not a log; {remedy}")
                    return
            if kind or any(map(root.match, _OF_THIS_PROCESS)):
                with root.open("rb") as stream:
                    self.stream(stream, name or str(root))
                return
        except NoRoom:
            raise
        except FileNotFoundError:
            self._complain(name or str(root), f"{root} does not exist; check the spelling, or quote a path with blanks")
        except OSError as error:
            self._complain(name or str(root), _unreadable(root, error))
        else:
            self._file(root, name or root.name)

    def standard_input(self) -> None:
        """Add standard input, piped or pasted."""
        try:
            self.stream(sys.stdin.buffer, "-")
        except NoRoom:
            raise
        except OSError as error:
            self._complain("-", f"standard input cannot be read ({_why(error)}); send it again")

    def stream(self, stream: BinaryIO, name: str) -> None:
        """Add a stream; it is copied to a temporary file, since it is read more than once."""
        self._file(_kept(stream), name, mtime_ms=int(time.time() * 1000))

    def _directory(self, root: Path, name: str) -> None:
        before = len(self.found.errors)
        found = False
        for path in self._readable_below(root, name):
            found = True
            self._file(path, _below(root, path, name))
        if not found and len(self.found.errors) == before:
            sentence = f"{root} is a directory without any file; give the directory that holds the logs"
            self._complain(name or str(root), sentence)

    def _readable_below(self, root: Path, name: str) -> Iterator[Path]:
        """The readable files of a tree."""

        def unlisted(error: OSError) -> None:
            path = Path(error.filename)
            where = str(path) if path == root and not name else _below(root, path, name)
            self._complain(where, f"{path} cannot be listed ({error.strerror}); check its permissions")

        for path in files_below(root, unlisted):
            if why := _no_file(path):
                self._complain(_below(root, path, name), f"{path} {why}; it was left out")
            else:
                yield path

    def _file(self, path: Path, name: str, *, mtime_ms: int | None = None) -> None:
        """Add a file, or the members of an archive."""
        try:
            status = path.stat()
            changed = status.st_mtime_ns // 1_000_000 if mtime_ms is None else mtime_ms
            file = InputFile(path=name, location=str(path.absolute()), size=status.st_size, mtime_ms=changed)
            look_into(file, self.limits, self.found)
        except OSError as error:
            self._complain(name, _unreadable(path, error))

    def _complain(self, path: str, sentence: str) -> None:
        self.found.errors.append(Unreadable(path, sentence))


def _below(root: Path, path: Path, name: str) -> str:
    return "/".join(filter(None, (name, path.relative_to(root).as_posix())))


def _no_file(path: Path) -> str | None:
    """Why a path in a directory is not a file to read; None if it may be one."""
    try:
        kind = special(path.stat().st_mode)
    except FileNotFoundError:
        return "is a link that leads nowhere, or is gone already"
    except OSError as error:
        return f"cannot be looked at ({(error.strerror or str(error)).lower()})"
    return f"is {kind}, not a file" if kind else None


def _unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"{path} cannot be read: permission denied; run as a user who may read it, or chmod it"
    return f"{path} cannot be read ({error.strerror or error}); copy it to a local disk and try again"


def _kept(stream: BinaryIO) -> Path:
    """Copy a stream to a temporary file."""
    with tempfile.NamedTemporaryFile(dir=scratch.directory(), suffix=".stdin", delete=False) as spool:
        while chunk := stream.read(_CHUNK):
            try:
                spool.write(chunk)
                spool.flush()
            except OSError as error:
                why = f"{_why(error)}; standard input is kept there: set TMPDIR to another place"
                raise NoRoom(error.errno, why, tempfile.gettempdir()) from error
    return Path(spool.name)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
