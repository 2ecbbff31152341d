"""Locations of bytes: files, pipes and members of archives, with a stamp that detects replaced files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.sources.files.budgets import Allowance


def special(mode: int) -> str | None:
    """The kind of file if it is not a regular one: reading pipes, sockets and devices may block or never end."""
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a disk"),
        (stat.S_ISDIR, "a directory"),
    )
    return next((name for is_it, name in kinds if is_it(mode)), None)


def streams(path: Path) -> bool:
    """True for a path that can be read only once: `<(…)`, /dev/stdin, a named pipe."""
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        return True
    if not stat.S_ISCHR(mode):
        return False
    # /dev/stdin may be a terminal, into which a log is pasted.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def files_below(root: Path, unlisted: Callable[[OSError], None]) -> Iterator[Path]:
    """Every path in a tree except directories, in the same order on every machine; linked directories are walked once.

    `unlisted` is called with the error for each directory that cannot be listed.
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


if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

Got = TypeVar("Got")

_REMOTE: dict[str, Callable[[str], BinaryIO]] = {}
# Opening a pipe would wait for a writer.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


class Stamp(Struct, frozen=True):
    """Size and modification time of a file, by which a change is detected."""

    size: int
    changed_ns: int


class Place(Struct, frozen=True):
    """A file at `location`, or the member of nested archives in it that `members` leads to.

    With a `stamp`, an archive that was replaced since then is rejected; `allowance` limits how far it may unpack.
    """

    location: str
    members: tuple[str, ...] = ()
    stamp: Stamp | None = None
    allowance: Allowance | None = None

    def outside(self) -> Place:
        """The archive it is in."""
        return replace(self, members=self.members[:-1], allowance=None)

    def way(self) -> Iterator[Place]:
        """The archives it is in, outermost first."""
        return (replace(self, members=self.members[:depth], allowance=None) for depth in range(len(self.members)))


@runtime_checkable
class Stamped(Protocol):
    """A stream from a store that provides its own stamp."""

    def stamp(self) -> Stamp:
        """Size and modification time."""


def open_remote_with(opener: Callable[[str], BinaryIO]) -> None:
    """Set how this process opens URIs; the pipeline, which knows the stores, does that."""
    _REMOTE["opener"] = opener


def raw(location: str) -> BinaryIO:
    """Open the outermost file; OSError if it is not a regular file, without blocking."""
    if "://" in location and "opener" in _REMOTE:
        return _REMOTE["opener"](location)
    stream = _File(location, "rb", opener=lambda path, flags: os.open(path, flags | _AT_ONCE))
    if kind := special(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(f"it is {kind}, not a file")
    return cast("BinaryIO", stream)


class _File(FileIO):
    """A file that raises an error instead of blocking at its end (/proc/kmsg)."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes."""
        return _there(cast("bytes | None", super().read(size)))

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill the buffer as far as possible."""
        return _there(cast("int | None", super().readinto(buffer)))


def _there(got: Got | None) -> Got:
    if got is None:
        raise BlockingIOError(errno.EAGAIN, "it has no end: its reader waits for more to be written")
    return got


def stamp_of(stream: BinaryIO) -> Stamp | None:
    """The stamp of an outermost file; None for an unpacked one, which cannot change."""
    if isinstance(stream, Stamped):
        return stream.stamp()
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns)
