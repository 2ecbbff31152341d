"""Where bytes lie: a file, a pipe, or a member of archives, and what shows that it is still the same file."""

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
    """True for a path that can be read only once, as it comes: `<(…)`, /dev/stdin, a named pipe."""
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


if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

Got = TypeVar("Got")

_REMOTE: dict[str, Callable[[str], BinaryIO]] = {}
# Opening a pipe would wait for a writer.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


class Stamp(Struct, frozen=True):
    """What changes when a file does: how many bytes it has and when it was changed."""

    size: int
    changed_ns: int


class Place(Struct, frozen=True):
    """A file by its `location`, or what `members` lead to through archives in it.

    With a `stamp` an archive at that place is refused when it is no longer the one that was found there; `allowance`
    is how far what lies there may unpack.
    """

    location: str
    members: tuple[str, ...] = ()
    stamp: Stamp | None = None
    allowance: Allowance | None = None

    def outside(self) -> Place:
        """The archive it is in."""
        return replace(self, members=self.members[:-1], allowance=None)

    def way(self) -> Iterator[Place]:
        """The archives it is in, the outermost first."""
        return (replace(self, members=self.members[:depth], allowance=None) for depth in range(len(self.members)))


@runtime_checkable
class Stamped(Protocol):
    """A stream of a store that knows its own stamp."""

    def stamp(self) -> Stamp:
        """Size and time of change."""


def open_remote_with(opener: Callable[[str], BinaryIO]) -> None:
    """How this process opens locations that are URIs; the stage that knows the stores says so."""
    _REMOTE["opener"] = opener


def raw(location: str) -> BinaryIO:
    """The outermost file, by byte ranges; raises OSError for what is none, and never waits for it."""
    if "://" in location and "opener" in _REMOTE:
        return _REMOTE["opener"](location)
    stream = _File(location, "rb", opener=lambda path, flags: os.open(path, flags | _AT_ONCE))
    if kind := special(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(f"it is {kind}, not a file")
    return cast("BinaryIO", stream)


class _File(FileIO):
    """A file whose end is where nothing more can be read; waiting for more (/proc/kmsg) is an error."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to so many bytes."""
        return _there(cast("bytes | None", super().read(size)))

    def readinto(self, buffer: Buffer, /) -> int:
        """Read as much as is asked for."""
        return _there(cast("int | None", super().readinto(buffer)))


def _there(got: Got | None) -> Got:
    if got is None:
        raise BlockingIOError(errno.EAGAIN, "it has no end: its reader waits for more to be written")
    return got


def stamp_of(stream: BinaryIO) -> Stamp | None:
    """The stamp of an outermost file; None of what is unpacked and cannot change."""
    if isinstance(stream, Stamped):
        return stream.stamp()
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return None
    return Stamp(status.st_size, status.st_mtime_ns)
