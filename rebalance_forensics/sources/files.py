"""Which files there are to read: directories, files, archives, standard input."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from rebalance_forensics.process import scratch
from rebalance_forensics.sources.codecs import Damage, codec_of
from rebalance_forensics.sources.containers import UNREADABLE, container_of, members
from rebalance_forensics.sources.opening import MAX_DEPTH, head_of, layers, opened, spooled
from rebalance_forensics.sources.own_outputs import is_own_output
from rebalance_forensics.sources.text import is_binary

_SNIFFED = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One stream of log lines: a file, or a member of an archive.

    `path` is its name in the report, `location` the outermost file; `members` leads through archives
    inside it. `size` counts the bytes as they lie on disk, packed if they are.
    """

    path: str
    location: str
    members: tuple[str, ...] = ()
    codec: str | None = None
    size: int = 0
    mtime_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """All files found, by path, one sentence for each thing that cannot be read, and the reports of earlier runs."""

    files: tuple[InputFile, ...]
    errors: tuple[tuple[str, str], ...]
    reports: tuple[str, ...] = ()


@dataclass(slots=True)
class _Search:
    files: list[InputFile] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)


def discover(paths: Sequence[str]) -> Discovery:
    """Walk what was given; nothing is skipped without a word."""
    search = _Search()
    names = _root_names(paths)
    for given, name in dict(zip(paths, names, strict=True)).items():
        if given == "-":
            _look_into(_standard_input(), "-", search)
        else:
            _walk(Path(given), name, search)
    if search.reports and not search.files and not search.errors:
        search.errors.append((search.reports[0], f"{search.reports[0]} was written by this program; name the logs"))
    unique = {(file.path, file.location, file.members): file for file in search.files}
    return Discovery(
        files=tuple(sorted(unique.values(), key=lambda file: (file.path, file.location))),
        errors=tuple(sorted(set(search.errors))),
        reports=tuple(sorted(set(search.reports))),
    )


def discover_stored(location: str, name: str, *, size: int, mtime_ms: int) -> Discovery:
    """What one file of a store holds; `location` is its URI, `name` what the report calls it."""
    search = _Search()
    try:
        with opened(location, ()) as stream:
            _sort_out(InputFile(path=name, location=location, size=size, mtime_ms=mtime_ms), stream, 0, search)
    except OSError as error:
        why = (error.strerror or str(error)).strip().splitlines()[0]
        search.errors.append((name, f"{location} cannot be read ({why}); check its permissions and that it is whole"))
    return Discovery(files=tuple(search.files), errors=tuple(search.errors))


def _root_names(paths: Sequence[str]) -> list[str]:
    """What stands before the paths under each root: nothing for one, else as much of its name as tells them apart."""
    unique = sorted(set(paths))
    if len(unique) == 1:
        return ["" for _ in paths]
    parts = {path: Path(os.path.abspath(path)).parts for path in unique}  # noqa: PTH100 - a link keeps its own name
    depth = 1
    while len({parts[path][-depth:] for path in unique}) < len(unique) and depth < max(map(len, parts.values())):
        depth += 1
    return ["/".join(parts[path][-depth:]).lstrip("/") for path in paths]


def _walk(root: Path, name: str, search: _Search) -> None:
    """Take a root: a file as it is, a directory with all below it."""
    if not root.exists():
        search.errors.append(
            (name or str(root), f"{root} does not exist; check the spelling, or quote a path with blanks")
        )
        return
    if not root.is_dir():
        _look_into(root, name or root.name, search)
        return
    found = False
    for path in _files_below(root, name, search):
        found = True
        _look_into(path, "/".join(filter(None, (name, path.relative_to(root).as_posix()))), search)
    if not found and not search.errors:
        search.errors.append(
            (name or str(root), f"{root} is a directory without any file; give the directory that holds the logs")
        )


def _files_below(root: Path, name: str, search: _Search) -> Iterator[Path]:
    """The files of a tree in the order of their names; links to directories are followed once."""

    def complain(error: OSError) -> None:
        search.errors.append(
            (
                name or str(error.filename),
                f"{error.filename} cannot be listed ({error.strerror}); check its permissions",
            )
        )

    seen: set[str] = set()
    for directory, below, names in os.walk(root, onerror=complain, followlinks=True):
        real = os.path.realpath(directory)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()
        for file in sorted(names):
            path = Path(directory, file)
            if path.is_file():
                yield path
            else:
                search.errors.append(
                    (path.relative_to(root).as_posix(), f"{path} is no regular file or a broken link; it was left out")
                )


