"""Putting a run's files in place: first it is written down what will be done, then it is done, as often as needed.

A run that is killed before its journal stands has changed nothing; one that is killed after it is finished by the
next run. Every step may be repeated, and one that comes late, by a run that lost its tables to another one, does no
harm: the journal names the files that go, and none that came after it was written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from rebalance_forensics.job.lake.layout import undamaged, unfinished_runs, work_of
from rebalance_forensics.pipeline.inputs.stores import Store

_JOURNAL = "journal.json"
FILES = "files"
Confirm = Callable[[], None]
"""Raises where another run may own the tables by now."""


@dataclass(slots=True, kw_only=True)
class Journal:
    """Which directories a run replaces (those that are there are emptied) and with which of its files."""

    store: Store
    work: str
    """The directory of the run's unfinished files."""
    run: str
    replaced: dict[str, list[str]] = field(default_factory=dict)

    def replace(self, directories: Iterable[str]) -> None:
        """These directories will hold only what this run puts there."""
        for directory in directories:
            self.replaced.setdefault(directory, [])

    def put(self, *files: str) -> None:
        """Finished files for the directories they belong to."""
        for file in files:
            self.replaced.setdefault(_directory(_target_of(self.work, file)), []).append(file)

    def write(self, path: str, data: bytes) -> None:
        """A whole file, for its place."""
        self.store.write(f"{self.work}/{FILES}/{path}", data)
        self.put(f"{self.work}/{FILES}/{path}")


def _target_of(work: str, file: str) -> str:
    return file.removeprefix(f"{work}/{FILES}/")


def decide(journal: Journal, confirm: Confirm) -> Decided:
    """Write down what will be done: from now on, a run's tables are the tables."""
    decided = Decided.of(journal)
    confirm()
    journal.store.write(f"{journal.work}/{_JOURNAL}", msgspec.json.encode(decided))
    return decided


def finish(store: Store, work: str, decided: Decided, confirm: Confirm) -> None:
    """Carry out what the journal decided."""
    decided.apply(store, work, confirm)
    confirm()
    store.delete_tree(work)


def recover(store: Store, scope: str, confirm: Confirm) -> int:
    """Finish what stopped runs had decided on, forget what they had not; how many were finished."""
    finished = 0
    for run in unfinished_runs(store, scope):
        work = work_of(scope, run)
        if store.kind(f"{work}/{_JOURNAL}") == "file":
            with undamaged(store.uri, f"{work}/{_JOURNAL}"):
                decided = msgspec.json.decode(store.read(f"{work}/{_JOURNAL}"), type=Decided)
            if decided.stands(store, work):
                decided.apply(store, work, confirm)
                finished += 1
        confirm()
        store.delete_tree(work)
    return finished


class Decided(Struct, frozen=True, kw_only=True):
    """Which waiting files go to their places, and which files that are there now go."""

    arriving: list[str]
    leaving: list[str]

    @classmethod
    def of(cls, journal: Journal) -> Decided:
        """Everything that lies in a replaced directory leaves, but for what arrives there."""
        arriving = sorted(file for files in journal.replaced.values() for file in files)
        kept = {_target_of(journal.work, file) for file in arriving}
        there = (file.path for directory in sorted(journal.replaced) for file in journal.store.files(directory))
        return cls(arriving=arriving, leaving=[path for path in there if path not in kept])

    def stands(self, store: Store, work: str) -> bool:
        """True if all its files exist, waiting or in place; if not, a later run has replaced them."""
        return all("file" in (store.kind(file), store.kind(_target_of(work, file))) for file in self.arriving)

    def apply(self, store: Store, work: str, confirm: Confirm) -> None:
        """New files in, old files out, directory by directory; what was moved before is not there to move again."""
        steps: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
        for file in self.arriving:
            steps[_directory(_target_of(work, file))][0].append(file)
        for old in self.leaving:
            steps[_directory(old)][1].append(old)
        for _, (arriving, leaving) in sorted(steps.items()):
            for file in arriving:
                confirm()
                if store.kind(file) == "file":
                    store.move(file, _target_of(work, file))
            for old in leaving:
                confirm()
                store.delete(old)


def _directory(path: str) -> str:
    return path.rpartition("/")[0]
