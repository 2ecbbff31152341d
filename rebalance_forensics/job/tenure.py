"""Exclusive access of a run to the tables of its clusters, by a lease that one job holds at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from threading import Event, Thread
from urllib.parse import quote

from rebalance_forensics.job.lake.intervals import time_text
from rebalance_forensics.job.lake.layout import EVERY_CLUSTER
from rebalance_forensics.job.lake.leases import (
    Clock,
    Lease,
    LeaseLost,
    NoConditions,
    Record,
    Watch,
    names_of_leases,
    slot_of,
)
from rebalance_forensics.job.options import JobOptions
from rebalance_forensics.pipeline.inputs.stores import Store, StoreError, first_line
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.process.identity import Process

CLUSTERS, FOLLOW_UPS, COMMITS = "clusters", "follow-ups", "commits"
_POLL_S = 0.5
Say = Callable[[str, str], None]


class TablesTaken(Exception):  # noqa: N818 - another running job is not an error
    """Another job is writing these tables; the message is the sentence to show."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """The leases of a run, which it confirms before each change to the tables."""

    output: str
    leases: Sequence[Lease] = ()

    def confirm(self) -> None:
        """Raise TablesTaken if another run may own the tables by now."""
        with self._stopping():
            for lease in self.leases:
                lease.confirm()

    def renew(self) -> None:
        """Renew the leases in the store for their full duration; raise TablesTaken if one is lost."""
        with self._stopping():
            for lease in self.leases:
                lease.renew()

    @property
    def is_lost(self) -> bool:
        """True if a lease was lost, so that another run may be writing."""
        try:
            self.confirm()
        except TablesTaken:
            return True
        return False

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        try:
            yield
        except LeaseLost as lost:
            raise TablesTaken(
                f"{self.output}: this job did not renew its lease in time, and {lost}; it stopped without changing "
                "the tables again. Run it again, or use a longer --lease."
            ) from lost
        except OSError as error:
            refusal = f"{self.output}: the lease cannot be renewed: {first_line(error)}; {_REMEDY}."
            raise StoreError.of(self.output, error, "the lease cannot be renewed") or InputError(refusal) from error


_REMEDY = "check the network, the permissions and the credentials (those of an AWS profile need boto3)"


def holding(options: JobOptions, say: Say = lambda _level, _sentence: None) -> AbstractContextManager[Tenure]:
    """Exclusive access for writing: excludes jobs of the same cluster; a job of all clusters excludes all others."""
    return _held(options, f"{CLUSTERS}/{quote(options.scope, safe='')}", say)


def following_up(options: JobOptions, say: Say = lambda _level, _sentence: None) -> AbstractContextManager[Tenure]:
    """Exclusive access for the steps after the tables: all clusters share webhooks, index and Iceberg tables."""
    return _held(options, FOLLOW_UPS, say)


def committing(options: JobOptions) -> AbstractContextManager[Tenure]:
    """Exclusive access for the commit: all clusters share the Delta logs, so concurrent commits would only retry."""
    # Commits are short. A finished run waits at least until the lease of a job that died has expired.
    patient = replace(options, wait_ms=max(options.wait_ms, 2 * options.lease_ms))
    return _held(patient, COMMITS, lambda _level, _sentence: None)


@contextmanager
def _held(options: JobOptions, name: str, say: Say) -> Iterator[Tenure]:
    try:
        lease = _wait_for(options, name, say)
    except NoConditions as error:
        say(
            "WARN",
            f"{options.output}: {error}, so nothing prevents two jobs from writing at the same time; never start two.",
        )
        lease = None
    except OSError as error:
        refusal = f"--output {options.output}: the lease cannot be taken: {first_line(error)}; {_REMEDY}."
        raise StoreError.of(options.output, error, "the tables are unchanged") or InputError(refusal) from error
    with _renewed(lease) if lease else nullcontext():
        yield Tenure(options.output, (lease,) if lease else ())


def _wait_for(options: JobOptions, name: str, say: Say) -> Lease | None:
    # The lease, as soon as it is available; None if the store cannot hold leases.
    store, clock, me = options.store, Clock(), Process.current()

    def watch(name: str) -> Watch | None:
        slot = slot_of(store, name)
        return Watch(slot, options.lease_ms, clock, is_gone=lambda holder: holder.is_gone) if slot else None

    own = watch(name)
    if own is None:
        return None
    others: dict[str, Watch] = {}
    began, announced, lease = clock.steady_ms(), False, None
    while True:
        taken = lease or own.take(me)
        blocker: Record | None = None
        if isinstance(taken, Lease):
            lease = taken
            for other in _conflicting(store, name):
                if other not in others and (watched := watch(other)):
                    others[other] = watched
            blocker = next(filter(None, (others[other].clear() for other in sorted(others))), None)
            if blocker is None:
                return lease
            if name != _every():
                # A run for all clusters has priority: it keeps its lease while it waits for the others.
                _release(lease)
                lease = None
            else:
                lease.renew()
        else:
            blocker = taken
        if clock.steady_ms() - began >= options.wait_ms:
            if lease:
                _release(lease)
            raise TablesTaken(_sentence(options, blocker))
        if not announced:
            say("WARN", f"{_who(options, blocker)}; waiting for it.")
            announced = True
        time.sleep(_POLL_S)


def _every() -> str:
    return f"{CLUSTERS}/{quote(EVERY_CLUSTER, safe='')}"


def _conflicting(store: Store, name: str) -> list[str]:
    # The names of other leases that conflict with this one.
    if name in (FOLLOW_UPS, COMMITS):
        return []
    if name != _every():
        return [_every()]
    return [f"{CLUSTERS}/{other}" for other in names_of_leases(store, CLUSTERS) if f"{CLUSTERS}/{other}" != name]


@contextmanager
def _renewed(lease: Lease) -> Iterator[None]:
    # Renew the lease in a thread, and release it at the end.
    done = Event()

    def keep() -> None:
        while not done.wait(lease.lasts_ms / 3000):
            with suppress(OSError):
                try:
                    lease.renew()
                except LeaseLost:
                    return

    thread = Thread(target=keep, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        _release(lease)


def _release(lease: Lease) -> None:
    # Otherwise the next job would have to wait until the lease expires.
    with suppress(LeaseLost, OSError):
        lease.release()


def _who(options: JobOptions, record: Record) -> str:
    holder = record.holder
    if holder is None:
        return f"{options.output} is being written by another job"
    who = f"{holder.host}, process {holder.pid}" if holder.pid else holder.host
    since = f", since {time_text(record.since_ms)}" if record.since_ms else ""
    return f"{options.output} is being written by another job ({who}{since})"


def _sentence(options: JobOptions, record: Record) -> str:
    ends = f"its lease ends at {time_text(record.ends_ms)}" if record.ends_ms else ""
    until = f"{ends} unless it is renewed" if ends else "it is still running"
    return f"{_who(options, record)}; {until}. Run this one later, or let it wait longer with --wait."
