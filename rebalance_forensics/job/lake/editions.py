"""Editions: consistent versions of all tables after a run. The commit of `runs` comes last and names them."""

# Delta's transactions cover single tables. Readers that use the versions named by a commit of `runs` see a run
# completely or not at all. Commits of a killed run are named by no edition, and the next run undoes them: each of its
# commits sets a table to its state in the previous edition, with the run's own partitions replaced.

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.job.lake.delta import CHECKPOINT_EVERY, Overtaken, TableLog, is_newest
from rebalance_forensics.job.lake.intervals import Coverage, Interval
from rebalance_forensics.job.lake.layout import (
    EVERY_CLUSTER,
    OUTBOX,
    WORK,
    DataFile,
    Partition,
    batches_of,
    partition_of,
    undamaged,
    unfinished_runs,
    work_of,
)
from rebalance_forensics.pipeline.inputs.stores import Store, checked_store, first_line
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.schemas import BY_NAME, RUNS, SCHEMA_VERSION, Cells, Table

MARK = "_schema.json"
_PLAIN_VERSION = 1
# Plain Parquet tables of earlier releases had these instead of a log.
_COVERAGE, _STOCK, _COPIES = "_coverage", "_stock", "_lake"
Confirm = Callable[[], None]
"""Raises if another run may own the tables by now."""


class Named(Struct, frozen=True, kw_only=True):
    """The `userMetadata` of a run's commit; commits of tables other than `runs` only name the run."""

    run: str
    versions: Mapping[str, int] = {}
    """Table -> version, except for `runs`, whose version is that of the commit."""
    covered: Mapping[str, Sequence[tuple[int, int]]] = {}
    """Scope -> the intervals of all its runs."""
    listed_ms: Mapping[str, int] = {}
    """Scope -> when its last run listed its input."""
    unexplained: Mapping[str, Sequence[int]] = {}
    """Scope -> dates on which a group had more events than a task could hold; each run retries them."""
    incomplete: Mapping[str, Sequence[int]] = {}
    """Scope -> dates with events that remain lost, see `Losses`."""
    unsent: Sequence[str] = ()
    """Runs whose messages may still be waiting."""


@dataclass(kw_only=True)
class Edition:
    """The tables after one run; the lists of their files are read on demand."""

    store: Store
    named: Named
    version: int | None = None
    """The version of `runs`; None before the first run."""
    known: dict[str, Mapping[str, DataFile]] = field(default_factory=dict)

    def version_of(self, table: Table) -> int | None:
        """The version of a table."""
        return self.version if table is RUNS else self.named.versions.get(table.name)

    def files(self, table: Table) -> Mapping[str, DataFile]:
        """The files of a table, by path."""
        if table.name not in self.known:
            self.known[table.name] = self.files_at(table, self.version_of(table)) or {}
        return self.known[table.name]

    def files_at(self, table: Table, version: int | None) -> Mapping[str, DataFile]:
        """The files of a table in a version."""
        if version is None:
            return {}
        log = TableLog.open(self.store, table, version)
        if log is None:
            raise InputError(
                f"--output {self.store.uri}: version {version} of the table {table.name} is not in its log any more; "
                f"take the newest versions, and where these are the newest, restore {table.name}/_delta_log."
            )
        return log.files

    def partitions(self, table: Table, days: Iterable[int] | None, scope: str) -> dict[Partition, list[str]]:
        """The files of each partition that a run of this scope may change, for these dates (None: all)."""
        wanted = None if days is None else set(days)
        found: dict[Partition, list[str]] = {}
        for path, file in self.files(table).items():
            day, cluster = file.partition
            if (wanted is None or day in wanted) and scope in (EVERY_CLUSTER, cluster):
                found.setdefault((day, cluster), []).append(path)
        return found

    def dates(self, table: Table, scope: str) -> set[int]:
        """The dates for which a table has rows."""
        return {day for day, _ in self.partitions(table, None, scope)}

    def rows(self, table: Table, days: Iterable[int] | None, scope: str) -> Iterator[tuple[Partition, Cells]]:
        """The rows of some partitions; those of an earlier release lack newer columns."""
        empty = dict.fromkeys(table.schema.names)
        for partition, paths in self.partitions(table, days, scope).items():
            for path in paths:
                for batch in batches_of(self.store, path):
                    yield from ((partition, empty | row) for row in batch.to_pylist())

    def coverage(self, scope: str) -> Coverage:
        """The intervals of all runs of a scope."""
        return Coverage.of(Interval(since, until) for since, until in self.named.covered.get(scope, ()))

    def overlaps(self, later: Edition, scope: str) -> bool:
        """True if a later run may have changed the same partitions."""
        before, after = self.named.listed_ms, later.named.listed_ms
        ran = {each for each in after if after[each] != before.get(each)}
        return bool(ran) if scope == EVERY_CLUSTER else not ran.isdisjoint((scope, EVERY_CLUSTER))


