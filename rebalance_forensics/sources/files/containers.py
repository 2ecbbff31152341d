"""Reads tar and zip archives, which are recognized by their first bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from calendar import timegm
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Protocol, cast

from rebalance_forensics.sources.files.codecs import ERRORS, Damage


class RandomAccess(io.RawIOBase, BinaryIO):
    """The seeking half of a stream of known size; subclasses read at `_at`."""

    def __init__(self, size: int) -> None:
        self._at, self._size = 0, size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        """The current position."""
        return self._at

    def seekable(self) -> bool:
        """Any position can be reached."""
        return True

    def readable(self) -> bool:
        """The stream can be read."""
        return True


_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC_AT = 257
HEAD = 512
UNREADABLE: tuple[type[Exception], ...] = (*ERRORS, tarfile.TarError, zipfile.BadZipFile, KeyError, Damage)
"""Exceptions from reading a damaged archive or its members."""
_UNPACKED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
_METHODS = {9: "Deflate64", 93: "Zstandard", 95: "XZ", 97: "WavPack", 98: "PPMd"}
_IS_LINK = 0xA
_UNPACK = "unpack it and give the directory"


class Member(NamedTuple):
    """A file in an archive, identified by `key`, since two files may have the same name.

    `size` is the stored size in bytes, `unpacked` the decompressed size, None if it is not compressed.
    """

    name: str
    size: int
    mtime_ms: int
    key: str
    unpacked: int | None
    problem: str | None


class Archive(Protocol):
    """An archive; its members are listed in order and can be opened in any order."""

    kind: str

    def members(self) -> Iterator[Member]:
        """The files in the archive; OSError, TarError or BadZipFile if it is damaged."""

    def open(self, key: str) -> BinaryIO:
        """The stream of a member; KeyError if it no longer exists."""


def container_of(head: bytes) -> str | None:
    """`tar` or `zip` for a stream that starts with these bytes; None for any other."""
    if head.startswith(_ZIP):
        return "zip"
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        return "tar"
    return None


def archive_in(stream: BinaryIO) -> Archive:
    """The archive in a seekable stream, whose table of contents is read at most once; Damage if it is not one."""
    stream.seek(0)
    kind = container_of(stream.read(HEAD))
    stream.seek(0)
    if kind is None:
        raise Damage("it is no archive any more; run again when nobody writes to it")
    return _Zip(stream) if kind == "zip" else _Tar(stream)


class _Zip:
    """A zip archive, whose table of contents is at its end."""

    kind = "zip"

    def __init__(self, stream: BinaryIO) -> None:
        try:
            self._zip = zipfile.ZipFile(stream)
        except zipfile.BadZipFile as error:
            raise Damage(
                f"the table of contents at the end of this zip cannot be read ({error}): it is cut off or damaged, and "
                "none of its members could be read; copy it again from its source"
            ) from error

    def members(self) -> Iterator[Member]:
        """The files in the order of the table of contents."""
        for position, info in enumerate(self._zip.infolist()):
            if not info.is_dir():
                yield Member(
                    name=info.filename,
                    size=info.compress_size,
                    mtime_ms=_dos_time_ms(info.date_time),
                    key=f"{position}:{info.filename}",
                    unpacked=info.file_size,
                    problem=_zip_problem(info),
                )

    def open(self, key: str) -> BinaryIO:
        """The stream of a member, which can be read once from its start."""
        infos, position = self._zip.infolist(), int(key.partition(":")[0])
        if position >= len(infos):
            raise KeyError(key)
        return cast("BinaryIO", self._zip.open(infos[position]))


def _dos_time_ms(when: tuple[int, int, int, int, int, int]) -> int:
    try:
        return timegm((*when, 0, 0, 0)) * 1000
    except ValueError:
        # Tools that keep no times write month 0.
        return 0


def _zip_problem(info: zipfile.ZipInfo) -> str | None:
    if info.flag_bits & 1:
        return "is encrypted; unpack it with its password and give the directory"
    if info.external_attr >> 28 == _IS_LINK:
        return "is a link, not a file; give the file itself"
    if info.compress_type not in _UNPACKED:
        method = _METHODS.get(info.compress_type, f"method {info.compress_type}")
        return f"is packed with {method}, which cannot be read here; {_UNPACK}"
    return None


class _Tar:
    """A tar archive, in which a header precedes each member."""

    kind = "tar"

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._tar = tarfile.open(fileobj=stream, mode="r:")  # noqa: SIM115 - closed with the stream it reads
        self._headers: Iterator[tarfile.TarInfo] = iter(self._tar)
        self._found: list[tarfile.TarInfo] = []

    def members(self) -> Iterator[Member]:
        """The files in the order of the archive."""
        position = 0
        while (info := self._at(position)) is not None:
            if not info.isdir():
                yield Member(
                    name=info.name,
                    size=info.size,
                    mtime_ms=int(info.mtime * 1000),
                    key=f"{position}:{info.name}",
                    # The holes of a sparse file count as compressed.
                    unpacked=info.size if info.issparse() else None,
                    problem=_tar_problem(info),
                )
            position += 1

    def _at(self, position: int) -> tarfile.TarInfo | None:
        """The header at a position, read once: searching for each member from the start would be quadratic."""
        while len(self._found) <= position:
            info = next(self._headers, None)
            if info is None:
                return None
            self._found.append(info)
        return self._found[position]

    def open(self, key: str) -> BinaryIO:
        """The seekable stream of a member."""
        info = self._at(int(key.partition(":")[0]))
        if info is None or not info.isfile():
            raise KeyError(key)
        if info.issparse():
            return cast("BinaryIO", self._tar.extractfile(info))
        return _Part(self._stream, info.offset_data, info.size)


def _tar_problem(info: tarfile.TarInfo) -> str | None:
    if info.isfile():
        return None
    if info.islnk() or info.issym():
        return f"is a link to {info.linkname}, not a file; that is read under its own name where the archive holds it"
    return "is a device or a pipe, not a file; leave it out"


class _Part(RandomAccess):
    """A member of a tar archive: a byte range of it."""

    def __init__(self, stream: BinaryIO, start: int, size: int) -> None:
        super().__init__(size)
        self._stream, self._start = stream, start

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; Damage after the last byte of a truncated archive."""
        left = max(0, self._size - self._at)
        wanted = left if size < 0 else min(size, left)
        if not wanted:
            return b""
        self._stream.seek(self._start + self._at)
        data = self._stream.read(wanted)
        if not data:
            raise Damage(f"its archive ends after the first {self._at:,} of its {self._size:,} bytes; those were read")
        self._at += len(data)
        return data
