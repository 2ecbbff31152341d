"""The files of an input, wherever it lies, and who scans which of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from rebalance_forensics.pipeline.options import DEFAULT_CLUSTER, AnalyzeOptions
from rebalance_forensics.pipeline.planning import ReadPlan, deal, printable
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.layout import WORK
from rebalance_forensics.pipeline.tables.stores import Store, checked_store, first_line, is_remote, open_location
from rebalance_forensics.sources.files import InputFile, discover, discover_stored
from rebalance_forensics.sources.opening import open_remote_with
from rebalance_forensics.sources.profile import profiles
from rebalance_forensics.sources.splits import plan

TASK_BYTES = 256 << 20
"""A task is worth starting for this much; small files are read many in one."""


@dataclass(slots=True)
class Listing:
    """What there is to read."""

    files: list[InputFile] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    etags: dict[str, str] = field(default_factory=dict)
    """By location."""


def list_inputs(given: Sequence[str]) -> Listing:
    """Every file under every input; with several inputs, paths start with the last part of the input's name."""
    local = [path.removeprefix("file://") for path in given if not is_remote(path)]
    listing = Listing()
    if local:
        found = discover(local)
        listing.files.extend(replace(file, path=printable(file.path)) for file in found.files)
        listing.errors.extend((printable(path), printable(sentence)) for path, sentence in found.errors)
    for uri in filter(is_remote, given):
        _add_stored(listing, uri, uri.rstrip("/").rpartition("/")[2] if len(given) > 1 else "")
    listing.files.sort(key=lambda file: (file.path, file.location))
    return listing


def _add_stored(listing: Listing, uri: str, name: str) -> None:
    """The files below a URI; an object that is gone by the time it is opened is named like one that cannot be read."""
    open_remote_with(open_location)
    store = checked_store(uri, role="--input")
    base = uri.rstrip("/")
    try:
        stored = store.files()
    except OSError as error:
        raise InputError(f"--input {uri} cannot be listed: {first_line(error)}; check name and credentials.") from error
    for file in stored:
        path = "/".join(filter(None, (name, file.path)))
        found = discover_stored(f"{base}/{file.path}", path, size=file.size, mtime_ms=file.mtime_ms)
        listing.files.extend(found.files)
        listing.errors.extend(found.errors)


def refuse_missing_inputs(given: Sequence[str]) -> None:
    """An input that is not there is a slip of the pen."""
    for path in given:
        store = checked_store(path, role="--input")
        if store.kind() == "nothing" and not is_remote(path):
            raise InputError(f"--input {path}: no such file or directory.")


def plan_scan(
    listing: Listing, fresh: Collection[str], options: AnalyzeOptions, *, per_directory: bool, workers: int
) -> ReadPlan:
    """Who reads which part of the fresh files; their neighbours are looked at, for they tell of each other."""
    directories = {path.rpartition("/")[0] for path in fresh}
    near = tuple(file for file in listing.files if file.path.rpartition("/")[0] in directories)
    looked_at = profiles(near, options.zones)
    chosen = [(file, found) for file, found in zip(near, looked_at, strict=True) if file.path in fresh]
    files = tuple(file for file, _ in chosen)
    found = tuple(each for _, each in chosen)
    splits = plan(files, found, options.split_bytes)
    total = sum(file.size for file in files)
    return ReadPlan(
        files=files,
        profiles=found,
        errors=tuple(listing.errors),
        portions=deal(splits, max(workers, -(-total // TASK_BYTES))),
        reading=Reading(
            cluster=options.cluster or DEFAULT_CLUSTER,
            cluster_per_directory=per_directory,
            shards=(0,),
            patterns=options.patterns,
        ),
    )


def output_store(uri: str) -> Store:
    """The store of the tables, known to be writable."""
    store = checked_store(uri, role="--output")
    if store.kind() == "file":
        raise InputError(f"--output {uri} is a file; name a directory.")
    try:
        store.write(f"{WORK}/probe", b"")
        store.delete(f"{WORK}/probe")
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"--output {uri} cannot be written: {first_line(error)}; check its permissions.") from error
    return store
