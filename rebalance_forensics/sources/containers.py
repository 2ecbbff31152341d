"""Archives, told by their first bytes: which members tar and zip files hold, and what is in one."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC_AT = 257
HEAD = 512


class Member(NamedTuple):
    """A file in an archive. Its name is only a name: nothing is ever written under it."""

    name: str
    size: int
    mtime_ms: int
    key: int
    problem: str | None


def container_of(head: bytes) -> str | None:
    """Whether a stream that begins with these bytes is a tar or a zip."""
    if head.startswith(_ZIP):
        return "zip"
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        return "tar"
    return None


def members(stream: BinaryIO, kind: str) -> Iterator[Member]:
    """The files of an archive in their order; raises OSError, tarfile.TarError or zipfile.BadZipFile when it is damaged."""
    if kind == "zip":
        yield from _zip_members(stream)
    else:
        yield from _tar_members(stream)


def _zip_members(stream: BinaryIO) -> Iterator[Member]:
    with zipfile.ZipFile(stream) as archive:
        for key, info in enumerate(archive.infolist()):
            if info.is_dir():
                continue
            problem = "is encrypted; unpack it with its password and give the directory" if info.flag_bits & 1 else None
            yield Member(info.filename, info.file_size, _dos_time_ms(info.date_time), key, problem)


def _dos_time_ms(when: tuple[int, int, int, int, int, int]) -> int:
    from calendar import timegm  # noqa: PLC0415 - used for zip members only

    return timegm((*when, 0, 0, 0)) * 1000


def _tar_members(stream: BinaryIO) -> Iterator[Member]:
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        for key, info in enumerate(archive):
            if info.isdir():
                continue
            problem = None if info.isfile() else "is a link or a device, not a file; give the file itself"
            yield Member(info.name, info.size, int(info.mtime * 1000), key, problem)


def open_member(stream: BinaryIO, kind: str, name: str, key: int | None = None) -> BinaryIO:
    """The bytes of one member; raises KeyError when it is gone."""
    if kind == "zip":
        archive = zipfile.ZipFile(stream)
        info = archive.infolist()[key] if key is not None else archive.getinfo(name)
        return archive.open(info)  # type: ignore[return-value]  # ZipExtFile reads as any binary file
    tar = tarfile.open(fileobj=stream, mode="r:")  # noqa: SIM115 - the caller reads on from the member
    member = tar.extractfile(tar.getmember(name))
    if member is None:
        raise KeyError(name)
    return member  # type: ignore[return-value]  # ExFileObject reads as any binary file
