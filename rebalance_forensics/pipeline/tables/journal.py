"""Putting a run's files in place: first it is written down what will be done, then it is done, as often as needed.

A run that is killed before its journal stands has changed nothing; one that is killed after it is finished by the
next run. Every step may be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rebalance_forensics.pipeline.tables.layout import directory_of, unfinished_runs, work_of
from rebalance_forensics.pipeline.tables.stores import Store

_JOURNAL = "journal.json"
FILES = "files"


@dataclass(slots=True)
class Journal:
    """Which directories a run replaces (those that are there are emptied) and with which of its files."""

    replaced: dict[str, list[str]] = field(default_factory=dict)

    def replace(self, directories: Iterable[str]) -> None:
        """These directories will hold only what this run puts there."""
        for directory in directories:
            self.replaced.setdefault(directory, [])

    def put(self, directory: str, file: str) -> None:
        """A finished file for a directory."""
        self.replaced.setdefault(directory, []).append(file)


def staged(work: str, table: str, day: int, cluster: str, name: str) -> str:
    """Where a file waits before it is put in its place."""
    return f"{work}/{FILES}/{directory_of(table, day, cluster)}/{name}"


def target_of(work: str, file: str) -> str:
    """Where a waiting file belongs."""
    return file.removeprefix(f"{work}/{FILES}/")


def decide(store: Store, work: str, journal: Journal) -> None:
    """Write down what will be done: from now on, a run's tables are the tables."""
    store.write(f"{work}/{_JOURNAL}", json.dumps(journal.replaced, sort_keys=True).encode())


def finish(store: Store, work: str, journal: Journal) -> None:
    """Do it."""
    _apply(store, work, journal.replaced)
    store.delete_tree(work)


def recover(store: Store, scope: str) -> int:
    """Finish what stopped runs had decided on, forget what they had not; how many were finished."""
    finished = 0
    for run in unfinished_runs(store, scope):
        work = work_of(scope, run)
        if store.kind(f"{work}/{_JOURNAL}") == "file":
            _apply(store, work, json.loads(store.read(f"{work}/{_JOURNAL}")))
            finished += 1
        store.delete_tree(work)
    return finished


def _apply(store: Store, work: str, replaced: Mapping[str, list[str]]) -> None:
    """New files in, old files out, directory by directory; what was moved before is not there to move again."""
    for directory, files in sorted(replaced.items()):
        kept = {target_of(work, file) for file in files}
        for file in files:
            if store.kind(file) == "file":
                store.move(file, target_of(work, file))
        for old in store.files(directory):
            if old.path not in kept:
                store.delete(old.path)
