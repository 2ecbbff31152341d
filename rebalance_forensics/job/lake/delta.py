"""Reads and writes the Delta logs of the tables with delta-rs; tasks write and read the data files themselves."""

# delta-rs's data path took twice the CPU and ten times the memory of pyarrow's writer, and its threads do not survive
# the fork that creates Python workers. So only the driver uses it, and only for logs.

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.layout import DataFile, partition_of, undamaged
from rebalance_forensics.job.lake.object_stores import address_of, options_of
from rebalance_forensics.pipeline.inputs.stores import Store, StoredFile, StoreError, first_line
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.schemas import Table, with_partitions

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction

PARTITIONS = ["date", "cluster"]
CHECKPOINT_EVERY = 10
# Table properties that Delta's own writers and VACUUM also respect; the owner of the tables may change them.
_PROPERTIES = {
    "delta.checkpointInterval": str(CHECKPOINT_EVERY),
    # How long a reader may continue to use a version after a run has replaced its files.
    "delta.deletedFileRetentionDuration": "interval 1 days",
    "delta.logRetentionDuration": "interval 7 days",
}
_APP = "rebalance-forensics"
# delta-rs has no exception class for a log with a truncated, overwritten or deleted file.
_DAMAGED = re.compile(r"\b(?:[Jj]son|[Pp]arquet) error|No table metadata or protocol found|No files in log segment")


class Overtaken(Exception):  # noqa: N818 - two runs side by side are no error
    """Another writer committed to the table after its log was read."""


