"""The directory layout of the tables: `incidents/date=2026-11-20/cluster=payments/part-….parquet`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import quote, unquote

import pyarrow as pa
from msgspec import Struct

from rebalance_forensics.job.lake.intervals import date_text, day_of
from rebalance_forensics.pipeline.inputs.stores import Store, StoreError, checked_store, first_line
from rebalance_forensics.pipeline.refusals import InputError


def output_store(store: Store) -> Store:
    """The store of the tables, checked to be writable."""
    uri = store.uri
    checked_store(uri, role="--output")
    if store.kind() == "file":
        raise InputError(f"--output {uri} is a file; name a directory.")
    try:
        store.write(f"{WORK}/probe", b"")
    except (OSError, pa.ArrowException) as error:
        sentence = f"--output {uri} cannot be written: {first_line(error)}; check its permissions."
        raise StoreError.of(uri, error, "the tables are unchanged") or InputError(sentence) from error
    # Permission to delete is not required.
    with suppress(OSError):
        store.delete(f"{WORK}/probe")
    return store


# Files that a run has written but not yet published.
WORK = "_work"
# Messages waiting to be sent.
OUTBOX = "_alerts"
EVERY_CLUSTER = "*"

Partition = tuple[int, str]
"""Date and cluster."""


def directory_of(table: str, day: int, cluster: str) -> str:
    """The directory of one partition, with the cluster's name as Hive escapes it."""
    return f"{table}/date={date_text(day)}/cluster={quote(cluster, safe=' ')}"


def partition_of(path: str) -> tuple[str, int, str] | None:
    """Table, date and cluster of a file or directory of a partition; None for any other path."""
    parts = path.split("/")
    if len(parts) < 3 or not parts[1].startswith("date=") or not parts[2].startswith("cluster="):
        return None
    return parts[0], day_of(parts[1].removeprefix("date=")), unquote(parts[2].removeprefix("cluster="))


class DataFile(Struct, frozen=True, kw_only=True):
    """One Parquet file of a table."""

    path: str
    size: int
    rows: int | None = None
    """None if an earlier release wrote it."""

    @property
    def stats(self) -> str:
        """The statistics for Delta's readers."""
        return json.dumps({} if self.rows is None else {"numRecords": self.rows})

    @property
    def partition(self) -> Partition:
        """The date and cluster of its rows."""
        known = partition_of(self.path)
        assert known
        return known[1:]


def work_of(scope: str, run: str) -> str:
    """The directory of a run's unfinished files."""
    return f"{WORK}/{quote(scope, safe='')}/{run}"


def unfinished_runs(store: Store, scope: str) -> Sequence[str]:
    """Runs of this scope that were stopped before they finished."""
    return store.directories(f"{WORK}/{quote(scope, safe='')}")


@contextmanager
def undamaged(uri: str, path: str) -> Iterator[None]:
    """Convert an error about a damaged file of ours to an InputError."""
    # Arrow reports an invalid footer, page or text by exceptions that are also a ValueError, KeyError or TypeError, or
    # by an OSError without errno; an OSError with errno is about the location, not the file. Errors of object stores
    # have no errno either, so the sentence does not claim that the file is damaged.
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, AttributeError, NotImplementedError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"--output {uri}: {path} cannot be read: {problem}; if it was damaged, restore it or name another --output."
        ) from error


def batches_of(
    store: Store, path: str, columns: Sequence[str] | None = None, *, part: int = 0, parts: int = 1
) -> Iterator[pa.RecordBatch]:
    """The rows of one of our Parquet files in batches, or of each `parts`-th row group from `part` on.

    InputError if the file is damaged.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - only where tables are read

    with undamaged(store.uri, path), store.open(path) as stream:
        file = pq.ParquetFile(stream, page_checksum_verification=True)
        groups = range(part, file.metadata.num_row_groups, parts)
        of_groups = missing = sum(file.metadata.row_group(number).num_rows for number in groups)
        present = columns and [name for name in columns if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=4096, row_groups=list(groups), columns=present):
            # Parquet does not validate text.
            batch.validate(full=True)
            missing -= batch.num_rows
            yield batch
        if missing:
            # The header of a page has no checksum, and a damaged one may hide the page.
            raise ValueError(f"{missing} of its {of_groups} rows are missing")