def edition_of(store: Store, version: int | None = None) -> Edition:
    """The newest edition, or that of a version of `runs`; an empty one before the first run."""
    log = TableLog.open(store, RUNS, version)
    if log is None and version is not None:
        raise InputError(
            f"--output {store.uri}: version {version} of the table runs is not in its log, which is kept for a week."
        )
    # Commits of other writers name no edition; a log that was cleaned up may begin with one.
    for committed, commit in log.commits() if log else ():
        named = _named(commit)
        if named and named.versions:
            return Edition(store=store, named=named, version=committed)
    if log is not None and log.files:
        raise InputError(
            f"--output {store.uri} has a table runs that is not the job's, or not any more; name another directory, or "
            "restore the table."
        )
    return _plain_edition(store) if _marked_version(store) == _PLAIN_VERSION else Edition(store=store, named=_NONE)


def written_edition(uri: str, version: int | None = None) -> Edition:
    """The edition at an address, for readers: that of the last complete run, or of an earlier one."""
    store = checked_store(uri, role="TABLES")
    if store.kind(MARK) != "file":
        raise InputError(f"{uri} holds no tables of the job; name the --output of rebalance-forensics job.")
    refuse_other_version(store)
    return edition_of(store, version)


_NONE = Named(run="")


def _named(commit: Mapping[str, object]) -> Named | None:
    try:
        return msgspec.json.decode(str(commit.get("userMetadata")), type=Named)
    except msgspec.MsgspecError:
        return None


def refuse_other_version(store: Store) -> None:
    """Refuse tables of another format version, except those without logs, which are taken over."""
    version = _marked_version(store)
    if version not in (None, _PLAIN_VERSION, SCHEMA_VERSION):
        raise InputError(
            f"--output {store.uri} holds tables of schema version {version}, this release writes {SCHEMA_VERSION}; "
            "take the release that wrote them, or name another directory and run over the intervals again."
        )


