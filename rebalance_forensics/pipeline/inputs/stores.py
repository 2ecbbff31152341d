"""Where tables and logs lie: a directory or an object store, by pyarrow's file systems."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pafs

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.report.output_files import PRIVATE
from rebalance_forensics.sources.files.containers import RandomAccess
from rebalance_forensics.sources.files.places import Stamp

ALIASES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss", "wasb": "abfs"}
"""Hadoop's names for stores that pyarrow knows under another."""
SCHEMES = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")


_REMEDIES = {
    errno.ENOSPC: "make room there, or name another --output",
    errno.EDQUOT: "raise the quota, or name another --output",
    errno.EROFS: "mount it for writing, or name another --output",
    errno.EACCES: "let this user write there",
    errno.EPERM: "let this user write there",
}


class StoreError(InputError):
    """The tables could not be written; its text is the one sentence the reader gets."""

    @classmethod
    def of(cls, uri: str, error: BaseException, then: str) -> StoreError | None:
        """Name the place, what is wrong, what that means and the remedy; None where it is not about writing."""
        # Spark tells what went wrong in its tasks by their traceback only, delta-rs in the words of Rust.
        text = str(error)
        number = getattr(error, "errno", None) if isinstance(error, OSError) else None
        quoted = {
            n for n in _REMEDIES for form in ("[Errno {}]", "[errno {}]", "(os error {})") if form.format(n) in text
        }
        number = next((n for n in _REMEDIES if n == number or n in quoted), None)
        if number is None:
            return None
        return cls(f"--output {uri} cannot be written: {os.strerror(number).lower()}; {then}; {_REMEDIES[number]}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """One file of a listing. `path` is relative to the store's root."""

    path: str
    size: int
    mtime_ms: int


@dataclass(frozen=True, slots=True)
class Store:
    """A directory in a file system, named by a URI or a local path; travels to workers as that name."""

    uri: str
    mode: int = PRIVATE
    """Permissions of new files in a file system; they hold lines of logs."""

    @property
    def hadoop_name(self) -> str:
        """The URI by which Hadoop and Spark name the store."""
        uri = self.uri.rstrip("/")
        return f"s3a{uri[2:]}" if uri.startswith("s3://") else uri

    def place(self, path: str = "") -> tuple[Any, str]:
        """The file system, and what it calls this path."""
        system, root = _resolved(self.uri)
        return system, f"{root.rstrip('/')}/{path}".rstrip("/") if path else root

    def local_path(self, path: str) -> Path | None:
        """A path as this machine's files have it; None where the store is no directory of it."""
        system, place = self.place(path)
        return Path(place) if isinstance(system, pafs.LocalFileSystem) else None

    def files(self, below: str = "") -> Sequence[StoredFile]:
        """Every file below a directory, by path; none where there is no such directory."""
        system, root = self.place()
        _, start = self.place(below)
        selector = pafs.FileSelector(start, recursive=True, allow_not_found=True)
        found = (info for info in system.get_file_info(selector) if info.is_file)
        return sorted((_stored(info, root) for info in found), key=lambda file: file.path)

    def stored(self, path: str) -> StoredFile:
        """One file, as a listing shows it."""
        system, place = self.place(path)
        return _stored(system.get_file_info(place), self.place()[1])

    def directories(self, below: str = "") -> Sequence[str]:
        """The names of the directories right below one."""
        system, start = self.place(below)
        selector = pafs.FileSelector(start, allow_not_found=True)
        return sorted(info.base_name for info in system.get_file_info(selector) if info.type == pafs.FileType.Directory)

    def kind(self, path: str = "") -> str:
        """`file`, `directory` or `nothing`."""
        system, place = self.place(path)
        kind = system.get_file_info(place).type
        return {pafs.FileType.File: "file", pafs.FileType.Directory: "directory"}.get(kind, "nothing")

    def read(self, path: str) -> bytes:
        """A whole file."""
        system, place = self.place(path)
        with system.open_input_stream(place) as stream:
            return cast("bytes", stream.read())

    def open(self, path: str) -> BinaryIO:
        """A file to read from anywhere in it, by byte ranges."""
        system, place = self.place(path)
        return cast("BinaryIO", system.open_input_file(place))

    def write(self, path: str, data: bytes) -> None:
        """A whole file; an object appears with all of its bytes, a local file by renaming."""
        system, place = self.place(path)
        _make_directory(system, place)
        atomic = not isinstance(system, pafs.LocalFileSystem)
        target = place if atomic else f"{place}.{uuid4().hex[:8]}.part"
        with self._created(system, target) as stream:
            stream.write(data)
        if not atomic:
            Path(target).replace(place)

    def create(self, path: str) -> Any:  # noqa: ANN401 - pyarrow has no types
        """A stream to write a file of any size to."""
        system, place = self.place(path)
        _make_directory(system, place)
        return self._created(system, place)

    def _created(self, system: Any, place: str) -> Any:  # noqa: ANN401 - pyarrow has no types
        if isinstance(system, pafs.LocalFileSystem):
            # pyarrow would let everybody read it; it keeps the permissions of a file that is there.
            handle = os.open(place, os.O_CREAT | os.O_WRONLY, PRIVATE)
            try:
                os.fchmod(handle, self.mode)
            finally:
                os.close(handle)
        return system.open_output_stream(place)

    def move(self, source: str, target: str) -> None:
        """Give a file another name."""
        system, place = self.place(target)
        _make_directory(system, place)
        system.move(self.place(source)[1], place)

    def delete(self, path: str) -> None:
        """Remove a file; one that is gone already is fine."""
        system, place = self.place(path)
        try:
            system.delete_file(place)
        except FileNotFoundError:
            return

    def delete_tree(self, path: str) -> None:
        """Remove a directory with all below it."""
        system, place = self.place(path)
        found = system.get_file_info(pafs.FileSelector(place, recursive=True, allow_not_found=True))
        for info in found:
            if info.is_file:
                system.delete_file(info.path)
        below = sorted((info.path for info in found if not info.is_file), key=len, reverse=True)
        for directory in (*below, place):
            # An object store has no directory once its objects are gone, or a marker that may as well stay.
            with suppress(OSError):
                system.delete_dir(directory)


@contextmanager
def writing(store: Store, then: str) -> Iterator[None]:
    """Say in one sentence that a disk is full or turned read-only; `then` is what became of the tables."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        refusal = StoreError.of(store.uri, error, then)
        if refusal is None:
            raise
        raise refusal from error


def checked_store(uri: str, *, role: str) -> Store:
    """The store behind a URI; one sentence when it cannot be reached."""
    try:
        store = Store(uri)
        store.kind()
    except (OSError, ValueError, pa.ArrowException) as error:
        remedy = "check the address, the network and the credentials" if is_remote(uri) else "check its name"
        raise InputError(f"{role} {uri} cannot be reached: {first_line(error)}; {remedy}.") from error
    return store


def first_line(error: BaseException) -> str:
    """What went wrong, without the layers below; the first line about a Java exception says nothing yet."""
    lines = str(getattr(error, "strerror", None) or error).strip().splitlines() or [type(error).__name__]
    first = next((line for line in lines if not line.startswith("An error occurred while calling")), lines[0])
    return first.lstrip(": ").rstrip(".")


def is_remote(path: str) -> bool:
    """True if a path is the URI of something that Python's own files cannot open."""
    return "://" in path and not path.startswith("file://")


def open_location(location: str) -> BinaryIO:
    """A remote file by its whole URI."""
    root, _, name = location.rpartition("/")
    store = Store(root)
    return Ranges(store.open(name), lambda: store.stored(name).mtime_ms)


class Ranges(RandomAccess):
    """A file by byte ranges that end where it does: stores refuse a range that begins at the end."""

    def __init__(self, file: Any, mtime_ms: Callable[[], int]) -> None:  # noqa: ANN401 - pyarrow has no types
        super().__init__(file.size())
        self._file, self._mtime_ms = file, mtime_ms
        self._stamp: Stamp | None = None

    def stamp(self) -> Stamp:
        """Size and time of change when it was asked first: each answer is a request."""
        self._stamp = self._stamp or Stamp(self._size, self._mtime_ms() * 1_000_000)
        return self._stamp

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes."""
        left = self._size - self._at
        wanted = left if size < 0 else min(size, left)
        data: bytes = self._file.read_at(wanted, self._at) if wanted > 0 else b""
        self._at += len(data)
        return data

    def close(self) -> None:
        """Let the store go."""
        self._file.close()
        super().close()


def _stored(info: Any, root: str) -> StoredFile:  # noqa: ANN401 - pyarrow has no types
    mtime_ms = 0 if info.mtime_ns is None else info.mtime_ns // 1_000_000
    return StoredFile(path=info.path[len(root.rstrip("/")) + 1 :], size=info.size or 0, mtime_ms=mtime_ms)


def _make_directory(system: Any, place: str) -> None:  # noqa: ANN401
    if isinstance(system, pafs.LocalFileSystem | pafs.HadoopFileSystem):
        system.create_dir(place.rpartition("/")[0], recursive=True)


@cache
def _resolved(uri: str) -> tuple[Any, str]:
    # The file system of a URI and the path in it; made once in each process.
    scheme, separator, _ = uri.partition("://")
    if not separator:
        return pafs.LocalFileSystem(), str(Path(uri).absolute())
    known = ALIASES.get(scheme, scheme)
    if known not in SCHEMES:
        raise ValueError(f"{scheme}:// is not known; use a local path or one of {', '.join(SCHEMES)}")
    if known == "s3":
        return _s3(uri)
    system, path = pafs.FileSystem.from_uri(known + uri[len(scheme) :])
    return system, path


def _s3(uri: str) -> tuple[Any, str]:
    # Amazon's store or one that speaks like it; credentials come from where the AWS tools look for them.
    parts = urlsplit(uri)
    settings: dict[str, Any] = {**s3_settings(uri)}
    # Small files are sent in one request instead of three.
    settings["allow_delayed_open"] = True
    return pafs.S3FileSystem(**settings), f"{parts.netloc}{parts.path}".rstrip("/")


@cache
def s3_settings(uri: str) -> Mapping[str, str]:
    """Region, and where it is not Amazon's own the server, of an S3 URI."""
    parts = urlsplit(uri)
    asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    endpoint = asked.get("endpoint_override") or _environment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    region = asked.get("region") or _environment("AWS_REGION", "AWS_DEFAULT_REGION")
    if endpoint:
        scheme, _, host = endpoint.rpartition("://")
        server = {"endpoint_override": host, "scheme": asked.get("scheme") or scheme or "https"}
        return {"region": region or "us-east-1", **server}
    return {"region": region or pafs.resolve_s3_region(parts.netloc)}


def _environment(*names: str) -> str | None:
    return next(filter(None, map(os.environ.get, names)), None)