def _standard_input() -> Path:
    """Standard input kept in a temporary file, for it is read more than once."""
    with tempfile.NamedTemporaryFile(dir=scratch.directory(), suffix=".stdin", delete=False) as spool:
        try:
            shutil.copyfileobj(sys.stdin.buffer, spool)
        except OSError as error:
            why = f"{(error.strerror or str(error)).lower()}; standard input is kept there: set TMPDIR to another place"
            raise OSError(error.errno, why, tempfile.gettempdir()) from error
    return Path(spool.name)


def _look_into(path: Path, name: str, search: _Search) -> None:
    """Take one file, or the members of the archive it is."""
    try:
        status = path.stat()
        with opened(str(path), ()) as stream:
            mtime_ms = int(time.time() * 1000) if name == "-" else status.st_mtime_ns // 1_000_000
            file = InputFile(path=name, location=str(path.absolute()), size=status.st_size, mtime_ms=mtime_ms)
            _sort_out(file, stream, 0, search)
    except PermissionError:
        search.errors.append(
            (name, f"{path} cannot be read: permission denied; run as a user who may read it, or chmod it")
        )
    except OSError as error:
        search.errors.append(
            (name, f"{path} cannot be read ({error.strerror or error}); copy it to a local disk and try again")
        )


def _sort_out(file: InputFile, stream: BinaryIO, depth: int, search: _Search) -> None:
    """Decide what a stream is: an archive, a log, or neither."""
    if not (head := head_of(stream)):
        search.files.append(file)
        return
    kind = container_of(head)
    codecs: list[str] = []
    if kind is None and codec_of(head):
        codecs, chunks = layers(stream)
        start, problem = _beginning(chunks)
        kind = container_of(start)
        if kind is None and problem and not start:
            search.errors.append((file.path, f"{file.path}: {problem}"))
            return
    else:
        start, chunks = stream.read(_SNIFFED), iter(())
    if kind:
        _descend(file, stream, depth, search)
    elif is_own_output(file.path, start):
        search.reports.append(file.path)
    elif is_binary(start):
        search.errors.append(
            (file.path, f"{file.path} is a binary file, not a log; leave it out, or export it as text")
        )
    else:
        codec = "+".join(codecs) or None
        search.files.append(
            InputFile(
                path=file.path,
                location=file.location,
                members=file.members,
                codec=codec,
                size=file.size,
                mtime_ms=file.mtime_ms,
            )
        )


def _beginning(chunks: Iterator[bytes]) -> tuple[bytes, str | None]:
    """The first bytes inside the wrappings, and why there are no more."""
    start = b""
    try:
        for chunk in chunks:
            start += chunk[: _SNIFFED - len(start)]
            if len(start) >= _SNIFFED:
                break
    except Damage as damage:
        return start, str(damage)
    return start, None


def _descend(file: InputFile, stream: BinaryIO, depth: int, search: _Search) -> None:
    """Take the members of an archive; what cannot be read is named and the rest is taken."""
    if depth >= MAX_DEPTH:
        sentence = f"archives are nested more than {MAX_DEPTH} deep here; unpack the outer ones and give the directory"
        search.errors.append((file.path, f"{file.path}: {sentence}"))
        return
    with ExitStack() as stack:
        archive = stream
        if codec_of(head_of(stream)):
            archive, problem = spooled(layers(stream)[1])
            stack.enter_context(archive)
            if problem:
                search.errors.append((file.path, f"{file.path}: {problem}"))
        _take_members(file, archive, depth, search)


def _take_members(file: InputFile, archive: BinaryIO, depth: int, search: _Search) -> None:
    kind = container_of(head_of(archive))
    if kind is None:
        return
    try:
        for member in members(archive, kind):
            inner = InputFile(
                path=f"{file.path}!/{member.name}",
                location=file.location,
                members=(*file.members, member.key),
                size=member.size,
                mtime_ms=member.mtime_ms,
            )
            _take_member(inner, member.problem, depth, search)
    except UNREADABLE as error:
        sentence = f"the {kind} archive is damaged ({error}); the members before that were read"
        search.errors.append((file.path, f"{file.path}: {sentence}"))


def _take_member(inner: InputFile, problem: str | None, depth: int, search: _Search) -> None:
    if problem:
        search.errors.append((inner.path, f"{inner.path} {problem}"))
        return
    try:
        with opened(inner.location, inner.members) as stream:
            _sort_out(inner, stream, depth + 1, search)
    except UNREADABLE as error:
        search.errors.append((inner.path, f"{inner.path} cannot be read ({error}); the other members were"))