def _marked_version(store: Store) -> int | None:
    if store.kind(MARK) != "file":
        return None
    try:
        return int(json.loads(store.read(MARK))["version"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"--output {store.uri}: {MARK} cannot be read; name another directory.") from error


@dataclass(slots=True, kw_only=True)
class Draft:
    """The changes of a run: partitions that it empties, files that it adds, files that are lost."""

    base: Edition
    run: str
    scope: str
    replaced: set[tuple[str, Partition]] = field(default_factory=set)
    added: list[DataFile] = field(default_factory=list)
    lost: frozenset[str] = frozenset()
    unexplained: set[int] = field(default_factory=set)
    incomplete: frozenset[int] = frozenset()
    notes: list[str] = field(default_factory=list)

    def replace(self, table: Table, partitions: Iterable[Partition]) -> None:
        """Replace these partitions: they will contain only files of this run."""
        self.replaced.update((table.name, partition) for partition in partitions)

    def put(self, files: Iterable[str]) -> None:
        """Add files finished by PartWriter; their partitions may be new."""
        self.added += (msgspec.json.decode(text, type=DataFile) for text in files)

    def touches(self, table: Table) -> bool:
        """True if the table will change."""
        paths = (*self.lost, *(file.path for file in self.added))
        return any(name == table.name for name, _ in self.replaced) or any(
            path.startswith(f"{table.name}/") for path in paths
        )

    def wanted(self, table: Table) -> dict[str, DataFile]:
        """The files of a table after this run."""
        kept = {
            path: file
            for path, file in self.base.files(table).items()
            if path not in self.lost and (table.name, file.partition) not in self.replaced
        }
        return kept | {file.path: file for file in self.added if file.path.startswith(f"{table.name}/")}


def publish(draft: Draft, coverage: Coverage, listed_ms: int, unsent: Sequence[str], confirm: Confirm) -> Edition:
    """Publish the next edition; Overtaken if another run was faster."""
    scope, named = draft.scope, draft.base.named
    covered = [(interval.since, interval.until) for interval in coverage.intervals]
    return _committed(
        draft,
        Named(
            run=draft.run,
            covered={**named.covered, scope: covered},
            listed_ms={**named.listed_ms, scope: listed_ms},
            unexplained={**named.unexplained, scope: sorted(draft.unexplained)},
            incomplete={**named.incomplete, scope: sorted(draft.incomplete)},
            unsent=unsent,
        ),
        confirm,
    )


def _committed(draft: Draft, named: Named, confirm: Confirm) -> Edition:
    store, base = draft.base.store, draft.base
    draft.notes.clear()
    note = msgspec.json.encode(Named(run=draft.run)).decode()
    runs = TableLog.to_write(store, RUNS, note)
    if runs.version != base.version and edition_of(store).version != base.version:
        raise Overtaken
    turn, versions = runs.version + 1, dict[str, int]()
    for name, table in BY_NAME.items():
        if table is RUNS:
            continue
        known = base.version_of(table)
        if known is not None and not draft.touches(table) and is_newest(store, table, known):
            versions[name] = known
            continue
        confirm()
        log = TableLog.to_write(store, table, note)
        _refuse_foreign(base, log)
        if log.version == base.version_of(table):
            base.known.setdefault(name, log.files)
        versions[name] = log.replace(draft.wanted(table), turn=turn, note=note)
        _note_others(draft, log, versions[name])
    confirm()
    named = replace(named, versions=versions)
    whole = msgspec.json.encode(named).decode()
    version = runs.replace(draft.wanted(RUNS), turn=turn, note=whole, always=True)
    _note_others(draft, runs, version)
    return Edition(store=store, named=named, version=version)


def _refuse_foreign(base: Edition, log: TableLog) -> None:
    # A table of this name that the job did not write must not be emptied.
    if base.version_of(log.table) is None and log.files and None in (_named(commit) for _, commit in log.commits()):
        raise InputError(
            f"--output {base.store.uri} has a table {log.table.name} that is not the job's; name another directory."
        )


def _note_others(draft: Draft, log: TableLog, version: int) -> None:
    # Report commits of other writers; killed runs of our own are recognized by their name.
    before = draft.base.version_of(log.table)
    if before is None or log.version <= before or version == log.version:
        return
    for theirs, commit in log.commits(before):
        if _named(commit) is None:
            draft.notes.append(
                f"the table {log.table.name} was changed by somebody else ({commit.get('operation')}, version {theirs})"
                f"; the job's rows stand again in version {version}, theirs stay in version {theirs} for now."
            )


def take_over(store: Store, confirm: Confirm) -> Edition:
    """The newest edition; plain Parquet tables first get logs that name the existing files."""
    edition = edition_of(store)
    if edition.version is None and edition.known:
        if any(file.path.endswith("/journal.json") for file in store.files(WORK)):
            raise InputError(
                f"--output {store.uri}: a run of an earlier release was stopped while it replaced tables; "
                "run that release once more, then this one."
            )
        draft = Draft(base=edition, run="taken-over", scope=EVERY_CLUSTER)
        edition = _committed(draft, edition.named, confirm)
        mark_version(store)
        for directory in (_COVERAGE, _STOCK, _COPIES):
            store.delete_tree(directory)
    return edition


def mark_version(store: Store) -> None:
    """Mark the format version of the tables, so that earlier releases do not touch them."""
    if _marked_version(store) != SCHEMA_VERSION:
        store.write(MARK, json.dumps({"version": SCHEMA_VERSION}).encode())


def _plain_edition(store: Store) -> Edition:
    # Tables of an earlier release consist of all files in their directories.
    known: dict[str, Mapping[str, DataFile]] = {
        name: {
            file.path: DataFile(path=file.path, size=file.size)
            for file in store.files(name)
            if partition_of(file.path) and file.path.endswith(".parquet")
        }
        for name in BY_NAME
    }
    covered: dict[str, list[tuple[int, int]]] = {}
    for file in store.files(_COVERAGE):
        with undamaged(store.uri, file.path):
            covered.setdefault(unquote(file.path.split("/")[1]), []).extend(json.loads(store.read(file.path)))
    unsent = tuple(run for run in store.directories(OUTBOX) if run != "sent")
    return Edition(store=store, named=replace(_NONE, covered=covered, unsent=unsent), known=known)


def forget_unfinished(edition: Edition, scope: str) -> None:
    """Delete the files of runs of this scope that were stopped before their commit."""
    store, runs = edition.store, unfinished_runs(edition.store, scope)
    if not runs:
        return
    log = TableLog.open(store, RUNS)
    commits = (_named(commit) for _, commit in (log.commits() if log else ()))
    whole = {named.run for named in commits if named and named.versions}
    for run in runs:
        if run not in whole:
            forget(store, scope, run)
        else:
            store.delete_tree(work_of(scope, run))


def forget(store: Store, scope: str, run: str) -> None:
    """Delete the files of a run that no edition names."""
    for table in BY_NAME:
        for file in store.files(table):
            if f"/part-{run}" in file.path:
                store.delete(file.path)
    store.delete_tree(f"{OUTBOX}/{run}")
    store.delete_tree(work_of(scope, run))


def tidy(before: Edition, edition: Edition) -> list[str]:
    """Write checkpoints from time to time, and delete files that no reader needs; sentences for failures."""
    # A run that takes longer than files are kept for readers has written files that no version names yet.
    unfinished = {file.path.split("/")[2] for file in edition.store.files(WORK) if file.path.count("/") > 2}
    for table in BY_NAME.values():
        now = edition.version_of(table) or 0
        if now // CHECKPOINT_EVERY == (before.version_of(table) or 0) // CHECKPOINT_EVERY:
            continue
        log = TableLog.open(edition.store, table)
        try:
            if log:
                log.tidy(unfinished)
        except (InputError, OSError) as error:
            problem = f"the tables grow, for old files of {table.name} cannot be deleted: {first_line(error)}"
            return [f"{problem}; let this user delete below {edition.store.uri}, or run VACUUM as another."]
    return []
