"""Keeps archives open while one run reads their members; before the next run they may be replaced."""

from __future__ import annotations

import errno
import io
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from msgspec.structs import replace

from rebalance_forensics.sources.files.budgets import Meter, Spent
from rebalance_forensics.sources.files.codecs import Damage
from rebalance_forensics.sources.files.containers import Archive, archive_in
from rebalance_forensics.sources.files.places import Place, raw, stamp_of
from rebalance_forensics.sources.files.wrappings import pieces, reader, unwrapped

_IN_MEMORY = 32 << 20
# At most this many archives stay unpacked besides those being read, since each takes disk space.
KEPT = 4


class Changed(Damage):
    """An archive that was replaced since its members were found."""

    may_pass = True


@dataclass(slots=True)
class OpenArchive:
    """An open archive; it is not closed while it has `users`."""

    stream: BinaryIO
    inside: Archive
    problem: str | None
    lies_there: bool
    """True if it is read in place, so that it may change."""
    users: int = 0
    dropped: bool = False

    def drop(self) -> None:
        """Close it, or leave that to its last user."""
        self.dropped = True
        if not self.users:
            self.stream.close()


class OpenArchives:
    """The archives of one run in one thread: each is unpacked and its table of contents read only once."""

    def __init__(self) -> None:
        self._by_place: OrderedDict[Place, OpenArchive] = OrderedDict()
        self.closed = False

    @contextmanager
    def opened(self, place: Place, meter: Meter, way: Meter) -> Iterator[BinaryIO]:
        """Open a file, or a member of an archive, still in its own compression.

        `meter` counts the bytes unpacked from it, `way` those from the archives around it.
        """
        if not place.members:
            with raw(place.location) as stream:
                yield stream
            return
        with self.archive(place.outside(), way) as archive, archive.inside.open(place.members[-1]) as member:
            # A member of a zip file is read once from its start: seeking back would unpack it again.
            yield reader(meter.guarded(pieces(member))) if archive.inside.kind == "zip" else member

    @contextmanager
    def archive(self, place: Place, meter: Meter) -> Iterator[OpenArchive]:
        """The archive at a place; Damage if there is no readable one."""
        key = replace(place, allowance=None)
        archive = self._by_place.get(key)
        if archive is None:
            archive = self._by_place[key] = self._open(key, meter)
        for outer in [*place.way(), key]:
            if outer in self._by_place:
                self._by_place.move_to_end(outer)
        archive.users += 1
        try:
            self._close_oldest(len(place.members))
            if archive.lies_there:
                _refuse_changed(archive.stream, place)
            yield archive
            if archive.lies_there:
                _refuse_changed(archive.stream, place)
        finally:
            archive.users -= 1
            if archive.dropped:
                archive.drop()

    def _open(self, place: Place, meter: Meter) -> OpenArchive:
        stream, problem, lies_there = self._seekable(place, meter)
        with _closed_on_failure(stream):
            return OpenArchive(stream, archive_in(stream), problem, lies_there)

    def _seekable(self, place: Place, meter: Meter) -> tuple[BinaryIO, str | None, bool]:
        """A seekable stream of an archive: a plain file in place, others unpacked to a temporary file."""
        if place.members:
            with self.opened(place, meter, meter) as stream:
                return *spooled(unwrapped(pieces(stream), meter)[1]), False
        with _closed_on_failure(raw(place.location)) as stream:
            _refuse_changed(stream, place)
            codecs, chunks = unwrapped(pieces(stream), meter)
            if not codecs:
                return stream, None, True
            spool, problem = spooled(chunks)
            with stream, _closed_on_failure(spool):
                _refuse_changed(stream, place)
        return spool, problem, False

    def _close_oldest(self, depth: int) -> None:
        """Close the least recently used archives, except for a few, those around the last one, and those in use."""
        for place in list(self._by_place)[: -(depth + 1 + KEPT)]:
            if not self._by_place[place].users:
                self._by_place.pop(place).drop()

    def close(self) -> None:
        """Close all archives."""
        self.closed = True
        while self._by_place:
            self._by_place.popitem()[1].drop()


@contextmanager
def _closed_on_failure(stream: BinaryIO) -> Iterator[BinaryIO]:
    try:
        yield stream
    except BaseException:
        stream.close()
        raise


def _refuse_changed(stream: BinaryIO, place: Place) -> None:
    """Raise Changed if the archive was replaced, rather than mix the members of two archives."""
    if place.stamp is not None and (now := stamp_of(stream)) is not None and now != place.stamp:
        raise Changed("its archive was changed while it was read; run again when nobody writes to it")


def spooled(chunks: Iterator[bytes]) -> tuple[BinaryIO, str | None]:
    """The chunks as a seekable stream, in memory while it is small, and the error that ended it, if any."""
    spool: BinaryIO = io.BytesIO()
    problem = None
    try:
        for chunk in chunks:
            if isinstance(spool, io.BytesIO) and spool.tell() + len(chunk) > _IN_MEMORY:
                spool = _on_disk(spool)
            _write(spool, chunk)
    except Damage as damage:
        if isinstance(damage, (Spent, Changed, _NoRoom)):
            spool.close()
            raise
        problem = str(damage)
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return spool, problem


class _NoRoom(Damage):
    """The disk is full."""

    may_pass = True


def _on_disk(small: io.BytesIO) -> BinaryIO:
    # An unnamed file, so that no log is left behind, however the process ends.
    spool = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - the caller closes it
    _write(spool, small.getvalue())
    return spool


def _write(spool: BinaryIO, data: bytes) -> None:
    try:
        spool.write(data)
        spool.flush()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        place = tempfile.gettempdir()
        raise _NoRoom(f"there is no room in {place} to unpack it; free some, or set TMPDIR to a larger disk") from error


class _Run(threading.local):
    """The archives of the run of the current thread."""

    archives: OpenArchives | None = None


_RUN = _Run()


@contextmanager
def held_open() -> Iterator[None]:
    """Keep archives open until the outermost such block ends."""
    if _of_this_run() is not None:
        yield
        return
    _RUN.archives = archives = OpenArchives()
    try:
        yield
    finally:
        archives.close()


@contextmanager
def archives() -> Iterator[OpenArchives]:
    """The archives of the current run; outside of a run, temporary ones that are closed at the end of the block."""
    if (running := _of_this_run()) is not None:
        yield running
        return
    with closing(OpenArchives()) as own:
        yield own


def _of_this_run() -> OpenArchives | None:
    running = _RUN.archives
    return None if running is None or running.closed else running
