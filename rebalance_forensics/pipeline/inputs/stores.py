"""Stores of tables and logs: directories and object stores, through pyarrow's file systems."""

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
"""Hadoop's URI schemes for stores, and pyarrow's."""
SCHEMES = ("file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")


_REMEDIES = {
    errno.ENOSPC: "make room there, or name another --output",
    errno.EDQUOT: "raise the quota, or name another --output",
    errno.EROFS: "mount it for writing, or name another --output",
    errno.EACCES: "let this user write there",
    errno.EPERM: "let this user write there",
}


class StoreError(InputError):
    """The tables could not be written; the message is the sentence to show."""

    @classmethod
    def of(cls, uri: str, error: BaseException, then: str) -> StoreError | None:
        """The error with the store, the problem, the consequence and the remedy; None if writing did not fail."""
        # Spark reports errors of its tasks only as tracebacks, delta-rs as messages of Rust.
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
    """A directory in a file system, given by a URI or a local path; can be sent to workers."""

    uri: str
    mode: int = PRIVATE
    """Permissions of new files in a local file system; private by default, since they contain lines of logs."""

    @property
    def hadoop_name(self) -> str:
        """The store's URI for Hadoop and Spark."""
        uri = self.uri.rstrip("/")
        return f"s3a{uri[2:]}" if uri.startswith("s3://") else uri

    def place(self, path: str = "") -> tuple[Any, str]:
        """The file system, and the path in it."""
        system, root = _resolved(self.uri)
        return system, f"{root.rstrip('/')}/{path}".rstrip("/") if path else root

    def local_path(self, path: str) -> Path | None:
        """The path on this machine; None if the store is not a local directory."""
        system, place = self.place(path)
        return Path(place) if isinstance(system, pafs.LocalFileSystem) else None

    def files(self, below: str = "") -> Sequence[StoredFile]:
        """Every file below a directory, by path; empty if the directory does not exist."""
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
        """The names of the directories directly below one."""
        system, start = self.place(below)
        selector = pafs.FileSelector(start, allow_not_found=True)
        return sorted(info.base_name for info in system.get_file_info(selector) if info.type == pafs.FileType.Directory)

    def kind(self, path: str = "") -> str:
        """`file`, `directory` or `nothing`."""
        system, place = self.place(path)
        kind = system.get_file_info(place).type
        return {pafs.FileType.File: "file", pafs.FileType.Directory: "directory"}.get(kind, "nothing")

    def read(self, path: str) -> bytes:
        """The contents of a file."""
        system, place = self.place(path)
        with system.open_input_stream(place) as stream:
            return cast("bytes", stream.read())

    def open(self, path: str) -> BinaryIO:
        """A file opened for random access by byte ranges."""
        system, place = self.place(path)
        return cast("BinaryIO", system.open_input_file(place))

    def write(self, path: str, data: bytes) -> None:
        """Write a file atomically: objects appear only when complete, local files by renaming."""
        system, place = self.place(path)
        _make_directory(system, place)
        atomic = not isinstance(system, pafs.LocalFileSystem)
        target = place if atomic else f"{place}.{uuid4().hex[:8]}.part"
        with self._created(system, target) as stream:
            stream.write(data)
        if not atomic:
            Path(target).replace(place)

    def create(self, path: str) -> Any:  # noqa: ANN401 - pyarrow has no types
        """A stream that writes a file of any size."""
        system, place = self.place(path)
        _make_directory(system, place)
        return self._created(system, place)

    def _created(self, system: Any, place: str) -> Any:  # noqa: ANN401 - pyarrow has no types
        if isinstance(system, pafs.LocalFileSystem):
            # pyarrow would make it readable by everybody, but keeps the permissions of an existing file.
            handle = os.open(place, os.O_CREAT | os.O_WRONLY, PRIVATE)
            try:
                os.fchmod(handle, self.mode)
            finally:
                os.close(handle)
        return system.open_output_stream(place)

    def move(self, source: str, target: str) -> None:
        """Rename a file."""
        system, place = self.place(target)
        _make_directory(system, place)
        system.move(self.place(source)[1], place)

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""
        system, place = self.place(path)
        try:
            system.delete_file(place)
        except FileNotFoundError:
            return

    def delete_tree(self, path: str) -> None:
        """Delete a directory and everything below it."""
        system, place = self.place(path)
        found = system.get_file_info(pafs.FileSelector(place, recursive=True, allow_not_found=True))
        for info in found:
            if info.is_file:
                system.delete_file(info.path)
        below = sorted((info.path for info in found if not info.is_file), key=len, reverse=True)
        for directory in (*below, place):
            # In an object store, a directory vanishes with its objects, or leaves a marker that does no harm.
            with suppress(OSError):
                system.delete_dir(directory)


@contextmanager
def writing(store: Store, then: str) -> Iterator[None]:
    """Raise StoreError if a disk is full or read-only; `then` is the state of the tables."""
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
    """The store of a URI; raises InputError if it cannot be reached."""
    try:
        store = Store(uri)
        store.kind()
    except (OSError, ValueError, pa.ArrowException) as error:
        remedy = "check the address, the network and the credentials" if is_remote(uri) else "check its name"
        raise InputError(f"{role} {uri} cannot be reached: {first_line(error)}; {remedy}.") from error
    return store


def first_line(error: BaseException) -> str:
    """The first line of an error that describes the problem; Py4J's generic first line is skipped."""
    lines = str(getattr(error, "strerror", None) or error).strip().splitlines() or [type(error).__name__]
    first = next((line for line in lines if not line.startswith("An error occurred while calling")), lines[0])
    return first.lstrip(": ").rstrip(".")


def is_remote(path: str) -> bool:
    """True if a path is a URI that Python's `open` cannot open."""
    return "://" in path and not path.startswith("file://")


def open_location(location: str) -> BinaryIO:
    """Open a remote file by its URI."""
    root, _, name = location.rpartition("/")
    store = Store(root)
    return Ranges(store.open(name), lambda: store.stored(name).mtime_ms)


class Ranges(RandomAccess):
    """A file read by byte ranges that end with the file: stores reject a range that starts at the end."""

    def __init__(self, file: Any, mtime_ms: Callable[[], int]) -> None:  # noqa: ANN401 - pyarrow has no types
        super().__init__(file.size())
        self._file, self._mtime_ms = file, mtime_ms
        self._stamp: Stamp | None = None

    def stamp(self) -> Stamp:
        """Size and modification time, cached from the first call, which takes a request."""
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
        """Close the file in the store."""
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
    # The file system of a URI and the path in it; cached per process.
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
    # Amazon S3 or a compatible store; credentials are found as by the AWS tools.
    parts = urlsplit(uri)
    settings: dict[str, Any] = {**s3_settings(uri)}
    # Sends small files in one request instead of three.
    settings["allow_delayed_open"] = True
    return pafs.S3FileSystem(**settings), f"{parts.netloc}{parts.path}".rstrip("/")


@cache
def s3_settings(uri: str) -> Mapping[str, str]:
    """The region of an S3 URI, and the server if it is not Amazon's."""
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
