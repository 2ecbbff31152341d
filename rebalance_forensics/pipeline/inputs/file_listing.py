"""Lists the files of the inputs, in directories and object stores, without opening them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rebalance_forensics.pipeline.inputs.stores import Store, checked_store, first_line, is_remote
from rebalance_forensics.pipeline.read_plan import is_there, printable
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.sources.files.contents import Unreadable
from rebalance_forensics.sources.files.places import files_below, special


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One file of a directory or store. `path` is its name in the tables, `location` the name to open it by."""

    path: str
    location: str
    size: int
    mtime_ms: int
    changed_ms: int | None = None
    """When its inode changed; None in stores without inodes."""

    @property
    def etag(self) -> str:
        """A value that changes whenever the file does."""
        return f"{self.mtime_ms}-{self.size}"


@dataclass(slots=True)
class Listing:
    """The files found, and a sentence for everything that cannot be listed."""

    files: list[Listed] = field(default_factory=list)
    errors: list[Unreadable] = field(default_factory=list)
    ages: dict[str, int] = field(default_factory=dict)
    """The modification times, in epoch ms, of what cannot be listed, by path in `errors`."""

    def fail(self, name: str, place: str, sentence: str) -> None:
        """Record a file or directory that cannot be listed."""
        self.errors.append(Unreadable(name, sentence))
        with suppress(OSError):
            self.ages[name] = os.lstat(place).st_mtime_ns // 1_000_000

    def age_of(self, path: str) -> int:
        """The modification time, in epoch ms, of a path or of the archive that contains it; 0 if unknown."""
        known = {file.path: file.mtime_ms for file in self.files} | self.ages
        return known.get(path, known.get(path.partition("!/")[0], 0))


def list_inputs(given: Sequence[str], *, besides: str | None = None) -> Listing:
    """Every file under every input; with several inputs, paths start with as much of the input's name as differs."""
    # Files below `besides`, a directory or prefix within an input, are left out.
    listing = Listing()
    for root, name in dict(zip(given, _names(given), strict=True)).items():
        if is_remote(root):
            _add_stored(listing, root, name)
        else:
            _add_local(listing, Path(_local(root)), name)
    listing.files = sorted(
        {(f.path, f.location): f for f in listing.files}.values(), key=lambda f: (f.path, f.location)
    )
    if besides is not None and any(lies_within(besides, root) for root in given):
        listing.files = [file for file in listing.files if not lies_within(file.location, besides)]
    listing.errors = sorted(set(listing.errors))
    return listing


def lies_within(place: str, directory: str) -> bool:
    """True if a file or directory is anywhere below another directory."""
    inner, outer = (_real(each).rstrip("/") for each in (place, directory))
    return inner.startswith(f"{outer}/")


def _real(place: str) -> str:
    return place if is_remote(place) else os.path.realpath(place.removeprefix("file://"))


def _names(given: Sequence[str]) -> list[str]:
    """The prefix for the paths under each input."""
    unique = sorted(set(given))
    if len(unique) == 1:
        return ["" for _ in given]
    parts = {root: [part for part in _local(root).rstrip("/").split("/") if part] for root in unique}
    depth = 1
    while len({tuple(parts[root][-depth:]) for root in unique}) < len(unique) and depth < max(map(len, parts.values())):
        depth += 1
    return ["/".join(parts[root][-depth:]) for root in given]


def _local(root: str) -> str:
    return root if is_remote(root) else os.path.abspath(root.removeprefix("file://"))  # noqa: PTH100 - links stay links


def _add_stored(listing: Listing, uri: str, name: str) -> None:
    store = checked_store(uri, role="--input")
    base, _, last = uri.rstrip("/").rpartition("/")
    try:
        is_single = store.kind() == "file"
        stored = [Store(base).stored(last)] if is_single else store.files()
    except OSError as error:
        raise InputError(f"--input {uri} cannot be listed: {first_line(error)}; check name and credentials.") from error
    for file in stored:
        path = (name or last) if is_single else "/".join(filter(None, (name, file.path)))
        location = f"{base if is_single else uri.rstrip('/')}/{file.path}"
        listing.files.append(Listed(path=path, location=location, size=file.size, mtime_ms=file.mtime_ms))


def _add_local(listing: Listing, root: Path, name: str) -> None:
    if not root.is_dir():
        _add_file(listing, root, name or root.name)
        return

    def unlisted(error: OSError) -> None:
        name = printable(str(error.filename))
        listing.fail(name, str(error.filename), f"{name} cannot be listed ({error.strerror}); check its permissions")

    # `_add_file` reports pipes, devices and dangling links.
    for path in files_below(root, unlisted):
        _add_file(listing, path, "/".join(filter(None, (name, path.relative_to(root).as_posix()))))


def _add_file(listing: Listing, path: Path, name: str) -> None:
    name = printable(name)
    try:
        status = path.stat()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        sentence = f"{printable(str(path))} cannot be read ({why}); check that it is still there"
        listing.fail(name, str(path), sentence)
        return
    if kind := special(status.st_mode):
        listing.fail(name, str(path), f"{printable(str(path))} is {kind}, not a file; it was left out")
        return
    mtime_ms, changed_ms = status.st_mtime_ns // 1_000_000, status.st_ctime_ns // 1_000_000
    listing.files.append(
        Listed(path=name, location=str(path), size=status.st_size, mtime_ms=mtime_ms, changed_ms=changed_ms)
    )


def refuse_missing_inputs(given: Sequence[str]) -> None:
    """Raise InputError for an input that does not exist: it is misspelled."""
    for path in given:
        checked_store(path, role="--input")
        if not is_remote(path) and not is_there(_local(path)):
            raise InputError(f"--input {path}: no such file or directory.")
