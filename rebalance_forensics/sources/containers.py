"""Archives, told by their first bytes: which members tar and zip files hold, and what is in one."""

from __future__ import annotations

import tarfile
import zipfile
from calendar import timegm
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO, NamedTuple, cast

from rebalance_forensics.sources.codecs import ERRORS, Damage

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC_AT = 257
HEAD = 512
UNREADABLE: tuple[type[Exception], ...] = (*ERRORS, tarfile.TarError, zipfile.BadZipFile, KeyError, Damage)
"""What reading a damaged archive, or anything in it, raises."""


class Member(NamedTuple):
    """A file in an archive. Its name is only a name, two may have the same; `key` leads to it."""

    name: str
    size: int
    mtime_ms: int
    key: str
    problem: str | None


def container_of(head: bytes) -> str | None:
    """Whether a stream that begins with these bytes is a tar or a zip."""
    if head.startswith(_ZIP):
        return "zip"
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        return "tar"
    return None


def members(stream: BinaryIO, kind: str) -> Iterator[Member]:
    """The files of an archive in their order; raises OSError, TarError or BadZipFile when it is damaged."""
    if kind == "zip":
        yield from _zip_members(stream)
    else:
        yield from _tar_members(stream)


def _zip_members(stream: BinaryIO) -> Iterator[Member]:
    with zipfile.ZipFile(stream) as archive:
        for position, info in enumerate(archive.infolist()):
            if info.is_dir():
                continue
            problem = "is encrypted; unpack it with its password and give the directory" if info.flag_bits & 1 else None
            yield Member(
                info.filename, info.file_size, _dos_time_ms(info.date_time), f"{position}:{info.filename}", problem
            )


def _dos_time_ms(when: tuple[int, int, int, int, int, int]) -> int:
    try:
        return timegm((*when, 0, 0, 0)) * 1000
    except ValueError:
        # Tools that keep no times write month 0.
        return 0


def _tar_members(stream: BinaryIO) -> Iterator[Member]:
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        for position, info in enumerate(archive):
            if info.isdir():
                continue
            problem = None if info.isfile() else "is a link or a device, not a file; give the file itself"
            yield Member(info.name, info.size, int(info.mtime * 1000), f"{position}:{info.name}", problem)


@contextmanager
def member_of(stream: BinaryIO, kind: str, key: str) -> Iterator[BinaryIO]:
    """The bytes of the member with this key; raises KeyError when it is gone."""
    position = int(key.partition(":")[0])
    if kind == "zip":
        with zipfile.ZipFile(stream) as archive, archive.open(archive.infolist()[position]) as member:
            yield cast("BinaryIO", member)
        return
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        info = next(islice(tar, position, None), None)
        inner = tar.extractfile(info) if info else None
        if inner is None:
            raise KeyError(key)
        with inner:
            yield cast("BinaryIO", inner)