@dataclass(kw_only=True)
class TableLog:
    """The log of one table up to one version."""

    store: Store
    table: Table
    delta: DeltaTable

    @classmethod
    def open(cls, store: Store, table: Table, version: int | None = None) -> TableLog | None:
        """The newest version, or an earlier one; None if it does not exist."""
        with _one_sentence(store, table, "read"):
            listing = tuple(store.files(f"{table.name}/_delta_log"))
            newest = f"{table.name}/_delta_log/{version or 0:020}.json" == max(
                (file.path for file in listing if file.path.endswith(".json")), default=None
            )
            return _opened(store, table, listing, None if newest else version)

    @classmethod
    def to_write(cls, store: Store, table: Table, note: str) -> TableLog:
        """The newest version of a table, with all columns of this release; `note` is written to the log."""
        schema, rs = with_partitions(table), _deltalake()
        properties = rs.CommitProperties({"userMetadata": note}, 0)
        log = cls.open(store, table)
        with _one_sentence(store, table, "written"):
            if log is None:
                if directory := store.local_path(f"{table.name}/_delta_log"):
                    directory.mkdir(parents=True, exist_ok=True)
                address, options = _opening(store, table)
                delta = rs.DeltaTable.create(
                    address, schema, mode="ignore", partition_by=PARTITIONS, configuration=_PROPERTIES,
                    storage_options=options, commit_properties=properties,
                )  # fmt: skip
                log = cls(store=store, table=table, delta=delta)
                log.own(f"{0:020}.json")
            protocol = log.delta.protocol()
            if protocol.min_reader_version > 1:
                # Deletion vectors hide rows of files that the job reads whole; mapped columns are renamed in files.
                raise InputError(
                    f"--output {store.uri}: the table {table.name} was given features by which its files are read "
                    f"otherwise ({', '.join(protocol.reader_features or ()) or 'column mapping'}); restore an earlier "
                    "version of it, or drop the features."
                )
            known = {field.name for field in log.delta.schema().fields}
            added = pa.schema([field for field in schema if field.name not in known])
            if added:
                fields = rs.Schema.from_arrow(added).fields
                log.delta.alter.add_columns(fields, commit_properties=properties)
                log = cls.to_write(store, table, note)
        return log

    @property
    def version(self) -> int:
        """The version, counted from 0."""
        return self.delta.version()

    @cached_property
    def files(self) -> Mapping[str, DataFile]:
        """The files of the version, by path."""
        with _one_sentence(self.store, self.table, "read"):
            actions = pa.table(self.delta.get_add_actions(flatten=True)).to_pylist()
        found = (
            DataFile(
                path=f"{self.table.name}/{unquote(action['path'])}",
                size=action["size_bytes"],
                rows=action.get("num_records"),
            )
            for action in actions
        )
        return {file.path: file for file in sorted(found, key=lambda file: file.path)}

    def commits(self, after: int = -1) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The metadata of each commit up to this version, newest first, as far back as the log goes."""
        # delta-rs numbers its history from this version on, regardless of later commits.
        for version in range(self.version, after, -1):
            path = f"{self.table.name}/_delta_log/{version:020}.json"
            try:
                lines = self.store.read(path).splitlines()
            except FileNotFoundError:
                return
            with undamaged(self.store.uri, path):
                actions = (json.loads(line) for line in lines)
                yield version, next((action["commitInfo"] for action in actions if "commitInfo" in action), {})

    def replace(self, wanted: Mapping[str, DataFile], *, turn: int, note: str, always: bool = False) -> int:
        """Make the table consist of these files; returns its new version, or this one if nothing differs.

        `turn` counts the runs that write: a run that is late finds a later turn in the log and raises Overtaken.
        """
        arriving = [file for path, file in sorted(wanted.items()) if path not in self.files]
        leaving = [file for path, file in self.files.items() if path not in wanted]
        if not (arriving or leaving or always):
            return self.version
        if (self.delta.transaction_version(_APP) or 0) > turn:
            raise Overtaken
        now, below, rs = int(time.time() * 1000), len(self.table.name) + 1, _deltalake()
        add, remove = rs.transaction.AddAction, rs.transaction.RemoveAction
        actions: list[AddAction | RemoveAction] = [
            *(add(f.path[below:], f.size, _values(f.path), now, True, f.stats) for f in arriving),  # noqa: FBT003
            *(remove(f.path[below:], True, now, f.size, _values(f.path)) for f in leaving),
        ]
        # Without retries, because delta-rs would apply the same actions on top of another writer's commit.
        properties = rs.CommitProperties({"userMetadata": note}, 0, [rs.Transaction(_APP, turn)])
        hooks = rs.PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
        with _one_sentence(self.store, self.table, "written"):
            try:
                self.delta.create_write_transaction(
                    actions, "append", with_partitions(self.table), PARTITIONS,
                    commit_properties=properties, post_commithook_properties=hooks,
                )  # fmt: skip
            except rs.exceptions.CommitFailedError as conflict:
                raise Overtaken from conflict
        self.own(f"{self.version + 1:020}.json")
        return self.version + 1

    def tidy(self, unfinished: Iterable[str]) -> None:
        """Write a checkpoint, and delete old log entries and files that neither readers nor these runs need."""
        with _one_sentence(self.store, self.table, "written"):
            self.delta.create_checkpoint()
            self.own(f"{self.version:020}.checkpoint.parquet", "_last_checkpoint")
            self.delta.cleanup_metadata()
            # delta-rs only lists the files: its own deletion would add two commits to each log.
            unneeded = self.delta.vacuum(dry_run=True, full=True)
        for path in unneeded:
            if not any(f"/part-{run}" in path for run in unfinished):
                self.store.delete(f"{self.table.name}/{path}")

    def own(self, *names: str) -> None:
        """Give files of the log the same permissions as all others, if they are in a file system."""
        for name in names:
            if path := self.store.local_path(f"{self.table.name}/_delta_log/{name}"):
                with suppress(FileNotFoundError):
                    path.chmod(self.store.mode)


@lru_cache(maxsize=32)
def _opened(store: Store, table: Table, _listing: tuple[StoredFile, ...], version: int | None) -> TableLog | None:
    # Opening a log takes 3 ms of CPU and some requests, so it is cached as long as its files are the same: a run needs
    # that of `runs` five times, and a stream begins each run with the logs of the previous one.
    rs, (address, options) = _deltalake(), _opening(store, table)
    try:
        delta = rs.DeltaTable(address, version=version, storage_options=options)
    except rs.exceptions.TableNotFoundError:
        return None
    except rs.exceptions.DeltaError:
        # A missing version has no exception class of its own.
        if version is None or TableLog.open(store, table) is None:
            raise
        return None
    return TableLog(store=store, table=table, delta=delta)


def is_newest(store: Store, table: Table, version: int) -> bool:
    """True if nothing was committed to a table since a version; a single request instead of opening its log."""
    return store.kind(f"{table.name}/_delta_log/{version + 1:020}.json") == "nothing"


def _deltalake() -> ModuleType:
    # Executors also import this module, with the steps of a run, and do not need a library of 129 MB.
    try:
        import deltalake.exceptions  # noqa: PLC0415
        import deltalake.transaction  # noqa: PLC0415
    except ImportError as error:
        raise InputError("the job's tables need the package deltalake; run pip install 'deltalake>=1.6,<2'.") from error
    return deltalake


def _values(path: str) -> dict[str, str | None]:
    known = partition_of(path)
    assert known
    return {"date": date_text(known[1]), "cluster": known[2]}


def _opening(store: Store, table: Table) -> tuple[str, dict[str, str]]:
    # The address of a table for delta-rs, and its options.
    local = store.local_path(table.name)
    return (str(local), {}) if local else (address_of(store, table.name), dict(options_of(store)))


@contextmanager
def _one_sentence(store: Store, table: Table, done: str) -> Iterator[None]:
    # Errors of delta-rs list the attempts of all its layers on many lines.
    try:
        yield
    except (_deltalake().exceptions.DeltaError, OSError, ValueError) as error:
        problem = first_line(error).partition(" -> ")[2] or first_line(error)
        if _DAMAGED.search(problem):
            problem = (
                f"it is damaged; restore {table.name}/_delta_log, or name another --output and run over the intervals "
                "again"
            )
        sentence = f"--output {store.uri}: the log of the table {table.name} cannot be {done}: {problem}."
        raise StoreError.of(store.uri, error, "the next run makes up for it") or InputError(sentence) from error
